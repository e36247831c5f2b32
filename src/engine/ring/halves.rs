// SPDX-License-Identifier: GPL-2.0

//! The halves of 64-bit numbers, which are stored as two words.

/// Returns the low 32 bits of `value`.
#[inline(always)]
pub(super) fn low(value: u64) -> u32 {
    // CAST: Truncation is intended.
    (value & 0xffff_ffff) as u32
}
