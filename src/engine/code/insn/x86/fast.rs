// SPDX-License-Identifier: GPL-2.0

//! Decodes the instructions that make up most of a kernel.
//!
//! These are the instructions with or without a REX prefix, of the one-byte map or behind
//! `0F`, where fifteen bytes can be read: more than nine tenths of a kernel's text. All
//! others are left to [`super::general`].
//!
//! The length of one instruction gives the address of the next, so the time from bytes to
//! length determines the speed of a walk over a function. Whether there is a REX prefix is
//! nearly random, and a branch on it would be mispredicted; so the lengths with and without
//! it are looked up side by side, and one is selected. The remaining branches are on rare
//! cases: a SIB byte without a base, an immediate of 64 bits, an opcode that [`UNUSUAL`]
//! marks.

use super::class::X86Class;
use super::entry::OpcodeEntry;
use super::insn::{flag, head_of, OpcodeMap, X86Insn, MAX_LEN};
use super::modrm::MODRM_LENGTH;
use super::tables::{GROUPS, ONE_BYTE, TWO_BYTE};

/// Set in a length that is not valid: another path must decode.
const UNUSUAL: usize = 0x80;

/// The properties of the opcodes of a map.
struct Shapes {
    /// The bytes from the opcode on, without ModRM and the bytes that belong to it, or
    /// [`UNUSUAL`].
    len: [u8; 256],
    /// Selects the length of ModRM and the bytes that belong to it, if there is one.
    mask: [u8; 256],
    /// The class; `None` if it depends on the ModRM byte. A branch on that is mispredicted,
    /// so common instructions must not reach it.
    class: [Option<X86Class>; 256],
}

/// All tables of this file, so that one address reaches them.
struct FastTables {
    /// [`MODRM_LENGTH`].
    modrm: [u8; 256],
    /// The opcodes of one byte.
    one: Shapes,
    /// As `one`, behind a REX prefix, which the lengths include.
    rex: Shapes,
    /// The opcodes behind `0F`.
    two: Shapes,
}

static TABLES: FastTables = FastTables {
    modrm: MODRM_LENGTH,
    one: shapes(&ONE_BYTE, 1, 0),
    rex: shapes(&ONE_BYTE, 1, 1),
    two: shapes(&TWO_BYTE[0], 2, 0),
};

const fn shapes(map: &[u16; 256], opcode_len: usize, rex: usize) -> Shapes {
    let mut shapes = Shapes {
        len: [UNUSUAL as u8; 256],
        mask: [0; 256],
        class: [None; 256],
    };
    let mut op = 0;
    while op < 256 {
        let entry = OpcodeEntry(map[op]);
        // With other bytes behind it, 8F is the prefix XOP; and 90 occurs here only behind
        // REX, which may turn it into an XCHG.
        let special = opcode_len == 1 && (op == 0x8f || op == 0x90);
        if (entry.is_plain() || is_uniform(entry)) && !special {
            // CAST: REX, an opcode and an immediate have at most eleven bytes.
            shapes.len[op] = (rex + opcode_len + entry.immediate()) as u8;
            shapes.mask[op] = if entry.has_modrm() { 0xff } else { 0 };
            shapes.class[op] = common_class(entry);
        }
        op += 1;
    }
    shapes
}

impl Shapes {
    /// Returns the length from the opcode `op` on, if `modrm` follows it and there is no
    /// SIB byte without a base; with [`UNUSUAL`] if that does not determine the length.
    #[inline(always)]
    fn length(&self, op: u8, modrm: u8) -> usize {
        // PANIC: a byte cannot exceed a table of 256.
        let follows = TABLES.modrm[usize::from(modrm)] & self.mask[usize::from(op)];
        usize::from(self.len[usize::from(op)]).wrapping_add(usize::from(follows))
    }

    /// Returns whether a ModRM byte follows the opcode `op`.
    #[inline(always)]
    fn has_modrm(&self, op: u8) -> bool {
        // PANIC: a byte cannot exceed a table of 256.
        self.mask[usize::from(op)] != 0
    }
}

/// Returns whether all members of a group have the length in the entry of the group.
const fn is_uniform(entry: OpcodeEntry) -> bool {
    let Some(group) = entry.group() else {
        return false;
    };
    let mut slot = 0;
    while slot < 16 {
        let member = OpcodeEntry(GROUPS[group][0][slot]);
        if member.immediate() != entry.immediate() || member.has_modrm() != entry.has_modrm() {
            return false;
        }
        slot += 1;
    }
    true
}

