// SPDX-License-Identifier: GPL-2.0

//! Register names, and the order of the abstract register set.
//!
//! An index counts 64-bit words of the architecture's `struct pt_regs`, so
//! that fetching a register is one load: on x86-64 `r15` is word 0 and `ss`
//! word 20; on arm64 `x0` is word 0, `sp` word 31, `pc` 32 and `pstate` 33.
//! The names are those of `regs_query_register_offset()`.

use super::arch::Arch;

/// Number of words in the register set of either architecture.
pub const WORDS: usize = 34;

/// `arch/x86/include/asm/ptrace.h`, `struct pt_regs`.
const X86_64: [&[u8]; 21] = [
    b"r15", b"r14", b"r13", b"r12", b"bp", b"bx", b"r11", b"r10", b"r9", b"r8", b"ax", b"cx",
    b"dx", b"si", b"di", b"orig_ax", b"ip", b"cs", b"flags", b"sp", b"ss",
];

/// `arch/arm64/include/asm/ptrace.h`, `struct user_pt_regs`.
const ARM64: [&[u8]; WORDS] = [
    b"x0", b"x1", b"x2", b"x3", b"x4", b"x5", b"x6", b"x7", b"x8", b"x9", b"x10", b"x11", b"x12",
    b"x13", b"x14", b"x15", b"x16", b"x17", b"x18", b"x19", b"x20", b"x21", b"x22", b"x23", b"x24",
    b"x25", b"x26", b"x27", b"x28", b"x29", b"lr", b"sp", b"pc", b"pstate",
];

fn names(arch: Arch) -> &'static [&'static [u8]] {
    match arch {
        Arch::X86_64 => &X86_64,
        Arch::Arm64 => &ARM64,
    }
}

/// The index of the register called `name`, or `None`.
///
/// `x30` is accepted on arm64 beside the kernel's `lr`.
pub fn index(arch: Arch, name: &[u8]) -> Option<u8> {
    if arch == Arch::Arm64 && name == b"x30" {
        return Some(30);
    }
    let position = names(arch).iter().position(|known| *known == name)?;
    u8::try_from(position).ok()
}

/// The name of the register with this index, or `None`.
pub fn name(arch: Arch, index: u8) -> Option<&'static [u8]> {
    names(arch).get(usize::from(index)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_indices_agree() {
        for arch in [Arch::X86_64, Arch::Arm64] {
            for (i, known) in names(arch).iter().enumerate() {
                let i = u8::try_from(i).unwrap();
                assert_eq!(index(arch, known), Some(i));
                assert_eq!(name(arch, i), Some(*known));
            }
            assert_eq!(index(arch, b"none_reg"), None);
            assert_eq!(index(arch, b""), None);
            assert_eq!(name(arch, 60), None);
        }
        assert_eq!(index(Arch::X86_64, b"x0"), None);
        assert_eq!(index(Arch::Arm64, b"ax"), None);
        assert_eq!(index(Arch::Arm64, b"x30"), index(Arch::Arm64, b"lr"));
    }

    #[test]
    fn words_follow_struct_pt_regs() {
        assert_eq!(index(Arch::X86_64, b"di"), Some(14));
        assert_eq!(index(Arch::X86_64, b"ax"), Some(10));
        assert_eq!(
            index(Arch::X86_64, b"sp"),
            Some(Arch::X86_64.stack_register())
        );
        assert_eq!(
            index(Arch::Arm64, b"sp"),
            Some(Arch::Arm64.stack_register())
        );
        assert_eq!(index(Arch::Arm64, b"pstate"), Some(33));
    }
}
