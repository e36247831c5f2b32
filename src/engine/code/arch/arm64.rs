// SPDX-License-Identifier: GPL-2.0

//! 64-bit Arm.

mod jumps;

use super::calling::{ArgumentPlace, ResultPlace, TypeShape, WordsTaken};
use super::isa::{
    index_of, EntryPlace, Flow, Insn, InsnKind, Isa, JumpTable, Refusal, Undecoded, OPS_LEN,
};
use super::point::PointPlace;
use crate::engine::code::insn::arm64::{self, class, word_at, Arm64Class, ProbeVerdict, INSN_LEN};
use crate::engine::code::insn::exclusive::{CodeWords, Effect, Exclusives};
use crate::engine::language::lex;
use crate::engine::record::OpenFlag;
use crate::sys::AllocError;

/// 64-bit Arm.
pub(super) struct Arm64;

/// `arch/arm64/include/asm/ptrace.h`, `struct user_pt_regs`.
const REGISTERS: [&[u8]; 34] = [
    b"x0", b"x1", b"x2", b"x3", b"x4", b"x5", b"x6", b"x7", b"x8", b"x9", b"x10", b"x11", b"x12",
    b"x13", b"x14", b"x15", b"x16", b"x17", b"x18", b"x19", b"x20", b"x21", b"x22", b"x23", b"x24",
    b"x25", b"x26", b"x27", b"x28", b"x29", b"lr", b"sp", b"pc", b"pstate",
];

/// `arch/arm64/include/uapi/asm/fcntl.h`.
const OPEN_FLAGS: [OpenFlag; 16] = [
    (0o20040000, "O_TMPFILE"),
    (0o1, "O_WRONLY"),
    (0o2, "O_RDWR"),
    (0o100, "O_CREAT"),
    (0o200, "O_EXCL"),
    (0o400, "O_NOCTTY"),
    (0o1000, "O_TRUNC"),
    (0o2000, "O_APPEND"),
    (0o4000, "O_NONBLOCK"),
    (0o10000, "O_DSYNC"),
    (0o200000, "O_DIRECT"),
    (0o400000, "O_LARGEFILE"),
    (0o40000, "O_DIRECTORY"),
    (0o100000, "O_NOFOLLOW"),
    (0o1000000, "O_NOATIME"),
    (0o2000000, "O_CLOEXEC"),
];

/// The index of `x30`, which the kernel calls `lr`.
const LINK: u8 = 30;

/// The index of `orig_x0`, behind `struct user_pt_regs`: the first argument of a system call,
/// whose result is in `x0`.
const ORIG_X0: u8 = 34;

/// `mov x9, x30`, which the kernel writes at boot before the call of ftrace.
const MOV_X9_X30: u32 = 0xaa1e_03e9;

/// The number of the registers of arguments, from `x0` on.
const REGISTER_COUNT: u16 = 8;

/// The register in which the caller passes the address for a result in memory.
const RESULT: u8 = 8;

/// `brk #4`.
const KPROBE: u32 = 0xd420_0080;

impl Isa for Arm64 {
    /// Accepts `x30` besides the kernel's `lr`.
    fn register(&self, name: &[u8]) -> Option<u8> {
        match name {
            b"x30" => Some(LINK),
            _ => index_of(&REGISTERS, name),
        }
    }

