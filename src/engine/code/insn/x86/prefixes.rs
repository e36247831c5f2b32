// SPDX-License-Identifier: GPL-2.0

//! The prefixes of an instruction, and their effect on its length and class.

use super::class::X86Class;
use super::entry::OpcodeEntry;
use super::insn::{flag, head_of, OpcodeMap, X86Insn};

/// The legacy prefixes and REX.
#[derive(Default)]
pub(super) struct Prefixes {
    /// The mandatory prefix: 0 none, 1 `66`, 2 `F3`, 3 `F2`.
    pub(super) mandatory: u8,
    pub(super) operand_size: bool,
    pub(super) address_size: bool,
    /// The REX prefix if it is directly before the opcode, otherwise 0.
    pub(super) rex: u8,
    /// The emulate prefix of Xen or KVM.
    pub(super) emulate: bool,
}

impl Prefixes {
    /// Returns how many bytes longer the immediate behind `op` is than with an operand of
    /// 32 bits and an address of 64.
    #[inline(always)]
    pub(super) fn resize(&self, entry: OpcodeEntry, op: u8) -> isize {
        let wide = self.rex & 8 != 0;
        if entry.is_sized() {
            if wide && !entry.has_modrm() && op & 0xf8 == 0xb8 {
                4
            } else if self.operand_size && !wide {
                -2
            } else {
                0
            }
        } else if entry.is_address() && self.address_size {
            -4
        } else {
            0
        }
    }

    /// Returns the class of the instructions that only their whole encoding distinguishes
    /// from their neighbours.
    #[inline(always)]
    pub(super) fn exact_class(&self, map: OpcodeMap, op: u8, modrm: u8) -> Option<X86Class> {
        match (map, op) {
            (OpcodeMap::Two, 0x1e) if self.mandatory == 2 && matches!(modrm, 0xfa | 0xfb) => {
                Some(X86Class::Endbr)
            }
            (OpcodeMap::Two, 0x01) => match (self.mandatory, modrm) {
                (2 | 3, 0xca) | (2, 0xec) => Some(X86Class::InterruptReturn),
                _ => None,
            },
            (OpcodeMap::One, 0xc7) if modrm == 0xf8 => Some(X86Class::TransactionBegin),
            // With REX.B it exchanges R8; with F3 it is PAUSE.
            (OpcodeMap::One, 0x90) if self.rex & 1 != 0 || self.mandatory == 2 => {
                Some(X86Class::Normal)
            }
            _ => None,
        }
    }

    /// Returns an instruction of `len` bytes whose opcode begins at `opcode_at` with the
    /// bytes `head`.
    #[inline(always)]
    pub(super) fn insn(
        &self,
        (map, entry): (OpcodeMap, OpcodeEntry),
        modrm: u8,
        head: u64,
        (opcode_at, len): (usize, usize),
    ) -> X86Insn {
        let mut flags = map.flags();
        if entry.has_modrm() {
            flags |= flag::MODRM | flag::rip_relative(modrm);
        }
        flags |= u8::from(self.emulate) * flag::EMULATE;
        flags |= u8::from(self.address_size) * flag::ADDRESS_SIZE;
        flags |= u8::from(self.mandatory == 2) * flag::REPEAT;
        X86Insn {
            head: head_of(head, len.wrapping_sub(opcode_at)),
            len,
            // CAST: it does not exceed sixteen.
            opcode_at: opcode_at as u8,
            class: entry.class(),
            flags,
        }
    }
}
