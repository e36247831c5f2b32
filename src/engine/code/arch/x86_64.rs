// SPDX-License-Identifier: GPL-2.0

//! 64-bit x86.

use super::calling::{ArgumentPlace, ResultPlace, TypeShape, WordsTaken};
use super::isa::{
    index_of, EntryPlace, Flow, Insn, InsnKind, Isa, Refusal, Undecoded, MAX_INSN_LEN,
};
use super::point::PointPlace;
use crate::engine::code::insn::x86::{self, DecodeError, X86Class};
use crate::engine::language::lex;
use crate::engine::record::OpenFlag;

/// 64-bit x86.
pub(super) struct X86_64;

/// `arch/x86/include/asm/ptrace.h`, `struct pt_regs`.
const REGISTERS: [&[u8]; 21] = [
    b"r15", b"r14", b"r13", b"r12", b"bp", b"bx", b"r11", b"r10", b"r9", b"r8", b"ax", b"cx",
    b"dx", b"si", b"di", b"orig_ax", b"ip", b"cs", b"flags", b"sp", b"ss",
];

/// The registers of the arguments: `rdi`, `rsi`, `rdx`, `rcx`, `r8`, `r9`.
const ARGUMENTS: [u8; 6] = [14, 13, 12, 11, 9, 8];

/// The number of argument registers.
const REGISTER_COUNT: u16 = 6;
const _: () = assert!(ARGUMENTS.len() == REGISTER_COUNT as usize);

/// `include/uapi/asm-generic/fcntl.h`.
const OPEN_FLAGS: [OpenFlag; 16] = [
    (0o20200000, "O_TMPFILE"),
    (0o1, "O_WRONLY"),
    (0o2, "O_RDWR"),
    (0o100, "O_CREAT"),
    (0o200, "O_EXCL"),
    (0o400, "O_NOCTTY"),
    (0o1000, "O_TRUNC"),
    (0o2000, "O_APPEND"),
    (0o4000, "O_NONBLOCK"),
    (0o10000, "O_DSYNC"),
    (0o40000, "O_DIRECT"),
    (0o100000, "O_LARGEFILE"),
    (0o200000, "O_DIRECTORY"),
    (0o400000, "O_NOFOLLOW"),
    (0o1000000, "O_NOATIME"),
    (0o2000000, "O_CLOEXEC"),
];

/// The length of `endbr64`.
const ENDBR_LEN: usize = 4;

const _: () = assert!(x86::MAX_LEN <= MAX_INSN_LEN);

/// Returns whether a general register with a name of its own is called so, as 16 bits.
fn is_named(name: &[u8]) -> bool {
    let all: [&[u8]; 8] = [b"ax", b"bx", b"cx", b"dx", b"si", b"di", b"bp", b"sp"];
    all.contains(&name)
}

/// Returns the index of the general register that contains the one which the assembler calls `name`,
/// in its low bits.
fn general(name: &[u8]) -> Option<u8> {
    let whole: &[u8] = match name {
        [b'r' | b'e', rest @ ..] if is_named(rest) => rest,
        b"al" => b"ax",
        b"bl" => b"bx",
        b"cl" => b"cx",
        b"dl" => b"dx",
        b"sil" => b"si",
        b"dil" => b"di",
        b"bpl" => b"bp",
        b"spl" => b"sp",
        b"ip" | b"cs" | b"flags" | b"ss" | b"orig_ax" => return None,
        [b'r', b'8' | b'9', b'd' | b'w' | b'b'] => name.get(..2)?,
        [b'r', b'1', b'0'..=b'5', b'd' | b'w' | b'b'] => name.get(..3)?,
        name => name,
    };
    index_of(&REGISTERS, whole)
}

impl Isa for X86_64 {
    fn register(&self, name: &[u8]) -> Option<u8> {
        index_of(&REGISTERS, name)
    }

