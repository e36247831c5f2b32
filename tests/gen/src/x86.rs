// SPDX-License-Identifier: GPL-2.0

//! The x86-64 opcode tables: reads `x86-opcodes.txt`, writes `tables.rs`.
//!
//! The text's own head explains its language; `src/engine/code/insn/x86/entry.rs`
//! explains the encoding of what is written.

mod parse;
mod write;

use std::collections::BTreeMap;

/// The description, relative to this crate.
pub const SOURCE: &str = "x86-opcodes.txt";
/// The tables made of it, relative to this crate.
pub const TARGET: &str = "../../src/engine/code/insn/x86/tables.rs";

/// The legacy maps, in the order of their tables.
const LEGACY: [&str; 4] = ["one", "0f", "0f38", "0f3a"];
/// The number of maps behind VEX, EVEX and XOP; map 0 does not exist.
const VECTOR_MAPS: usize = 11;
/// The number of mandatory prefixes: none, 66, F3 and F2.
const PREFIXES: usize = 4;
/// The number of slots of a group: eight with memory, eight with a register.
const SLOTS: usize = 16;

/// One opcode map: the letter of every opcode behind every mandatory prefix.
type Grid = [[char; PREFIXES]; 256];

/// One group of a map's opcode.
#[derive(Clone, Default)]
struct Group {
    /// Letters that replace the grid's, by register.
    letters: BTreeMap<usize, [char; PREFIXES]>,
    /// Slots without an instruction.
    absent: [bool; 8],
    /// Classes by slot.
    classes: BTreeMap<usize, u8>,
}

/// A description as read.
struct Description {
    legacy: Vec<Grid>,
    vector: Vec<Grid>,
    legacy_groups: BTreeMap<(usize, u8), Group>,
    vector_groups: BTreeMap<(usize, u8), Group>,
    classes: BTreeMap<(usize, u8), u8>,
    names: BTreeMap<(usize, u8), String>,
    group_names: BTreeMap<(usize, u8), Vec<String>>,
}

/// The classes in the order of their declaration in `class.rs`.
const CLASSES: [&str; 25] = [
    "Normal",
    "Nop",
    "Endbr",
    "Jump",
    "ConditionalJump",
    "Call",
    "IndirectJump",
    "IndirectJumpMemory",
    "IndirectCall",
    "IndirectCallMemory",
    "FarBranch",
    "AbsoluteJump",
    "Return",
    "FarReturn",
    "InterruptReturn",
    "SystemCall",
    "SystemReturn",
    "Int3",
    "Interrupt",
    "Undefine",
    "MasksException",
    "VmExtension",
    "TransactionBegin",
    "Halt",
    "Nonexistent",
];

/// The text of `tables.rs` for a description.
///
/// # Errors
///
/// What is wrong with the description and in which line.
pub fn generate(text: &str) -> Result<String, String> {
    Ok(write::tables(&parse::description(text)?))
}
