// SPDX-License-Identifier: GPL-2.0

//! Mnemonics, for messages.

use super::class::X86Class;
use super::insn::{flag, OpcodeMap, X86Insn};
use super::tables::{FIRST_NAME_GROUP, GROUP_NAMES, NAMES, OPCODE_NAMES};

impl X86Insn {
    /// Returns the mnemonic in lower case, without operands or size; `"insn"` if the table
    /// has none.
    pub fn mnemonic(&self) -> &'static str {
        of(self)
    }
}

/// Returns the mnemonic of `insn`; `"insn"` if the table has none.
fn of(insn: &X86Insn) -> &'static str {
    let [op, second, ..] = insn.head.to_le_bytes();
    let (table, op) = match insn.map() {
        OpcodeMap::One | OpcodeMap::Rex2One => (0, op),
        OpcodeMap::Two => (1, second),
        OpcodeMap::Rex2Two => (1, op),
        OpcodeMap::Three38 | OpcodeMap::Three3a | OpcodeMap::Vector => return "insn",
    };
    match (insn.class, table, op) {
        (X86Class::Nonexistent, ..) => return "insn",
        (X86Class::AbsoluteJump, ..) => return "jmpabs",
        (X86Class::Endbr, ..) if insn.modrm() == Some(0xfb) => return "endbr32",
        (X86Class::Endbr, ..) => return "endbr64",
        (X86Class::InterruptReturn, 1, _) => return "insn",
        (X86Class::VmExtension, 1, _) => return "vm",
        (_, 0, 0x90) if insn.flags & flag::REPEAT != 0 => return "pause",
        (X86Class::Normal, 0, 0x90) => return "xchg",
        (_, 1, 0x01 | 0xae | 0xc7) if insn.modrm() >= Some(0xc0) => return register_form(insn),
        (_, 1, 0x1e) if insn.flags & flag::REPEAT != 0 => return "insn",
        (_, 1, 0xbc) if insn.flags & flag::REPEAT != 0 => return "tzcnt",
        (_, 1, 0xbd) if insn.flags & flag::REPEAT != 0 => return "lzcnt",
        _ => {}
    }
    OPCODE_NAMES
        .get(table)
        .and_then(|names| names.get(usize::from(op)))
        .and_then(|name| match name.checked_sub(FIRST_NAME_GROUP) {
            Some(group) => {
                let register = insn.modrm()? >> 3 & 7;
                GROUP_NAMES
                    .get(usize::from(group))?
                    .get(usize::from(register))
            }
            None => Some(name),
        })
        .and_then(|name| NAMES.get(usize::from(*name)))
        .map_or("insn", |name| *name)
}

/// Returns the mnemonic of a member of a group that is another operation if its operand is
/// a register.
fn register_form(insn: &X86Insn) -> &'static str {
    let [_, second, ..] = insn.head.to_le_bytes();
    if insn.flags & flag::REPEAT != 0 {
        return "insn";
    }
    match (second, insn.modrm().unwrap_or(0)) {
        (0x01, 0xc8) => "monitor",
        (0x01, 0xc9) => "mwait",
        (0x01, 0xca) => "clac",
        (0x01, 0xcb) => "stac",
        (0x01, 0xd0) => "xgetbv",
        (0x01, 0xd1) => "xsetbv",
        (0x01, 0xd8) => "vmrun",
        (0x01, 0xd9) => "vmmcall",
        (0x01, 0xe0..=0xe7) => "smsw",
        (0x01, 0xee) => "rdpkru",
        (0x01, 0xef) => "wrpkru",
        (0x01, 0xf0..=0xf7) => "lmsw",
        (0x01, 0xf8) => "swapgs",
        (0x01, 0xf9) => "rdtscp",
        (0xae, 0xe8..=0xef) => "lfence",
        (0xae, 0xf0..=0xf7) => "mfence",
        (0xae, 0xf8..=0xff) => "sfence",
        (0xc7, 0xf0..=0xf7) => "rdrand",
        (0xc7, 0xf8..=0xff) => "rdseed",
        _ => "insn",
    }
}
