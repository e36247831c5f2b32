// SPDX-License-Identifier: GPL-2.0

//! The meaning of one slot of an opcode table.
//!
//! An entry of a legacy map is 16 bits:
//!
//! | bits | meaning |
//! |---|---|
//! | 0-4 | the [`X86Class`] |
//! | 5 | a ModRM byte follows |
//! | 6-9 | bytes of immediate with a 32-bit operand |
//! | 10 | the immediate depends on the operand size |
//! | 11-15 | 0, or the next lookup: a group, or a prefix |
//!
//! A slot of a vector map is a byte: the form of what follows, or, from [`VECTOR_GROUP`]
//! on, the number of a group.

use super::class::X86Class;
use super::tables::{GROUPS, VECTOR_GROUPS};

/// An entry of a legacy opcode map.
#[derive(Clone, Copy)]
pub(super) struct OpcodeEntry(pub(super) u16);

const MODRM: u16 = 1 << 5;
const SIZED: u16 = 1 << 10;
const SELECTOR: u32 = 11;
/// The first selector that is a prefix, not a group.
const PREFIX: u16 = 29;
/// The selector of an opcode that exists only behind VEX or EVEX.
const VECTOR_ONLY: u16 = 31;

/// The classes in the order of their numbers.
const CLASSES: [X86Class; 32] = {
    let mut all = [X86Class::Nonexistent; 32];
    let declared = [
        X86Class::Normal,
        X86Class::Nop,
        X86Class::Endbr,
        X86Class::Jump,
        X86Class::ConditionalJump,
        X86Class::Call,
        X86Class::IndirectJump,
        X86Class::IndirectJumpMemory,
        X86Class::IndirectCall,
        X86Class::IndirectCallMemory,
        X86Class::FarBranch,
        X86Class::AbsoluteJump,
        X86Class::Return,
        X86Class::FarReturn,
        X86Class::InterruptReturn,
        X86Class::SystemCall,
        X86Class::SystemReturn,
        X86Class::Int3,
        X86Class::Interrupt,
        X86Class::Undefine,
        X86Class::MasksException,
        X86Class::VmExtension,
        X86Class::TransactionBegin,
        X86Class::Halt,
        X86Class::Nonexistent,
    ];
    let mut at = 0;
    while at < declared.len() {
        all[at] = declared[at];
        at += 1;
    }
    all
};

impl OpcodeEntry {
    /// No instruction, and nothing behind the opcode.
    pub(super) const NONE: Self = Self::without_modrm(0);
    /// No instruction, but with a ModRM byte.
    pub(super) const NONE_MODRM: Self = Self(X86Class::Nonexistent as u16 | MODRM);

    /// No instruction, but with a ModRM byte and one more byte.
    pub(super) const NONE_MODRM_BYTE: Self = Self(Self::NONE_MODRM.0 | 1 << 6);

    /// Returns an entry that is no instruction, but has `immediate` bytes behind the
    /// opcode.
    pub(super) const fn without_modrm(immediate: u16) -> Self {
        Self(X86Class::Nonexistent as u16 | (immediate & 0xf) << 6)
    }

    /// Returns an ordinary instruction with a ModRM byte and `immediate` bytes.
    pub(super) const fn vector(immediate: u16) -> Self {
        Self(MODRM | (immediate & 0xf) << 6)
    }

    /// An ordinary instruction with nothing behind its opcode.
    pub(super) const PLAIN: Self = Self(0);

    /// Returns whether the entry is final, without a group or prefix to look up.
    #[inline(always)]
    pub(super) const fn is_plain(self) -> bool {
        self.0 >> SELECTOR == 0
    }

    /// Returns whether the opcode is a prefix, an escape, or exists only behind one.
    #[inline(always)]
    pub(super) const fn is_beyond(self) -> bool {
        self.0 >> SELECTOR >= PREFIX
    }

    /// Returns whether the opcode exists only behind VEX or EVEX.
    pub(super) const fn is_vector_only(self) -> bool {
        self.0 >> SELECTOR == VECTOR_ONLY
    }

    /// Returns the number of the group, if this names one.
    pub(super) const fn group(self) -> Option<usize> {
        let group = (self.0 >> SELECTOR) as usize;
        match group.checked_sub(1) {
            Some(group) if group < GROUPS.len() => Some(group),
            _ => None,
        }
    }

    /// Returns the entry of the group's member if this names a group, otherwise itself.
    #[inline(always)]
    pub(super) fn member(self, prefix: usize, modrm: u8) -> Self {
        let slot = modrm >> 3 & 7 | u8::from(modrm >= 0xc0) << 3;
        usize::from(self.0 >> SELECTOR)
            .checked_sub(1)
            .and_then(|group| GROUPS.get(group)?.get(prefix)?.get(usize::from(slot)))
            .map_or(self, |member| Self(*member))
    }

    /// Returns the class of the instruction.
    #[inline(always)]
    pub(super) const fn class(self) -> X86Class {
        // PANIC: the mask keeps the index below the table's 32.
        CLASSES[(self.0 & 31) as usize]
    }

    /// Returns the same form, with another class.
    pub(super) const fn with_class(self, class: X86Class) -> Self {
        Self(self.0 & !31 | class as u16)
    }

    /// Returns whether a ModRM byte follows.
    #[inline(always)]
    pub(super) const fn has_modrm(self) -> bool {
        self.0 & MODRM != 0
    }

    /// Returns the bytes of immediate if the operand has 32 bits.
    #[inline(always)]
    pub(super) const fn immediate(self) -> usize {
        (self.0 >> 6 & 15) as usize
    }

    /// Returns whether the immediate is an address, as long as addresses are.
    pub(super) const fn is_address(self) -> bool {
        self.immediate() == 8
    }

    /// Returns whether the immediate depends on the operand size.
    #[inline(always)]
    pub(super) const fn is_sized(self) -> bool {
        self.0 & SIZED != 0
    }
}

/// What follows the opcode of a vector instruction.
#[derive(Clone, Copy)]
pub(super) enum VectorForm {
    /// There is no such instruction.
    Absent,
    /// Nothing.
    Plain,
    /// A ModRM byte and this many bytes of immediate.
    ModRm(u16),
    /// A ModRM byte and 16 or 32 bits, by the operand size.
    Sized,
}

/// The first value of a vector slot that is the number of a group.
const VECTOR_GROUP: u8 = 0x10;

/// Returns whether a slot of a vector map is a group, so that ModRM matters as well.
pub(super) const fn is_vector_group(slot: u8) -> bool {
    slot >= VECTOR_GROUP
}

/// Returns what follows the opcode whose slot of a vector map is `slot`; all of them exist
/// behind EVEX, but not all behind VEX and XOP.
pub(super) fn vector_form(slot: u8, prefix: u8, modrm: u8, evex: bool) -> VectorForm {
    let slot = match slot.checked_sub(VECTOR_GROUP) {
        Some(group) => VECTOR_GROUPS
            .get(usize::from(group))
            .and_then(|group| group.get(usize::from(prefix << 3 & 24 | modrm >> 3 & 7)))
            .map_or(0, |member| *member),
        None => slot,
    };
    match slot {
        1 => VectorForm::Plain,
        2 => VectorForm::ModRm(0),
        3 => VectorForm::ModRm(1),
        4 => VectorForm::ModRm(4),
        5 if evex => VectorForm::ModRm(0),
        6 if evex => VectorForm::ModRm(1),
        7 if evex => VectorForm::Sized,
        _ => VectorForm::Absent,
    }
}
