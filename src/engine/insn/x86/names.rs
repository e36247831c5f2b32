// SPDX-License-Identifier: GPL-2.0

//! Names of operations, for messages.

use super::class::Class;
use super::tables::{FIRST_NAME_GROUP, GROUP_NAMES, NAMES, OPCODE_NAMES};
use super::{flag, Insn, Map};

/// The name of the operation of `insn`; `"insn"` where the table has none.
pub(super) fn of(insn: &Insn) -> &'static str {
    let [op, second, ..] = insn.head.to_le_bytes();
    let (table, op) = match insn.map() {
        Map::One | Map::Rex2One => (0, op),
        Map::Two => (1, second),
        Map::Rex2Two => (1, op),
        Map::Three38 | Map::Three3a | Map::Vector => return "insn",
    };
    match (insn.class, table, op) {
        (Class::Nonexistent, ..) => return "insn",
        (Class::AbsoluteJump, ..) => return "jmpabs",
        (Class::Endbr, ..) if insn.modrm() == Some(0xfb) => return "endbr32",
        (Class::Endbr, ..) => return "endbr64",
        (Class::InterruptReturn, 1, _) => return "insn",
        (Class::VmExtension, 1, _) => return "vm",
        (_, 0, 0x90) if insn.flags & flag::REPEAT != 0 => return "pause",
        (Class::Normal, 0, 0x90) => return "xchg",
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
