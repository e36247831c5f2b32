// SPDX-License-Identifier: GPL-2.0

//! Where a variable is at a location, as far as a definition can fetch it.
//!
//! A location of DWARF is a program for a stack machine. [`eval`] runs it on symbols: what it
//! leaves is a sum of a register, of a word in memory, or of a symbol's address, and a number.
//! Everything else is refused, because a fetch argument cannot compute it.

pub mod cfa;
pub mod eval;
pub mod loclist;

/// Something whose value is known when the probe is hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// A register, by its number in DWARF.
    Register(u16),
    /// The 64-bit word in memory at an address.
    Load(Box<Sum>),
    /// The address of code or data in the file.
    Symbol(u64),
}

/// A number of 64 bits: a base and a constant, or a constant alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    /// What the constant is added to.
    pub base: Option<Base>,
    /// The constant.
    pub offset: i64,
}

impl Sum {
    /// A constant.
    pub fn constant(offset: i64) -> Self {
        Self { base: None, offset }
    }

    /// A base alone.
    pub fn base(base: Base) -> Self {
        Self {
            base: Some(base),
            offset: 0,
        }
    }

    /// The sum and `offset`.
    #[must_use]
    pub fn plus(mut self, offset: i64) -> Self {
        self.offset = self.offset.wrapping_add(offset);
        self
    }
}

/// A number that a location describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Number {
    /// All 64 bits of a sum.
    Whole(Sum),
    /// The low bits of a base, extended to 64 bits.
    Narrow {
        /// What they are the low bits of.
        of: Base,
        /// How many they are, 1 to 63.
        bits: u32,
        /// Whether the highest of them is a sign.
        signed: bool,
    },
}

/// Where a variable, or a part of it, is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In memory, at an address.
    Memory(Sum),
    /// Nowhere; but its value is this number, whose low bytes come first.
    Value(Number),
    /// Nowhere; but its bytes are known.
    Bytes(Vec<u8>),
    /// In pieces, in the order of its bits.
    Pieces(Vec<Piece>),
}

/// A part of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// How many bits of the variable it has.
    pub bits: u64,
    /// Where in its place they begin.
    pub start: u64,
    /// Where it is, or why it cannot be read.
    pub place: Result<Place, String>,
}