    fn registers(&self) -> &'static [&'static [u8]] {
        &REGISTERS
    }

    /// Knows `rdi` and `edi`, and what other architectures call `bp` and `ip`.
    fn register_alias(&self, name: &[u8]) -> Option<&'static [u8]> {
        let known = match name {
            b"fp" => b"bp",
            b"pc" => b"ip",
            [b'r' | b'e', known @ ..] => known,
            _ => return None,
        };
        REGISTERS.into_iter().find(|register| *register == known)
    }

    /// `%rax`, `-8(%rbp)`, `(%rdi)`, `$5`.
    fn operand(&self, text: &[u8]) -> Option<PointPlace> {
        if let Some(constant) = text.strip_prefix(b"$") {
            return lex::signed(constant).map(PointPlace::Constant);
        }
        if let Some(name) = text.strip_prefix(b"%") {
            return general(name).map(PointPlace::Register);
        }
        let open = text.iter().position(|&byte| byte == b'(')?;
        let (offset, base) = text.split_at_checked(open)?;
        let offset = match offset {
            b"" => 0,
            offset => lex::signed(offset)?,
        };
        let name = base.strip_prefix(b"(%")?.strip_suffix(b")")?;
        // Addresses are of 64 bits.
        let register = general(name).filter(|_| name.starts_with(b"r"))?;
        Some(PointPlace::Memory { register, offset })
    }

    fn stack_register(&self) -> u8 {
        19
    }

    fn return_register(&self) -> u8 {
        10
    }

    fn argument(&self, n: u16) -> EntryPlace {
        match ARGUMENTS.get(usize::from(n)) {
            Some(&register) => EntryPlace::Register(register),
            // The word at the stack pointer is the return address.
            None => EntryPlace::Stack(n.saturating_sub(5)),
        }
    }

    fn argument_registers(&self) -> u16 {
        REGISTER_COUNT
    }

    /// The System V ABI, section 3.2.3: all classes are INTEGER or MEMORY. An argument that does
    /// not fit the remaining registers is in memory, and leaves them to later arguments.
    fn pass(&self, taken: &mut WordsTaken, shape: TypeShape) -> ArgumentPlace {
        if shape.size == 0 {
            return ArgumentPlace::Nothing;
        }
        let registers = in_registers(shape)
            .and_then(|count| Some((count, taken.registers(REGISTER_COUNT, count, false)?)));
        match registers {
            Some((count, first)) => ArgumentPlace::Words { first, count },
            None => taken.stack(REGISTER_COUNT, shape.words(), shape.align > 8),
        }
    }

    fn returned(&self, shape: TypeShape) -> ResultPlace {
        match in_registers(shape) {
            _ if shape.size == 0 => ResultPlace::Registers(0),
            // CAST: 1 or 2.
            Some(count) => ResultPlace::Registers(count as u8),
            None => ResultPlace::Memory,
        }
    }

    /// `rax` and `rdx`.
    fn return_registers(&self) -> [u8; 2] {
        [10, 12]
    }

    fn return_address(&self) -> EntryPlace {
        EntryPlace::Stack(0)
    }

    fn call_arguments(&self) -> [u8; 6] {
        [14, 13, 12, 7, 9, 8]
    }

    fn open_flags(&self) -> &'static [OpenFlag; 16] {
        &OPEN_FLAGS
    }

    fn decode(&self, bytes: &[u8]) -> Result<Insn, Undecoded> {
        match x86::decode(bytes) {
            Ok(insn) => Ok(Insn {
                len: insn.len(),
                flow: flow(&insn),
                kind: match insn.class() {
                    X86Class::Nop => InsnKind::Nop,
                    X86Class::Int3 => InsnKind::Breakpoint,
                    X86Class::Undefine => InsnKind::Trap,
                    _ => InsnKind::Ordinary,
                },
            }),
            Err(DecodeError::Truncated) => Err(Undecoded::Cut),
            Err(DecodeError::Invalid(_)) => Err(Undecoded::Invalid),
        }
    }

    fn mnemonic(&self, bytes: &[u8]) -> &'static str {
        x86::decode(bytes).map_or("", |insn| insn.mnemonic())
    }

    fn refusal(&self, bytes: &[u8]) -> Option<Refusal> {
        let refusal = x86::decode(bytes).ok()?.refusal()?;
        Some(Refusal {
            by_kernel: refusal.by_kernel(),
            reason: refusal.describe(),
        })
    }

    fn user_refusal(&self, bytes: &[u8]) -> Option<&'static str> {
        x86::decode(bytes).ok()?.user_refusal(bytes)
    }

    fn fixed_len(&self) -> Option<usize> {
        None
    }

    /// `int3`.
    fn breakpoint(&self) -> &'static [u8] {
        &[0xcc]
    }

    /// The length of the jump of an optimised probe.
    fn patch_len(&self) -> usize {
        5
    }

    fn is_patched(&self, live: &[u8]) -> bool {
        // A breakpoint, or the jump of an optimised probe.
        matches!(live, [0xcc | 0xe9, ..])
    }

    /// A nop or a call of five bytes, at the function's start or behind its landing pad. A
    /// breakpoint may hide the first byte of either.
    fn ftrace_offsets(&self, bytes: &[u8]) -> [Option<u8>; 2] {
        const NOP: &[u8] = &[0x0f, 0x1f, 0x44, 0x00, 0x00];
        const CALL: u8 = 0xe8;
        const INT3: u8 = 0xcc;
        const ENDBR64: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa];
        /// The kernel's replacements of landing pads that are not needed.
        const SEALED: [&[u8]; 2] = [&[0x66, 0x0f, 0x1f, 0x00], &[0x0f, 0x1f, 0x40, 0xd6]];

        let may_be =
            |bytes: &[u8]| bytes.starts_with(NOP) || matches!(bytes.first(), Some(&(CALL | INT3)));
        let start = may_be(bytes).then_some(0);
        let behind = bytes
            .split_at_checked(ENDBR64.len())
            .filter(|(pad, behind)| {
                let is_pad = *pad == ENDBR64 || SEALED.contains(pad);
                (is_pad || pad.first() == Some(&INT3)) && may_be(behind)
            });
        // CAST: A small constant.
        [start, behind.map(|_| ENDBR64.len() as u8)]
    }

    fn skipped_pad(&self, bytes: &[u8]) -> usize {
        match bytes {
            // endbr64, endbr32, and the nop that replaces an endbr without indirect jumps
            // to it
            [0xf3, 0x0f, 0x1e, 0xfa | 0xfb, ..] | [0x0f, 0x1f, 0x40, 0xd6, ..] => ENDBR_LEN,
            _ => 0,
        }
    }

    fn ftrace_nop(&self) -> &'static [u8] {
        &[0x0f, 0x1f, 0x44, 0x00, 0x00]
    }

    /// The check is `mov $-id, %r10d`; `add -4(%reg), %r10d`; `je` over a `ud2`; the kernel
    /// decodes the first two.
    fn is_type_check(&self, bytes: &[u8]) -> bool {
        const JE_OVER_UD2: [u8; 4] = [0x74, 0x02, 0x0f, 0x0b];

        let tail = match bytes {
            [0x41, 0xba, ..] => bytes.get(10..),
            // add %r10d with a base register above or below r8
            [0x44 | 0x45, 0x03, ..] => bytes.get(4..),
            _ => None,
        };
        tail.is_some_and(|tail| tail.starts_with(&JE_OVER_UD2))
    }

    /// Few unknown paths matter, therefore: behind a function there is padding, or a weak
    /// function, which also has nops before it.
    fn pads_with_nops(&self) -> bool {
        true
    }

    fn alternative_lens(&self) -> &'static [usize] {
        &[14]
    }
}

