// SPDX-License-Identifier: GPL-2.0

//! Length and class of x86-64 instructions.
//!
//! [`decode`] answers what a probe has to know of an instruction: how long it
//! is, where control goes from it, and whether the kernel would let a probe
//! sit on it ([`Insn::refusal`]). It is no disassembler; operands are only
//! measured.
//!
//! The lengths are those of the kernel's own decoder (`arch/x86/lib/insn.c`),
//! because that is the one which walks the function when a kprobe is placed,
//! and because objtool lets no instruction into a kernel which that decoder
//! does not know. The few places where it is wrong about a processor are
//! listed in `Documentation/decoders-x86.rst`.

mod class;
mod entry;
mod fast;
mod general;
mod modrm;
mod names;
mod prefixed;
mod prefixes;
mod refusal;
mod tables;

pub use class::Class;
pub use refusal::Refusal;

/// No instruction is longer; a processor raises #GP on one that would be.
pub const MAX_LEN: usize = 15;

/// One decoded instruction.
///
/// Holds no reference to the bytes it was decoded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insn {
    /// The first seven bytes from the opcode on, the first of them in the low
    /// byte; zero behind the end of the instruction.
    head: u64,
    len: usize,
    opcode_at: u8,
    class: Class,
    flags: u8,
}

/// Why bytes do not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes end before the instruction does; more of them are needed.
    Truncated,
    /// No continuation makes an instruction of these bytes.
    Invalid(Invalid),
}

/// Why no instruction can begin with the bytes given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// It would be longer than [`MAX_LEN`] bytes.
    TooLong,
    /// The opcode exists only behind a VEX or EVEX prefix.
    NeedsVex,
    /// The VEX, EVEX or XOP opcode map has no such opcode.
    NoSuchVectorOpcode,
}

/// Decodes the instruction at the start of `bytes`.
///
/// Looks at no more than the first [`MAX_LEN`] bytes, and the answer depends
/// on no byte behind the instruction, except that `UD2` followed by the
/// letters `xen` or `kvm` is a prefix. Runs in any context.
///
/// # Errors
///
/// [`DecodeError::Truncated`] when `bytes` is shorter than the instruction
/// that begins there, [`DecodeError::Invalid`] when none can begin there.
#[inline]
pub fn decode(bytes: &[u8]) -> Result<Insn, DecodeError> {
    match fast::decode(bytes) {
        Some(insn) => Ok(insn),
        None => general::decode(bytes),
    }
}

/// The opcode map an instruction was found in.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Map {
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
    /// One byte behind REX2 that stands for `0F` and that byte.
    Rex2Two,
    /// One byte behind VEX, EVEX or XOP.
    Vector,
}

impl Map {
    /// The map as it is kept in [`Insn::flags`].
    #[inline(always)]
    const fn flags(self) -> u8 {
        (self as u8) << flag::MAP
    }
}

/// The bits of [`Insn::flags`]; the upper three hold the [`Map`].
mod flag {
    /// The instruction begins with an emulate prefix.
    pub(super) const EMULATE: u8 = 1 << 0;
    /// Its address size is 32 bits.
    pub(super) const ADDRESS_SIZE: u8 = 1 << 1;
    /// It has a ModRM byte.
    pub(super) const MODRM: u8 = 1 << 2;
    /// Its operand is relative to the instruction pointer.
    pub(super) const RIP_RELATIVE: u8 = 1 << 3;
    /// Its mandatory prefix is `F3`.
    pub(super) const REPEAT: u8 = 1 << 4;
    /// The position of the map.
    pub(super) const MAP: u32 = 5;

    /// The flag of an operand relative to the instruction pointer, if `modrm`
    /// says that.
    #[inline(always)]
    pub(super) fn rip_relative(modrm: u8) -> u8 {
        u8::from(modrm & 0xc7 == 0x05) * RIP_RELATIVE
    }
}

/// The bytes of `word` that belong to an instruction with `len` bytes from the
/// opcode on, at most seven of them.
#[inline(always)]
fn head_of(word: u64, len: usize) -> u64 {
    let bits = if len < 7 { len * 8 } else { 56 };
    word & !(u64::MAX << bits)
}

impl Insn {
    /// The length in bytes, 1 to [`MAX_LEN`].
    #[expect(clippy::len_without_is_empty, reason = "no instruction is empty")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// What the instruction does to the flow of control.
    pub const fn class(&self) -> Class {
        self.class
    }

    /// The offset of the opcode byte, behind all prefixes; of an instruction
    /// of the maps `0F`, `0F 38` and `0F 3A` that of the `0F`.
    pub const fn opcode_at(&self) -> usize {
        self.opcode_at as usize
    }

    /// Where a relative branch goes, counted from the end of the instruction;
    /// `None` for all other instructions.
    pub fn relative(&self) -> Option<i64> {
        if !self.class.is_relative() {
            return None;
        }
        let [op, second, third, fourth, fifth, sixth, ..] = self.head.to_le_bytes();
        Some(match op {
            0xe8 | 0xe9 => i64::from(i32::from_le_bytes([second, third, fourth, fifth])),
            0x0f => i64::from(i32::from_le_bytes([third, fourth, fifth, sixth])),
            // XBEGIN, with 16 bits when prefixed by 66.
            0xc7 if self.len().wrapping_sub(self.opcode_at()) < 6 => {
                i64::from(i16::from_le_bytes([third, fourth]))
            }
            0xc7 => i64::from(i32::from_le_bytes([third, fourth, fifth, sixth])),
            _ => i64::from(i8::from_le_bytes([second])),
        })
    }

    /// Whether it begins with the emulate prefix of Xen or KVM.
    pub const fn has_emulate_prefix(&self) -> bool {
        self.flags & flag::EMULATE != 0
    }

    /// Whether its memory operand is relative to the instruction pointer.
    pub const fn is_rip_relative(&self) -> bool {
        self.flags & flag::RIP_RELATIVE != 0
    }

    /// Why the instruction cannot carry a kprobe; `None` when it can.
    ///
    /// Judges the instruction alone; the kernel also refuses places for what
    /// stands around them.
    pub fn refusal(&self) -> Option<Refusal> {
        refusal::of(self)
    }

    /// The name of the operation in lower case, without operands or size;
    /// `"insn"` where the table has none.
    pub fn mnemonic(&self) -> &'static str {
        names::of(self)
    }

    fn map(&self) -> Map {
        match self.flags >> flag::MAP {
            0 => Map::One,
            1 => Map::Two,
            2 => Map::Three38,
            3 => Map::Three3a,
            4 => Map::Rex2One,
            5 => Map::Rex2Two,
            _ => Map::Vector,
        }
    }

    /// The ModRM byte, if there is one.
    fn modrm(&self) -> Option<u8> {
        let opcode_bytes = match self.map() {
            Map::Two => 2,
            Map::Three38 | Map::Three3a => 3,
            Map::One | Map::Rex2One | Map::Rex2Two | Map::Vector => 1,
        };
        (self.flags & flag::MODRM != 0)
            .then(|| self.head.to_le_bytes().get(opcode_bytes).copied())
            .flatten()
    }
}
