// SPDX-License-Identifier: GPL-2.0

//! The common part of calling conventions: the words in which arguments are passed.
//!
//! The words of a call are numbered: first the integer argument registers, then the words of the
//! stack from the first that can hold an argument. An implementation of [`Isa`](super::Isa) assigns
//! them by the shapes of the types, one argument after the other.

/// The layout of a type, as calling conventions need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeShape {
    /// Its size in bytes.
    pub size: u32,
    /// The greatest alignment of its members, in bytes; at most 16.
    pub align: u8,
    /// Whether it is a structure or a union.
    pub is_composite: bool,
    /// Whether it has a misaligned member.
    pub is_unaligned: bool,
    /// Whether its first and its second eight bytes contain data, not only padding.
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

    /// Returns its size in words.
    pub(super) fn words(&self) -> u16 {
        u16::try_from(self.size.div_ceil(8)).unwrap_or(u16::MAX)
    }
}

/// How an argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentPlace {
    /// In `count` words from `first` on, either all registers or all on the stack.
    Words {
        /// The first word.
        first: u16,
        /// The number of words.
        count: u16,
    },
    /// In memory that this word points to.
    Pointed(u16),
    /// Not passed: it is empty.
    Nothing,
}

/// How a result is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultPlace {
    /// In this many result registers.
    Registers(u8),
    /// In memory that the first result register points to. The caller passes the address in the
    /// first argument word.
    Memory,
    /// In memory that this register points to at entry, but no register at return.
    MemoryAtEntry(u8),
}

/// The words of a call that are already assigned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordsTaken {
    registers: u16,
    stack: u16,
}

impl WordsTaken {
    /// Assigns the next `count` registers of `all`, from an even one on if `is_even`. Returns the
    /// first; `None` if too few are left.
    pub(super) fn registers(&mut self, all: u16, count: u16, is_even: bool) -> Option<u16> {
        let first = aligned(self.registers, is_even);
        let end = first.checked_add(count).filter(|end| *end <= all)?;
        self.registers = end;
        Some(first)
    }

    /// Marks all registers as assigned.
    pub(super) fn no_more_registers(&mut self, all: u16) {
        self.registers = all;
    }

    /// Assigns the next `count` stack words, which follow `all` registers, from an even one on if
    /// `is_even`.
    pub(super) fn stack(&mut self, all: u16, count: u16, is_even: bool) -> ArgumentPlace {
        let at = aligned(self.stack, is_even);
        self.stack = at.saturating_add(count);
        let first = all.saturating_add(at);
        ArgumentPlace::Words { first, count }
    }
}

/// Rounds `n` up to an even number if `is_even`.
fn aligned(n: u16, is_even: bool) -> u16 {
    match is_even {
        true => n.saturating_add(n & 1),
        false => n,
    }
}
