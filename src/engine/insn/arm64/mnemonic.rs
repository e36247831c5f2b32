// SPDX-License-Identifier: GPL-2.0

//! The name of the operation that an arm64 word performs, for messages.
//!
//! Names are those that a disassembler prints, aliases included: `mov` for an
//! `orr` with the zero register. Known are branches, system instructions, and
//! the integer and memory operations; vector and floating-point operations
//! have no name here, nor have words that are unallocated.

mod immediate;
mod memory;
mod register;
mod system;

/// The name of the operation of `word`, without operands; empty where none is
/// known.
pub fn mnemonic(word: u32) -> &'static str {
    match (word >> 25) & 0xf {
        0b0000 if word >> 16 == 0 => "udf",
        0b1000 | 0b1001 => immediate::name(word),
        0b1010 | 0b1011 => system::name(word),
        0b0101 | 0b1101 => register::name(word),
        0b0100 | 0b0110 | 0b1100 | 0b1110 => memory::name(word),
        _ => "",
    }
}

/// The bits `high` to `low` of `word`, as a number.
#[inline(always)]
const fn bits(word: u32, high: u32, low: u32) -> u32 {
    (word >> low) & (u32::MAX >> (31 - (high - low)))
}

#[inline(always)]
const fn bit(word: u32, at: u32) -> bool {
    word & (1 << at) != 0
}

/// The register field at `low` names the zero register or the stack pointer.
#[inline(always)]
const fn is_31(word: u32, low: u32) -> bool {
    (word >> low) & 0x1f == 31
}

/// The entry of `table` at `index`.
fn pick<T: Copy + Default>(table: &[T], index: u32) -> T {
    usize::try_from(index)
        .ok()
        .and_then(|index| table.get(index))
        .copied()
        .unwrap_or_default()
}