/// Returns the number of registers for a value; `None` if it is passed in memory. Eight bytes of
/// padding take none.
fn in_registers(shape: TypeShape) -> Option<u16> {
    let fits = shape.size <= 16 && !shape.is_unaligned;
    match shape.halves {
        [true, second] if fits => Some(1u16.saturating_add(u16::from(second))),
        _ => None,
    }
}

fn flow(insn: &x86::X86Insn) -> Flow {
    match (insn.class(), insn.relative()) {
        (X86Class::Jump, Some(to)) => Flow::Jump(to),
        (X86Class::Call, Some(to)) => Flow::Call(to),
        (_, Some(to)) => Flow::Branch(to),
        (X86Class::Int3, None) => Flow::Away,
        (class, None) if class.ends_flow() => Flow::Away,
        _ => Flow::Next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_indices_agree() {
        for (i, known) in REGISTERS.iter().enumerate() {
            assert_eq!(X86_64.register(known), Some(u8::try_from(i).unwrap()));
        }
        for unknown in [&b"none_reg"[..], b"", b"x0"] {
            assert_eq!(X86_64.register(unknown), None);
        }
    }

    #[test]
    fn words_follow_struct_pt_regs() {
        assert_eq!(X86_64.register(b"di"), Some(14));
        assert_eq!(X86_64.argument(0), EntryPlace::Register(14));
        assert_eq!(X86_64.register(b"ax"), Some(X86_64.return_register()));
        assert_eq!(X86_64.register(b"ax"), Some(10));
        assert_eq!(X86_64.register(b"sp"), Some(X86_64.stack_register()));
    }
}
