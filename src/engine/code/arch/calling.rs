// SPDX-License-Identifier: GPL-2.0

//! What calling conventions have in common: the words in which arguments are passed.
//!
//! The words of a call are numbered: first come the registers for integers, then the words of the
//! stack from the first that can have an argument. An architecture assigns them in its
//! implementation of [`Isa`](super::Isa), by the shapes of the types, one argument after the other.

/// What a calling convention has to know of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeShape {
    /// Its size in bytes.
    pub size: u32,
    /// The alignment of what it consists of, in bytes: at most 16.
    pub align: u8,
    /// Whether it is a structure or a union.
    pub is_composite: bool,
    /// Whether it has a member that is not at a multiple of its alignment.
    pub is_unaligned: bool,
    /// Whether there is anything in its first eight bytes, and in the eight behind.
    pub halves: [bool; 2],
}

impl TypeShape {
    /// An integer or a pointer of at most eight bytes.
    pub const WORD: Self = Self {
        size: 8,
        align: 8,
        is_composite: false,
        is_unaligned: false,
        halves: [true, false],
    };

    /// Returns the number of words that it takes.
    pub(super) fn words(&self) -> u16 {
        u16::try_from(self.size.div_ceil(8)).unwrap_or(u16::MAX)
    }
}

/// How an argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentPlace {
    /// In so many words from this one on, all of them registers, or all on the stack.
    Words {
        /// The number of the first.
        first: u16,
        /// How many.
        count: u16,
    },
    /// Elsewhere in memory, to which this word points.
    Pointed(u16),
    /// Not at all: it is empty.
    Nothing,
}

/// How a result is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultPlace {
    /// In so many of the registers of a result.
    Registers(u8),
    /// In memory, to which the first register of a result points. The caller says where: in the
    /// first word of the arguments.
    Memory,
    /// In memory, to which this register pointed when the function began, and no register at its
    /// return.
    MemoryAtEntry(u8),
}

/// The words of a call that are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordsTaken {
    registers: u16,
    stack: u16,
}

impl WordsTaken {
    /// Takes `count` registers of `all`, from the next one on, or from the next even one. Returns the
    /// first; `None` if so many are not left.
    pub(super) fn registers(&mut self, all: u16, count: u16, is_even: bool) -> Option<u16> {
        let first = aligned(self.registers, is_even);
        let end = first.checked_add(count).filter(|end| *end <= all)?;
        self.registers = end;
        Some(first)
    }

    /// Leaves no register of `all`.
    pub(super) fn no_more_registers(&mut self, all: u16) {
        self.registers = all;
    }

    /// Takes `count` words of the stack behind `all` registers, from the next one on, or from the
    /// next even one.
    pub(super) fn stack(&mut self, all: u16, count: u16, is_even: bool) -> ArgumentPlace {
        let at = aligned(self.stack, is_even);
        self.stack = at.saturating_add(count);
        let first = all.saturating_add(at);
        ArgumentPlace::Words { first, count }
    }
}

/// Returns `n`, or the next even number.
fn aligned(n: u16, is_even: bool) -> u16 {
    match is_even {
        true => n.saturating_add(n & 1),
        false => n,
    }
}
