// SPDX-License-Identifier: GPL-2.0

//! The mnemonic of an arm64 word, for messages.
//!
//! Names are those that a disassembler prints, aliases included: `mov` for an `orr` with
//! the zero register. Branches, system instructions, and integer and memory operations have
//! names; vector and floating-point operations and unallocated words do not.

mod bits;
mod immediate;
mod memory;
mod register;
mod system;

/// Returns the mnemonic of `word`, without operands; empty if unknown.
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