    fn registers(&self) -> &'static [&'static [u8]] {
        &REGISTERS
    }

    /// Knows `w0`, the frame pointer, and the name of the flags of 32-bit Arm.
    fn register_alias(&self, name: &[u8]) -> Option<&'static [u8]> {
        let is_meant = |register: &&[u8]| match (name, *register) {
            (b"fp", register) => register == b"x29",
            (b"cpsr" | b"flags", register) => register == b"pstate",
            ([b'w', number @ ..], [b'x', register @ ..]) => number == register,
            _ => false,
        };
        REGISTERS.into_iter().find(is_meant)
    }

    /// `x0`, `w0`, `[sp, 16]`, `[x29, #-8]`, `5`.
    fn operand(&self, text: &[u8]) -> Option<PointPlace> {
        let number = |text: &[u8]| {
            let text = text.trim_ascii();
            lex::signed(text.strip_prefix(b"#").unwrap_or(text))
        };
        let Some(inside) = text.strip_prefix(b"[") else {
            let register = match text {
                [b'w', ..] => self
                    .register_alias(text)
                    .and_then(|name| self.register(name)),
                [b'x', ..] | b"sp" => self.register(text),
                text => return number(text).map(PointPlace::Constant),
            };
            return register.map(PointPlace::Register);
        };
        let mut parts = inside.strip_suffix(b"]")?.split(|&byte| byte == b',');
        let name = parts.next()?.trim_ascii();
        let is_address = name.starts_with(b"x") || name == b"sp";
        let register = self.register(name).filter(|_| is_address)?;
        let offset = match parts.next() {
            Some(offset) => number(offset)?,
            None => 0,
        };
        let memory = PointPlace::Memory { register, offset };
        parts.next().is_none().then_some(memory)
    }

    fn stack_register(&self) -> u8 {
        31
    }

    fn return_register(&self) -> u8 {
        0
    }

    fn argument(&self, n: u16) -> EntryPlace {
        match u8::try_from(n) {
            Ok(register) if n < REGISTER_COUNT => EntryPlace::Register(register),
            _ => EntryPlace::Zero,
        }
    }

    fn argument_registers(&self) -> u16 {
        REGISTER_COUNT
    }

    fn argument_word(&self, n: u16) -> EntryPlace {
        match n.checked_sub(REGISTER_COUNT) {
            None => self.argument(n),
            Some(n) => EntryPlace::Stack(n),
        }
    }

    /// The Procedure Call Standard, section 6.8.2, stages B and C without floating-point numbers: a
    /// structure of more than 16 bytes is passed as the address of a copy; an alignment of 16 bytes
    /// requires an even first register; and after the first argument on the stack, all further ones
    /// are there.
    fn pass(&self, taken: &mut WordsTaken, shape: TypeShape) -> ArgumentPlace {
        if shape.size == 0 {
            return ArgumentPlace::Nothing;
        }
        if shape.is_composite && shape.size > 16 {
            return match self.pass(taken, TypeShape::WORD) {
                ArgumentPlace::Words { first, .. } => ArgumentPlace::Pointed(first),
                other => other,
            };
        }
        let (count, is_even) = (shape.words(), shape.align > 8);
        match taken.registers(REGISTER_COUNT, count, is_even) {
            Some(first) => ArgumentPlace::Words { first, count },
            None => {
                taken.no_more_registers(REGISTER_COUNT);
                taken.stack(REGISTER_COUNT, count, is_even)
            }
        }
    }

    fn returned(&self, shape: TypeShape) -> ResultPlace {
        match u8::try_from(shape.words()) {
            Ok(count) if count <= 2 => ResultPlace::Registers(count),
            _ => ResultPlace::MemoryAtEntry(RESULT),
        }
    }

    fn return_registers(&self) -> [u8; 2] {
        [0, 1]
    }

    fn return_address(&self) -> EntryPlace {
        EntryPlace::Register(LINK)
    }

    fn call_arguments(&self) -> [u8; 6] {
        [ORIG_X0, 1, 2, 3, 4, 5]
    }

    fn open_flags(&self) -> &'static [OpenFlag; 16] {
        &OPEN_FLAGS
    }

    fn decode(&self, bytes: &[u8]) -> Result<Insn, Undecoded> {
        let word = word_at(bytes, 0).ok_or(Undecoded::Cut)?;
        let class = class(word);
        Ok(Insn {
            len: INSN_LEN,
            flow: flow(class),
            kind: match class {
                Arm64Class::Nop => InsnKind::Nop,
                Arm64Class::Undefined => InsnKind::Filler,
                Arm64Class::Breakpoint { .. } => InsnKind::Trap,
                _ => literal(word),
            },
        })
    }

    fn mnemonic(&self, bytes: &[u8]) -> &'static str {
        word_at(bytes, 0).map_or("", arm64::mnemonic)
    }

    fn refusal(&self, bytes: &[u8]) -> Option<Refusal> {
        let word = behind_kprobe(word_at(bytes, 0)?);
        let by_kernel = match arm64::verdict(word) {
            ProbeVerdict::Rejected(reason) => Some(reason.describe()),
            ProbeVerdict::SteppableOutOfLine | ProbeVerdict::Simulated => None,
        };
        let by_us = || arm64::hazard(word).map(arm64::Hazard::describe);
        Some(Refusal {
            by_kernel: by_kernel.is_some(),
            reason: by_kernel.or_else(by_us)?,
        })
    }

    fn fixed_len(&self) -> Option<usize> {
        Some(INSN_LEN)
    }

    fn breakpoint(&self) -> &'static [u8] {
        const BYTES: [u8; INSN_LEN] = KPROBE.to_le_bytes();

        &BYTES
    }

    fn patch_len(&self) -> usize {
        INSN_LEN
    }

    fn is_patched(&self, live: &[u8]) -> bool {
        live.starts_with(self.breakpoint())
    }

    /// Behind the `mov x9, x30`, in the first three words.
    fn ftrace_offsets(&self, bytes: &[u8]) -> [Option<u8>; 2] {
        /// `brk`, without its number.
        const BRK: u32 = 0xd420_0000;

        let mut found = [None; 2];
        let mut rest = found.iter_mut();
        for (index, word) in (1..=3_u8).zip(bytes.chunks_exact(4)) {
            let &[a, b, c, d] = word else { break };
            let word = u32::from_le_bytes([a, b, c, d]);
            if word == MOV_X9_X30 || word & !0x001f_ffe0 == BRK {
                if let Some(to) = rest.next() {
                    *to = Some(index.wrapping_mul(4));
                }
            }
        }
        found
    }

    fn ftrace_mark(&self) -> &'static [u8] {
        const MARK: [u8; 4] = MOV_X9_X30.to_le_bytes();

        &MARK
    }

    fn is_ops_pointer(&self, last: [u8; OPS_LEN], next: &[u8]) -> bool {
        /// Set in every kernel pointer, and never all set in an instruction.
        const KERNEL: u64 = 0xffff << 48;

        let is_pointer = u64::from_le_bytes(last) & KERNEL == KERNEL;
        is_pointer || (is_nop(&last, 0) && is_nop(&last, 1) && begins_traced(next))
    }

    fn has_type_words(&self) -> bool {
        true
    }

    fn refuses_exception_table(&self) -> bool {
        true
    }

    fn alternative_lens(&self) -> &'static [usize] {
        &[12]
    }

    fn jump_table(&self, words: &dyn CodeWords, address: u64, index: usize) -> Option<JumpTable> {
        jumps::table(words, address, index)
    }

    fn exclusives(&self, words: &dyn CodeWords) -> Result<Option<Exclusives>, AllocError> {
        Exclusives::of(words, effect).map(Some)
    }

    fn exclusive_scan(&self, words: &dyn CodeWords, index: usize) -> Option<usize> {
        arm64::exclusive::kernel_scan(words, index)
    }
}

