// SPDX-License-Identifier: GPL-2.0

//! Decodes any instruction: all prefixes, all opcode maps.
//!
//! Works on a copy of the bytes, padded with zeroes to sixteen. The result depends on the
//! padding only if it extends past the original bytes, and the caller then discards the
//! result: see [`decode`].

use super::class::X86Class;
use super::entry::{is_vector_group, vector_form, OpcodeEntry, VectorForm};
use super::insn::{DecodeError, Invalid, OpcodeMap, X86Insn, MAX_LEN};
use super::modrm::modrm_length;
use super::prefixed;
use super::prefixes::Prefixes;
use super::tables::{MAP_0F38, MAP_0F3A, ONE_BYTE, TWO_BYTE, VECTOR, VECTOR_PAGE};

/// The bytes that Xen and KVM put before an instruction to be emulated.
const EMULATE: [[u8; 5]; 2] = [*b"\x0f\x0bxen", *b"\x0f\x0bkvm"];

/// Decodes the instruction at the start of `bytes`; the errors are those of
/// [`super::decode`].
///
/// Marked cold, although it is not, so that the path of the common instructions is laid out
/// straight.
#[cold]
#[inline(never)]
pub(super) fn decode(bytes: &[u8]) -> Result<X86Insn, DecodeError> {
    if let Some(insn) = prefixed::decode(bytes) {
        return Ok(insn);
    }
    any(bytes)
}

/// Decodes the instruction at the start of `bytes`, of any kind.
fn any(bytes: &[u8]) -> Result<X86Insn, DecodeError> {
    let padded = match bytes.first_chunk::<16>() {
        Some(bytes) => *bytes,
        None => {
            let mut padded = [0; 16];
            for (to, from) in padded.iter_mut().zip(bytes) {
                *to = *from;
            }
            padded
        }
    };
    let (end, result) = match ByteWalk::new(&padded).instruction() {
        Ok((end, insn)) => (end, Ok(insn)),
        Err((end, reason)) => (end, Err(DecodeError::Invalid(reason))),
    };
    if end <= bytes.len().min(MAX_LEN) {
        result
    } else if bytes.len() < MAX_LEN {
        Err(DecodeError::Truncated)
    } else {
        Err(DecodeError::Invalid(Invalid::TooLong))
    }
}

/// A failure, and the number of bytes that were read to find it.
type Failure = (usize, Invalid);

struct ByteWalk<'a> {
    bytes: &'a [u8; 16],
    at: usize,
    prefixes: Prefixes,
}

impl<'a> ByteWalk<'a> {
    fn new(bytes: &'a [u8; 16]) -> Self {
        Self {
            bytes,
            at: 0,
            prefixes: Prefixes::default(),
        }
    }

