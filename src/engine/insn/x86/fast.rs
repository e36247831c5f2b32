// SPDX-License-Identifier: GPL-2.0

//! Decodes the instructions that most of a kernel consists of.
//!
//! Those are the ones with a REX prefix or none, of the one-byte map or behind
//! `0F`, where fifteen bytes can be read: more than nine tenths of a kernel's
//! text. All others are left to [`super::general`].
//!
//! The length of one instruction is the address of the next, so the time from
//! bytes to length is what a walk over a function takes. Whether there is a
//! REX prefix is as good as random there, and a branch on it would be
//! mispredicted; so the lengths with and without are looked up side by side,
//! and one is selected.

use super::class::Class;
use super::entry::Entry;
use super::modrm::{with_sib, MODRM_LENGTH, SIB_BASE};
use super::tables::{GROUPS, ONE_BYTE, TWO_BYTE};
use super::{flag, head_of, Insn, Map, MAX_LEN};

/// Set in a length that is not to be trusted: the general path must decode.
const UNUSUAL: usize = 0x80;
/// Set in a length that depends on the SIB byte.
const SIB: usize = SIB_BASE as usize;

/// What a map says of its opcodes' lengths.
struct Shapes {
    /// The bytes from the opcode on without ModRM and what that brings, or
    /// [`UNUSUAL`].
    len: [u8; 256],
    /// Selects the length of ModRM and what it brings, where there is one.
    mask: [u8; 256],
}

static ONE_SHAPES: Shapes = shapes(&ONE_BYTE, 1);
static TWO_SHAPES: Shapes = shapes(&TWO_BYTE[0], 2);

const fn shapes(map: &[u16; 256], opcode_len: usize) -> Shapes {
    let mut shapes = Shapes {
        len: [UNUSUAL as u8; 256],
        mask: [0; 256],
    };
    let mut op = 0;
    while op < 256 {
        let entry = Entry(map[op]);
        // With other bytes behind it, 8F is the prefix XOP; and 90 comes here
        // only behind REX, which may make an XCHG of it.
        let special = opcode_len == 1 && (op == 0x8f || op == 0x90);
        if (entry.is_plain() || is_uniform(entry)) && !special {
            // CAST: an opcode and an immediate have at most ten bytes.
            shapes.len[op] = (opcode_len + entry.immediate()) as u8;
            shapes.mask[op] = if entry.has_modrm() { 0xff } else { 0 };
        }
        op += 1;
    }
    shapes
}

impl Shapes {
    /// The length from the opcode `op` on, if `modrm` stands behind it; with
    /// [`SIB_BASE`] or [`UNUSUAL`] where that is not all there is to know.
    #[inline(always)]
    fn length(&self, op: u8, modrm: u8) -> usize {
        // PANIC: a byte cannot exceed a table of 256.
        let follows = MODRM_LENGTH[usize::from(modrm)] & self.mask[usize::from(op)];
        usize::from(self.len[usize::from(op)]).wrapping_add(usize::from(follows))
    }
}

/// Whether all members of a group are as long as the entry of the group says.
const fn is_uniform(entry: Entry) -> bool {
    let Some(group) = entry.group() else {
        return false;
    };
    let mut slot = 0;
    while slot < 16 {
        let member = Entry(GROUPS[group][0][slot]);
        if member.immediate() != entry.immediate() || member.has_modrm() != entry.has_modrm() {
            return false;
        }
        slot += 1;
    }
    true
}

/// Decodes the instruction at the start of `bytes`, if it is of the usual
/// kind.
#[inline(always)]
pub(super) fn decode(bytes: &[u8]) -> Option<Insn> {
    let bytes = bytes.first_chunk::<MAX_LEN>()?;
    let [first, second, third, ..] = *bytes;
    if let Some(class) = padding(first) {
        return Some(Insn {
            head: u64::from(first),
            len: 1,
            opcode_at: 0,
            class,
            flags: 0,
        });
    }
    let bare = ONE_SHAPES.length(first, second);
    let behind_rex = ONE_SHAPES.length(second, third).wrapping_add(1);
    // Arithmetic, so that no branch is made of it.
    let rex = usize::from(first & 0xf0 == 0x40);
    let mask = 0usize.wrapping_sub(rex);
    let len = bare & !mask | behind_rex & mask;
    let word = u64::from_le_bytes(*bytes.first_chunk()?);
    if is_wide_immediate(word) {
        return None;
    }
    let head = word >> (rex * 8);
    if len < SIB {
        let [op, modrm, ..] = head.to_le_bytes();
        // PANIC: a byte cannot exceed a table of 256.
        let entry = Entry(ONE_BYTE[usize::from(op)]);
        return Some(insn(head, len, rex, (Map::One, entry), modrm));
    }
    second_choice(head, rex)
}

/// The two-byte opcodes, and all with a SIB byte that may have no base.
#[inline(always)]
fn second_choice(head: u64, rex: usize) -> Option<Insn> {
    let [op, second, third, fourth, ..] = head.to_le_bytes();
    // PANIC: a byte cannot exceed a table of 256.
    let (map, entry, len, modrm, sib) = if op == 0x0f {
        let entry = Entry(TWO_BYTE[0][usize::from(second)]);
        let len = TWO_SHAPES.length(second, third);
        (Map::Two, entry, len, third, fourth)
    } else {
        let entry = Entry(ONE_BYTE[usize::from(op)]);
        let len = ONE_SHAPES.length(op, second);
        (Map::One, entry, len, second, third)
    };
    let len = if len & SIB != 0 {
        len.wrapping_sub(SIB | 2)
            .wrapping_add(usize::from(with_sib(sib)))
    } else {
        len
    };
    (len & UNUSUAL == 0).then(|| insn(head, len.wrapping_add(rex), rex, (map, entry), modrm))
}

/// An instruction whose length is known.
#[inline(always)]
fn insn(head: u64, len: usize, rex: usize, (map, entry): (Map, Entry), modrm: u8) -> Insn {
    let class = if entry.is_plain() {
        entry.class()
    } else if head & 0xffff == 0xf8c7 {
        Class::TransactionBegin
    } else {
        entry.member(0, modrm).class()
    };
    let flags = if entry.has_modrm() {
        flag::MODRM | flag::rip_relative(modrm)
    } else {
        0
    };
    Insn {
        head: head_of(head, len.wrapping_sub(rex)),
        // CAST: opcode, ModRM, SIB, displacement and immediate behind a REX.
        len: len as u8,
        opcode_at: rex as u8,
        class,
        flags: flags | map.flags(),
    }
}

/// The class of the bytes that fill the room between functions.
///
/// They are two fifths of the instructions of a kernel and come in runs, so
/// that this branch is predicted well.
#[inline(always)]
fn padding(op: u8) -> Option<Class> {
    match op {
        0x90 => Some(Class::Nop),
        0xcc => Some(Class::Int3),
        _ => None,
    }
}

/// Whether the instruction loads an immediate of 64 bits.
#[inline(always)]
fn is_wide_immediate(word: u64) -> bool {
    word & 0xf8f8 == 0xb848
}