fn flow(class: Arm64Class) -> Flow {
    match class {
        Arm64Class::Branch { displacement } => Flow::Jump(from_end(displacement)),
        Arm64Class::ConditionalBranch { displacement } => Flow::Branch(from_end(displacement)),
        Arm64Class::Call { displacement } => Flow::Call(from_end(displacement)),
        Arm64Class::IndirectBranch
        | Arm64Class::Return
        | Arm64Class::ExceptionReturn
        | Arm64Class::Undefined => Flow::Away,
        _ => Flow::Next,
    }
}

fn literal(word: u32) -> InsnKind {
    match arm64::literal(word) {
        Some((distance, len)) => InsnKind::Literal {
            distance: from_end(distance),
            len,
        },
        None => InsnKind::Ordinary,
    }
}

/// Returns a distance from the start of an instruction, as instructions encode it, as one
/// from its end.
fn from_end(distance: i32) -> i64 {
    i64::from(distance).wrapping_sub(4)
}

/// Returns how to treat `word`. If it is the breakpoint of an unknown probe, it hides a word that
/// the kernel has accepted, which is not an exclusive.
const fn behind_kprobe(word: u32) -> u32 {
    const NOP: u32 = 0xd503_201f;

    match word {
        KPROBE => NOP,
        word => word,
    }
}

fn effect(word: u32) -> Effect {
    arm64::exclusive::effect(behind_kprobe(word))
}

/// Returns whether a function that begins with `bytes` can be traced: it begins with
/// ftrace's two nops, or with ftrace's replacement of the first one.
fn begins_traced(bytes: &[u8]) -> bool {
    let is_pad = word_at(bytes, 0).is_some_and(|word| class(word) == Arm64Class::LandingPad);
    let first = usize::from(is_pad);
    let is_mark = word_at(bytes, first) == Some(MOV_X9_X30);
    is_mark || (is_nop(bytes, first) && is_nop(bytes, first.saturating_add(1)))
}

fn is_nop(bytes: &[u8], index: usize) -> bool {
    word_at(bytes, index).is_some_and(|word| class(word) == Arm64Class::Nop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_indices_agree() {
        for (i, known) in REGISTERS.iter().enumerate() {
            assert_eq!(Arm64.register(known), Some(u8::try_from(i).unwrap()));
        }
        for unknown in [&b"none_reg"[..], b"", b"ax"] {
            assert_eq!(Arm64.register(unknown), None);
        }
        assert_eq!(Arm64.register(b"x30"), Arm64.register(b"lr"));
    }

    #[test]
    fn words_follow_struct_pt_regs() {
        assert_eq!(Arm64.register(b"sp"), Some(Arm64.stack_register()));
        assert_eq!(Arm64.register(b"lr"), Some(LINK));
        assert_eq!(Arm64.register(b"pstate"), Some(33));
    }
}
