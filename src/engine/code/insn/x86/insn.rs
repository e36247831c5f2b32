// SPDX-License-Identifier: GPL-2.0

//! A decoded instruction.

use super::class::X86Class;

/// The maximum length of an instruction; a processor raises #GP on a longer one.
pub const MAX_LEN: usize = 15;

/// One decoded instruction.
///
/// Holds no reference to the decoded bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct X86Insn {
    /// The first seven bytes from the opcode on, the first of them in the low byte; zero
    /// behind the end of the instruction.
    pub(super) head: u64,
    pub(super) len: usize,
    pub(super) opcode_at: u8,
    pub(super) class: X86Class,
    pub(super) flags: u8,
}

/// Why bytes do not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes end before the instruction does; more of them are needed.
    Truncated,
    /// No continuation makes an instruction of these bytes.
    Invalid(Invalid),
}

/// Why no instruction can begin with the given bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// It would be longer than [`MAX_LEN`] bytes.
    TooLong,
    /// The opcode exists only behind a VEX or EVEX prefix.
    NeedsVex,
    /// The VEX, EVEX or XOP opcode map has no such opcode.
    NoSuchVectorOpcode,
}

/// The opcode map of an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum OpcodeMap {
    /// One byte of opcode.
    One,
    /// `0F` and a byte.
    Two,
    /// `0F 38` and a byte.
    Three38,
    /// `0F 3A` and a byte.
    Three3a,
    /// One byte behind REX2.
    Rex2One,
    /// One byte behind REX2 that denotes `0F` and that byte.
    Rex2Two,
    /// One byte behind VEX, EVEX or XOP.
    Vector,
}

impl OpcodeMap {
    /// Returns the map as stored in [`X86Insn::flags`].
    #[inline(always)]
    pub(super) const fn flags(self) -> u8 {
        (self as u8) << flag::MAP
    }
}

/// The bits of [`X86Insn::flags`]; the upper three hold the [`OpcodeMap`].
pub(super) mod flag {
    /// The instruction begins with an emulate prefix.
    pub(in super::super) const EMULATE: u8 = 1 << 0;
    /// Its address size is 32 bits.
    pub(in super::super) const ADDRESS_SIZE: u8 = 1 << 1;
    /// It has a ModRM byte.
    pub(in super::super) const MODRM: u8 = 1 << 2;
    /// Its operand is relative to the instruction pointer.
    pub(in super::super) const RIP_RELATIVE: u8 = 1 << 3;
    /// Its mandatory prefix is `F3`.
    pub(in super::super) const REPEAT: u8 = 1 << 4;
    /// The bit offset of the map.
    pub(in super::super) const MAP: u32 = 5;

    /// Returns the flag of an operand relative to the instruction pointer, if `modrm`
    /// encodes one.
    #[inline(always)]
    pub(in super::super) fn rip_relative(modrm: u8) -> u8 {
        u8::from(modrm & 0xc7 == 0x05) * RIP_RELATIVE
    }
}

/// Returns the bytes of `word` that belong to an instruction with `len` bytes from the
/// opcode on, at most seven of them.
#[inline(always)]
pub(super) fn head_of(word: u64, len: usize) -> u64 {
    let bits = if len < 7 { len * 8 } else { 56 };
    word & !(u64::MAX << bits)
}

impl X86Insn {
    /// Returns the length in bytes, 1 to [`MAX_LEN`].
    #[expect(clippy::len_without_is_empty, reason = "no instruction is empty")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns the class of the instruction.
    pub const fn class(&self) -> X86Class {
        self.class
    }

    /// Returns the offset of the opcode byte, behind all prefixes; for an instruction of
    /// the maps `0F`, `0F 38` and `0F 3A` that of the `0F`.
    pub const fn opcode_at(&self) -> usize {
        self.opcode_at as usize
    }

    /// Returns the target of a relative branch, counted from the end of the instruction;
    /// `None` for all other instructions.
    pub fn relative(&self) -> Option<i64> {
        if !self.class.is_relative() {
            return None;
        }
        let [op, second, third, fourth, fifth, sixth, ..] = self.head.to_le_bytes();
        Some(match op {
            0xe8 | 0xe9 => i64::from(i32::from_le_bytes([second, third, fourth, fifth])),
            0x0f => i64::from(i32::from_le_bytes([third, fourth, fifth, sixth])),
            // XBEGIN, with 16 bits if prefixed by 66.
            0xc7 if self.len().wrapping_sub(self.opcode_at()) < 6 => {
                i64::from(i16::from_le_bytes([third, fourth]))
            }
            0xc7 => i64::from(i32::from_le_bytes([third, fourth, fifth, sixth])),
            _ => i64::from(i8::from_le_bytes([second])),
        })
    }

    /// Returns whether it begins with the emulate prefix of Xen or KVM.
    pub const fn has_emulate_prefix(&self) -> bool {
        self.flags & flag::EMULATE != 0
    }

    /// Returns whether its memory operand is relative to the instruction pointer.
    pub const fn is_rip_relative(&self) -> bool {
        self.flags & flag::RIP_RELATIVE != 0
    }

    pub(super) fn map(&self) -> OpcodeMap {
        match self.flags >> flag::MAP {
            0 => OpcodeMap::One,
            1 => OpcodeMap::Two,
            2 => OpcodeMap::Three38,
            3 => OpcodeMap::Three3a,
            4 => OpcodeMap::Rex2One,
            5 => OpcodeMap::Rex2Two,
            _ => OpcodeMap::Vector,
        }
    }

    /// Returns the ModRM byte, if there is one.
    pub(super) fn modrm(&self) -> Option<u8> {
        let opcode_bytes = match self.map() {
            OpcodeMap::Two => 2,
            OpcodeMap::Three38 | OpcodeMap::Three3a => 3,
            OpcodeMap::One | OpcodeMap::Rex2One | OpcodeMap::Rex2Two | OpcodeMap::Vector => 1,
        };
        (self.flags & flag::MODRM != 0)
            .then(|| self.head.to_le_bytes().get(opcode_bytes).copied())
            .flatten()
    }
}
