// SPDX-License-Identifier: GPL-2.0

//! Decodes the instructions that most of a kernel consists of.
//!
//! Those are the ones with a REX prefix or none, of the one-byte map or behind
//! `0F`, where fifteen bytes can be read: nine tenths of a kernel's text. All
//! others are left to [`super::general`].

use super::entry::Entry;
use super::tables::{ONE_BYTE, TWO_BYTE};
use super::{flag, head_of, modrm_length, Insn, Map, MAX_LEN};

/// Decodes the instruction at the start of `bytes`, if it is of the simple
/// kind.
#[inline(always)]
pub(super) fn decode(bytes: &[u8]) -> Option<Insn> {
    let first = *bytes.first_chunk::<MAX_LEN>()?.first_chunk::<8>()?;
    let mut word = u64::from_le_bytes(first);
    let mut opcode_at = 0;
    if word as u8 & 0xf0 == 0x40 {
        // Wide immediates and the NOP that REX.B turns into XCHG.
        if matches!((word >> 8) as u8, 0xb8..=0xbf | 0x90) {
            return None;
        }
        word >>= 8;
        opcode_at = 1;
    }
    let head = word;
    // PANIC: a byte cannot exceed a table of 256.
    let (entry, map, opcode_len) = if word as u8 == 0x0f {
        word >>= 8;
        (Entry(TWO_BYTE[0][usize::from(word as u8)]), Map::Two, 2)
    } else {
        (Entry(ONE_BYTE[usize::from(word as u8)]), Map::One, 1)
    };
    if !entry.is_plain() {
        return None;
    }
    let (modrm, sib) = ((word >> 8) as u8, (word >> 16) as u8);
    let mut len = opcode_len + entry.immediate();
    let mut flags = map.flags();
    if entry.has_modrm() {
        len += modrm_length(modrm, sib);
        flags |= flag::MODRM | flag::rip_relative(modrm);
    }
    Some(Insn {
        head: head_of(head, len),
        // CAST: opcode, ModRM, SIB, displacement and immediate.
        len: (len + opcode_at) as u8,
        opcode_at: opcode_at as u8,
        class: entry.class(),
        flags,
    })
}
