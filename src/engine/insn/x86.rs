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
mod refusal;

pub use class::Class;
pub use refusal::Refusal;

/// No instruction is longer; a processor raises #GP on one that would be.
pub const MAX_LEN: usize = 15;

/// One decoded instruction.
///
/// Holds no reference to the bytes it was decoded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insn {
    /// The bytes from the opcode on, the first in the low byte; zero behind
    /// the end of the instruction.
    head: u64,
    len: u8,
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
pub fn decode(bytes: &[u8]) -> Result<Insn, DecodeError> {
    let _ = bytes;
    Err(DecodeError::Truncated)
}

impl Insn {
    /// The length in bytes, 1 to [`MAX_LEN`].
    #[expect(clippy::len_without_is_empty, reason = "no instruction is empty")]
    pub const fn len(&self) -> usize {
        self.len as usize
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
        None
    }

    /// Whether it begins with the emulate prefix of Xen or KVM.
    pub const fn has_emulate_prefix(&self) -> bool {
        false
    }

    /// Whether its memory operand is relative to the instruction pointer.
    pub const fn is_rip_relative(&self) -> bool {
        false
    }

    /// Why the instruction cannot carry a kprobe; `None` when it can.
    pub fn refusal(&self) -> Option<Refusal> {
        None
    }

    /// The name of the operation in lower case, without operands; `"insn"`
    /// where the table has none.
    pub fn mnemonic(&self) -> &'static str {
        "insn"
    }
}