/// Returns the class of an opcode, or of all members of the group that it names; `None` if
/// they differ.
const fn common_class(entry: OpcodeEntry) -> Option<X86Class> {
    let Some(group) = entry.group() else {
        return Some(entry.class());
    };
    let class = OpcodeEntry(GROUPS[group][0][0]).class();
    let mut slot = 1;
    while slot < 16 {
        if OpcodeEntry(GROUPS[group][0][slot]).class() as u8 != class as u8 {
            return None;
        }
        slot += 1;
    }
    Some(class)
}

/// Decodes the instruction at the start of `bytes`, if it is of the usual kind.
#[inline(always)]
pub(super) fn decode(bytes: &[u8]) -> Option<X86Insn> {
    let bytes = bytes.first_chunk::<MAX_LEN>()?;
    let [first, second, third, ..] = *bytes;
    if let Some(class) = padding(first) {
        return Some(X86Insn {
            head: u64::from(first),
            len: 1,
            opcode_at: 0,
            class,
            flags: 0,
        });
    }
    let bare = TABLES.one.length(first, second);
    let behind_rex = TABLES.rex.length(second, third);
    let rex = usize::from(first & 0xf0 == 0x40);
    let len = if rex != 0 { behind_rex } else { bare };
    let word = u64::from_le_bytes(*bytes.first_chunk()?);
    if is_wide_immediate(word) {
        return None;
    }
    let head = word >> (rex * 8);
    if len >= UNUSUAL {
        return two_byte(head, rex);
    }
    let [op, modrm, ..] = head.to_le_bytes();
    if is_without_base(head >> 8) && TABLES.one.has_modrm(op) {
        return None;
    }
    Some(insn(head, len, rex, (OpcodeMap::One, op), modrm))
}

/// Decodes the opcodes behind `0F`.
#[inline(always)]
fn two_byte(head: u64, rex: usize) -> Option<X86Insn> {
    let [escape, op, modrm, ..] = head.to_le_bytes();
    let len = TABLES.two.length(op, modrm);
    if escape != 0x0f || len >= UNUSUAL || is_without_base(head >> 16) {
        return None;
    }
    Some(insn(
        head,
        len.wrapping_add(rex),
        rex,
        (OpcodeMap::Two, op),
        modrm,
    ))
}

/// Returns whether ModRM and SIB, if they are at the low end of `word`, have a displacement
/// of four bytes in place of a base.
#[inline(always)]
fn is_without_base(word: u64) -> bool {
    word & 0x07c7 == 0x0504
}

/// Returns an instruction whose length is known.
#[inline(always)]
fn insn(head: u64, len: usize, rex: usize, (map, op): (OpcodeMap, u8), modrm: u8) -> X86Insn {
    let shapes = match map {
        OpcodeMap::One => &TABLES.one,
        _ => &TABLES.two,
    };
    // PANIC: a byte cannot exceed a table of 256.
    let class = match shapes.class[usize::from(op)] {
        Some(class) => class,
        // MOV of an immediate to memory.
        None if map == OpcodeMap::One && op & 0xfe == 0xc6 && modrm & 0x38 == 0 => X86Class::Normal,
        None => member_class(map, op, modrm),
    };
    let flags = if shapes.has_modrm(op) {
        flag::MODRM | flag::rip_relative(modrm)
    } else {
        0
    };
    X86Insn {
        head: head_of(head, len.wrapping_sub(rex)),
        len,
        // CAST: it is 0 or 1.
        opcode_at: rex as u8,
        class,
        flags: flags | map.flags(),
    }
}

/// Returns the class of a member of a group.
#[inline(always)]
fn member_class(map: OpcodeMap, op: u8, modrm: u8) -> X86Class {
    // PANIC: a byte cannot exceed a table of 256.
    let entry = match map {
        OpcodeMap::One if op == 0xc7 && modrm == 0xf8 => return X86Class::TransactionBegin,
        OpcodeMap::One => ONE_BYTE[usize::from(op)],
        _ => TWO_BYTE[0][usize::from(op)],
    };
    OpcodeEntry(entry).member(0, modrm).class()
}

/// Returns the class of the bytes that fill the gaps between functions.
///
/// They are two fifths of the instructions of a kernel and come in runs, so that this
/// branch is predicted well.
#[inline(always)]
fn padding(op: u8) -> Option<X86Class> {
    match op {
        0x90 => Some(X86Class::Nop),
        0xcc => Some(X86Class::Int3),
        _ => None,
    }
}

/// Returns whether the instruction loads an immediate of 64 bits.
#[inline(always)]
fn is_wide_immediate(word: u64) -> bool {
    word & 0xf8f8 == 0xb848
}
