// SPDX-License-Identifier: GPL-2.0

//! Length and class of x86-64 instructions.
//!
//! [`decode`] returns what a probe needs to know about an instruction: its length, where
//! control goes from it, and whether the kernel accepts a probe on it ([`X86Insn::refusal`]).
//! It is not a disassembler; operands are only measured.
//!
//! The lengths are those of the kernel's own decoder (`arch/x86/lib/insn.c`), because that
//! decoder walks the function when a kprobe is placed, and because objtool allows no
//! instruction in a kernel that it does not know. `Documentation/decoders-x86.rst` lists
//! the few cases where it differs from a processor.

mod class;
mod entry;
mod fast;
mod general;
mod insn;
mod modrm;
mod names;
mod prefixed;
mod prefixes;
mod refusal;
mod tables;
mod user;

pub use class::X86Class;
pub use insn::{DecodeError, Invalid, X86Insn, MAX_LEN};
pub use refusal::X86Refusal;

/// Decodes the instruction at the start of `bytes`.
///
/// Reads at most the first [`MAX_LEN`] bytes, and the result depends on no byte behind the
/// instruction, except that `UD2` followed by the letters `xen` or `kvm` is a prefix.
///
/// Context: any.
///
/// # Errors
///
/// [`DecodeError::Truncated`] if `bytes` is shorter than the instruction that begins there,
/// [`DecodeError::Invalid`] if none can begin there.
#[inline]
pub fn decode(bytes: &[u8]) -> Result<X86Insn, DecodeError> {
    match fast::decode(bytes) {
        Some(insn) => Ok(insn),
        None => general::decode(bytes),
    }
}
