// SPDX-License-Identifier: GPL-2.0

//! Fields of arm64 words.

/// Returns the bits `high` to `low` of `word`, as a number.
#[inline(always)]
pub(super) const fn bits(word: u32, high: u32, low: u32) -> u32 {
    (word >> low) & (u32::MAX >> (31 - (high - low)))
}

#[inline(always)]
pub(super) const fn bit(word: u32, at: u32) -> bool {
    word & (1 << at) != 0
}

/// Returns whether the register field at `low` names the zero register or the stack
/// pointer.
#[inline(always)]
pub(super) const fn is_31(word: u32, low: u32) -> bool {
    (word >> low) & 0x1f == 31
}

/// Returns the entry of `table` at `index`.
pub(super) fn pick<T: Copy + Default>(table: &[T], index: u32) -> T {
    usize::try_from(index)
        .ok()
        .and_then(|index| table.get(index))
        .copied()
        .unwrap_or_default()
}
