// SPDX-License-Identifier: GPL-2.0

//! Decodes instructions with legacy prefixes, members of groups, and the marks in a
//! kernel's code.
//!
//! Like [`super::fast`], whose second half it is, it knows the one-byte map and the map
//! behind `0F` and leaves the rest to [`super::general`].

use super::class::X86Class;
use super::entry::OpcodeEntry;
use super::fast;
use super::insn::{flag, head_of, OpcodeMap, X86Insn, MAX_LEN};
use super::modrm::modrm_length;
use super::prefixes::Prefixes;
use super::tables::{ONE_BYTE, TWO_BYTE};

const OPERAND_SIZE: u8 = 1;
const REPEAT: u8 = 2;
const REPEAT_NOT: u8 = 4;
const ADDRESS_SIZE: u8 = 8;
const OTHER: u8 = 16;

/// The kind of a byte as a legacy prefix; 0 if it is none.
static PREFIX: [u8; 256] = {
    let mut table = [0; 256];
    table[0x66] = OPERAND_SIZE;
    table[0xf3] = REPEAT;
    table[0xf2] = REPEAT_NOT;
    table[0x67] = ADDRESS_SIZE;
    let others = [0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0xf0];
    let mut at = 0;
    while at < others.len() {
        table[others[at]] = OTHER;
        at += 1;
    }
    table
};

/// The mandatory prefix among those seen; [`ORDERED`] if their order matters.
static MANDATORY: [u8; 8] = [0, 1, 2, 2, 3, 3, ORDERED, ORDERED];
const ORDERED: u8 = 4;

/// Decodes the instruction at the start of `bytes`, if it is of this kind.
#[inline(always)]
pub(super) fn decode(bytes: &[u8]) -> Option<X86Insn> {
    let whole = bytes.first_chunk::<MAX_LEN>()?;
    let word = u64::from_le_bytes(*whole.first_chunk()?);
    if let Some(insn) = mark(word) {
        return Some(insn);
    }
    // PANIC: a byte cannot exceed a table of 256.
    let first = PREFIX[usize::from(whole[0])];
    if first == OTHER {
        // Such a prefix changes nothing behind it.
        if let Some(insn) = fast::decode(bytes.get(1..)?) {
            return Some(X86Insn {
                len: insn.len.wrapping_add(1),
                opcode_at: insn.opcode_at.wrapping_add(1),
                ..insn
            });
        }
    }
    let (mut seen, mut count) = (first, usize::from(first != 0));
    while count != 0 && count < 7 {
        let prefix = PREFIX[usize::from(*whole.get(count)?)];
        if prefix == 0 {
            break;
        }
        seen |= prefix;
        count += 1;
    }
    let word = u64::from_le_bytes(*whole.get(count..)?.first_chunk()?);
    // CAST: only the low byte is needed.
    let rex = word as u8;
    let rex = if rex & 0xf0 == 0x40 { rex } else { 0 };
    let head = if rex == 0 { word } else { word >> 8 };
    // PANIC: the mask keeps the index below the table's eight.
    let mandatory = MANDATORY[usize::from(seen & 7)];
    if mandatory == ORDERED {
        return None;
    }
    let prefixes = Prefixes {
        mandatory,
        operand_size: seen & OPERAND_SIZE != 0,
        address_size: seen & ADDRESS_SIZE != 0,
        rex,
        emulate: false,
    };
    legacy(&prefixes, head, count + usize::from(rex != 0))
}

/// Decodes the marks that the compiler and the kernel put into code: `ENDBR` at the start
/// of a function, `UD2` where control must not continue.
#[inline(always)]
fn mark(word: u64) -> Option<X86Insn> {
    if word & 0xfeff_ffff == 0xfa1e_0ff3 {
        return Some(X86Insn {
            head: head_of(word >> 8, 3),
            len: 4,
            opcode_at: 1,
            class: X86Class::Endbr,
            flags: OpcodeMap::Two.flags() | flag::MODRM | flag::REPEAT,
        });
    }
    let [first, second, third, ..] = word.to_le_bytes();
    // An emulate prefix would continue with `xen` or `kvm`.
    if (first, second) == (0x0f, 0x0b) && !matches!(third, b'x' | b'k') {
        return Some(X86Insn {
            head: head_of(word, 2),
            len: 2,
            opcode_at: 0,
            class: X86Class::Undefine,
            flags: OpcodeMap::Two.flags(),
        });
    }
    None
}

/// Decodes an instruction of the first two maps.
#[inline(always)]
fn legacy(prefixes: &Prefixes, head: u64, opcode_at: usize) -> Option<X86Insn> {
    let [first, second, third, fourth, ..] = head.to_le_bytes();
    let mandatory = usize::from(prefixes.mandatory);
    // PANIC: a byte cannot exceed a table of 256.
    let (map, entry, op, modrm, sib) = if first == 0x0f {
        let entry = TWO_BYTE.get(mandatory)?[usize::from(second)];
        (OpcodeMap::Two, entry, second, third, fourth)
    } else {
        (
            OpcodeMap::One,
            ONE_BYTE[usize::from(first)],
            first,
            second,
            third,
        )
    };
    let entry = OpcodeEntry(entry);
    // With other bytes behind it, 8F is the prefix XOP.
    if entry.is_beyond() || (map == OpcodeMap::One && op == 0x8f) {
        return None;
    }
    let mut entry = entry.member(mandatory, modrm);
    if let Some(class) = prefixes.exact_class(map, op, modrm) {
        entry = entry.with_class(class);
    }
    let opcode_len = if map == OpcodeMap::Two { 2 } else { 1 };
    let mut len = opcode_at + opcode_len + entry.immediate();
    if entry.has_modrm() {
        len = len.wrapping_add(modrm_length(modrm, sib));
    }
    let len = len.wrapping_add_signed(prefixes.resize(entry, op));
    (len <= MAX_LEN).then(|| prefixes.insn((map, entry), modrm, head, (opcode_at, len)))
}