    /// Returns the byte `ahead` of the current offset; zero behind the end.
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes
            .get(self.at.wrapping_add(ahead))
            .copied()
            .unwrap_or(0)
    }

    fn advance(&mut self, by: usize) {
        self.at = self.at.wrapping_add(by);
    }

    /// Decodes the whole instruction; returns its end as well.
    fn instruction(mut self) -> Result<(usize, X86Insn), Failure> {
        if EMULATE.iter().any(|prefix| self.bytes.starts_with(prefix)) {
            self.prefixes.emulate = true;
            self.advance(5);
        }
        self.legacy_prefixes()?;
        let op = self.peek(0);
        if self.prefixes.rex == 0 {
            match op {
                0xc5 => return self.vex2(),
                0xc4 => return self.vex3(),
                0x62 => return self.evex(),
                0xd5 => return self.rex2(),
                // The first bytes of POP's ModRM belong to no XOP map.
                0x8f if self.peek(1) & 0x38 != 0 => return self.xop(),
                _ => {}
            }
        }
        self.legacy()
    }

    /// Collects prefixes up to the first other byte.
    ///
    /// In any order and number; a REX prefix counts only if it comes last.
    fn legacy_prefixes(&mut self) -> Result<(), Failure> {
        let prefixes = &mut self.prefixes;
        for byte in self.bytes.iter().skip(self.at) {
            let mut rex = 0;
            match byte {
                0x66 => {
                    prefixes.operand_size = true;
                    prefixes.mandatory = prefixes.mandatory.max(1);
                }
                0x67 => prefixes.address_size = true,
                0xf3 => prefixes.mandatory = 2,
                0xf2 => prefixes.mandatory = 3,
                0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0xf0 => {}
                0x40..=0x4f => rex = *byte,
                _ => return Ok(()),
            }
            prefixes.rex = rex;
            self.at = self.at.wrapping_add(1);
        }
        Err((self.at, Invalid::TooLong))
    }

    /// Decodes an instruction of the four legacy maps.
    fn legacy(mut self) -> Result<(usize, X86Insn), Failure> {
        let opcode_at = self.at;
        let op = self.peek(0);
        let mandatory = usize::from(self.prefixes.mandatory);
        let (map, entry) = match (op, self.peek(1)) {
            (0x0f, 0x38) => {
                self.advance(2);
                (
                    OpcodeMap::Three38,
                    lookup(&MAP_0F38, mandatory, self.peek(0)),
                )
            }
            (0x0f, 0x3a) => {
                self.advance(2);
                (
                    OpcodeMap::Three3a,
                    lookup(&MAP_0F3A, mandatory, self.peek(0)),
                )
            }
            (0x0f, second) => {
                self.advance(1);
                (OpcodeMap::Two, lookup(&TWO_BYTE, mandatory, second))
            }
            _ => (OpcodeMap::One, one_byte(op)),
        };
        self.advance(1);
        if entry.is_vector_only() {
            return Err((self.at, Invalid::NeedsVex));
        }
        let mut entry = entry.member(mandatory, self.peek(0));
        let last = self
            .bytes
            .get(self.at.wrapping_sub(1))
            .copied()
            .unwrap_or(0);
        if let Some(class) = self.prefixes.exact_class(map, last, self.peek(0)) {
            entry = entry.with_class(class);
        }
        self.finish(entry, map, opcode_at)
    }

    /// Decodes an instruction behind REX2, the prefix of APX.
    fn rex2(mut self) -> Result<(usize, X86Insn), Failure> {
        let payload = self.peek(1);
        self.advance(2);
        let opcode_at = self.at;
        let op = self.peek(0);
        let mandatory = usize::from(self.prefixes.mandatory);
        self.prefixes.rex = 0x40 | payload & 0x0f;
        self.advance(1);
        let (map, row_exists, entry) = if payload & 0x80 != 0 {
            let row_exists = !matches!(op >> 4, 3 | 8);
            (
                OpcodeMap::Rex2Two,
                row_exists,
                lookup(&TWO_BYTE, mandatory, op),
            )
        } else {
            let row_exists = !matches!(op >> 4, 4 | 7 | 0xa | 0xe);
            (OpcodeMap::Rex2One, row_exists, self.behind_rex2(op)?)
        };
        let vector_only = entry.is_vector_only();
        let mut entry = entry.member(mandatory, self.peek(0));
        if map == OpcodeMap::Rex2One && op == 0xa1 {
            entry = entry.with_class(X86Class::AbsoluteJump);
        } else if !row_exists || vector_only {
            entry = entry.with_class(X86Class::Nonexistent);
        }
        self.finish(entry, map, opcode_at)
    }

    /// Returns the entry of a one-byte opcode behind REX2. For opcodes that 64-bit mode
    /// lacks, this uses the meaning in 32-bit mode, as the kernel's decoder does.
    fn behind_rex2(&self, op: u8) -> Result<OpcodeEntry, Failure> {
        Ok(match op {
            0x82 => OpcodeEntry::NONE_MODRM_BYTE,
            0xd4 => OpcodeEntry::without_modrm(1),
            0x9a | 0xea => match (self.prefixes.rex & 8 != 0, self.prefixes.operand_size) {
                (true, _) => return Err((self.at, Invalid::NoSuchVectorOpcode)),
                (false, true) => OpcodeEntry::without_modrm(4),
                (false, false) => OpcodeEntry::without_modrm(6),
            },
            _ => one_byte(op),
        })
    }

    fn vex2(mut self) -> Result<(usize, X86Insn), Failure> {
        let prefix = self.peek(1) & 3;
        self.advance(2);
        self.vector(1, prefix, false)
    }

    fn vex3(mut self) -> Result<(usize, X86Insn), Failure> {
        let (map, prefix) = (self.peek(1) & 31, self.peek(2) & 3);
        self.advance(3);
        // Maps 8 to 10 of the table are XOP's.
        self.vector(if map < 8 { map } else { 0 }, prefix, false)
    }

    fn xop(mut self) -> Result<(usize, X86Insn), Failure> {
        let (map, prefix) = (self.peek(1) & 31, self.peek(2) & 3);
        self.advance(3);
        self.vector(if map < 8 { 0 } else { map }, prefix, false)
    }

    fn evex(mut self) -> Result<(usize, X86Insn), Failure> {
        let (map, payload, last) = (self.peek(1) & 7, self.peek(2), self.peek(3));
        // A 66 before EVEX raises #UD. As in the kernel's decoder, it counts, but bit 7 of
        // the last byte overrides it.
        let outside = self.prefixes.operand_size && last & 0x80 == 0;
        self.prefixes.operand_size = outside || payload & 0x83 == 1;
        self.advance(4);
        self.vector(map, payload & 3, true)
    }

    /// Decodes an instruction behind VEX, EVEX or XOP, at its opcode.
    fn vector(mut self, map: u8, prefix: u8, evex: bool) -> Result<(usize, X86Insn), Failure> {
        let opcode_at = self.at;
        let page = VECTOR_PAGE
            .get(usize::from(map))
            .and_then(|pages| pages.get(usize::from(prefix)))
            .and_then(|page| VECTOR.get(usize::from(*page)));
        // PANIC: a byte cannot exceed a page of 256.
        let slot = page.map_or(0, |page| page[usize::from(self.peek(0))]);
        self.advance(1);
        let entry = match vector_form(slot, prefix, self.peek(0), evex) {
            VectorForm::Absent => {
                let seen = self.at.wrapping_add(usize::from(is_vector_group(slot)));
                return Err((seen, Invalid::NoSuchVectorOpcode));
            }
            VectorForm::Plain => OpcodeEntry::PLAIN,
            VectorForm::ModRm(immediate) => OpcodeEntry::vector(immediate),
            VectorForm::Sized if self.prefixes.operand_size => OpcodeEntry::vector(2),
            VectorForm::Sized => OpcodeEntry::vector(4),
        };
        self.finish(entry, OpcodeMap::Vector, opcode_at)
    }

    /// Measures what follows the opcode, from the current offset on.
    fn finish(
        self,
        entry: OpcodeEntry,
        map: OpcodeMap,
        opcode_at: usize,
    ) -> Result<(usize, X86Insn), Failure> {
        let modrm = self.peek(0);
        let op = self.bytes.get(opcode_at).copied().unwrap_or(0);
        let mut end = self.at;
        if entry.has_modrm() {
            end = end.wrapping_add(modrm_length(modrm, self.peek(1)));
        }
        end = end
            .wrapping_add(entry.immediate())
            .wrapping_add_signed(self.prefixes.resize(entry, op));
        let head = self.word(opcode_at);
        let insn = self
            .prefixes
            .insn((map, entry), modrm, head, (opcode_at, end));
        Ok((end, insn))
    }

    /// Returns eight bytes from `at` on, which is below sixteen.
    fn word(&self, at: usize) -> u64 {
        // CAST: the upper bytes are not needed.
        (u128::from_le_bytes(*self.bytes) >> (at.wrapping_mul(8) & 127)) as u64
    }
}

/// Returns the entry of a one-byte opcode where no further prefix or escape may follow.
fn one_byte(op: u8) -> OpcodeEntry {
    match op {
        // LES, LDS and BOUND of 32-bit mode, as the kernel's decoder reads them behind a
        // REX prefix; without one they are VEX and EVEX.
        0xc4 | 0xc5 | 0x62 => OpcodeEntry::NONE_MODRM,
        // AAD likewise.
        0xd5 => OpcodeEntry::without_modrm(1),
        // PANIC: a byte cannot exceed a table of 256.
        _ => OpcodeEntry(ONE_BYTE[usize::from(op)]),
    }
}

fn lookup(map: &[[u16; 256]; 4], mandatory: usize, op: u8) -> OpcodeEntry {
    map.get(mandatory).map_or(OpcodeEntry::NONE, |table| {
        OpcodeEntry(table[usize::from(op)])
    })
}
