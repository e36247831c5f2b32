// SPDX-License-Identifier: GPL-2.0

//! Why an x86-64 instruction cannot carry a kprobe.
//!
//! The kernel decides in `arch/x86/kernel/kprobes/core.c` (`can_probe`,
//! `__copy_instruction`, `prepare_emulation`, `prepare_singlestep`); it reports an errno
//! and no reason. If the kernel would accept a probe that cannot work, the refusal is ours,
//! and [`X86Refusal::by_kernel`] returns false.

use super::class::X86Class;
use super::insn::{flag, OpcodeMap, X86Insn, MAX_LEN};

impl X86Insn {
    /// Returns why the instruction cannot carry a kprobe; `None` if it can.
    ///
    /// Judges the instruction alone; the kernel also refuses locations because of their
    /// surroundings.
    pub fn refusal(&self) -> Option<X86Refusal> {
        of(self)
    }
}

/// Why an instruction cannot carry a kprobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum X86Refusal {
    /// INT3, INT, UD0, UD1 or UD2: the kernel returns `-EILSEQ`.
    Trap,
    /// UDB, or another trap behind REX2, which the kernel does not recognize as a trap.
    UnseenTrap,
    /// The emulate prefix of Xen or KVM: `-EINVAL`.
    EmulatePrefix,
    /// The instruction holds back exceptions (`MOV SS`): `-EINVAL`.
    MasksException,
    /// A far branch: `-EOPNOTSUPP`.
    FarBranch,
    /// `IRET`: `-EOPNOTSUPP`.
    InterruptReturn,
    /// An indirect branch through memory: `-EOPNOTSUPP`.
    IndirectMemory,
    /// An indirect branch with a 32-bit address size: `-EOPNOTSUPP`.
    AddressSize,
    /// `VMCALL` and its neighbours `0F 01 C0` to `C7`: `-EOPNOTSUPP`.
    VmExtension,
    /// Fifteen bytes leave no room in the slot for the breakpoint that ends the step:
    /// `-ENOSPC`.
    TooLong,
    /// Control would leave the out-of-line copy and not return to the breakpoint behind it.
    /// The kernel does not check this.
    LeavesCopy,
    /// `RET` far, which the kernel emulates as a near return.
    FarReturn,
    /// The kernel reads the opcode byte without the VEX, EVEX, XOP or REX2 prefix before
    /// it, and would emulate the instruction as the branch or the change of flags that has
    /// this opcode in the one-byte map.
    Mistaken,
    /// For the same reason the kernel mistakes the instruction for one that it refuses.
    MistakenForTrap,
    /// The bytes are not an instruction of 64-bit mode.
    Nonexistent,
}

impl X86Refusal {
    /// Returns whether the kernel itself refuses such a location.
    pub const fn by_kernel(self) -> bool {
        !matches!(
            self,
            Self::UnseenTrap
                | Self::LeavesCopy
                | Self::FarReturn
                | Self::Mistaken
                | Self::Nonexistent
        )
    }

    /// Returns the reason, for use behind "cannot probe `<place>`: ".
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Trap | Self::UnseenTrap => "it is a trap instruction",
            Self::EmulatePrefix => "it has the emulate prefix of a hypervisor",
            Self::MasksException => "it holds back exceptions until the next instruction",
            Self::FarBranch => "a far branch cannot be emulated",
            Self::InterruptReturn => "a return from an interrupt cannot be emulated",
            Self::IndirectMemory => "an indirect branch through memory cannot be emulated",
            Self::AddressSize => {
                "an indirect branch with an address-size prefix cannot be emulated"
            }
            Self::VmExtension => "a VM extension cannot be stepped",
            Self::TooLong => "it leaves no room for the breakpoint behind its copy",
            Self::LeavesCopy => "control would not come back from its out-of-line copy",
            Self::FarReturn => "the kernel would emulate it as a near return",
            Self::Mistaken => "the kernel would emulate another instruction with its opcode byte",
            Self::MistakenForTrap => "the kernel takes its opcode byte for one that it refuses",
            Self::Nonexistent => "it is no instruction of 64-bit mode",
        }
    }
}

/// Returns the refusal of a single instruction, in the order of the kernel's checks.
fn of(insn: &X86Insn) -> Option<X86Refusal> {
    trap(insn)
        .or_else(|| uncopyable(insn))
        .or_else(|| unemulated(insn))
        .or_else(|| (insn.len() == MAX_LEN).then_some(X86Refusal::TooLong))
        .or_else(|| unchecked(insn))
}

/// Returns the first opcode byte if the kernel reads the opcode alone, as if it were of the
/// one-byte map.
fn mistakable(insn: &X86Insn) -> Option<u8> {
    let [op, ..] = insn.head.to_le_bytes();
    matches!(insn.map(), OpcodeMap::Vector | OpcodeMap::Rex2Two).then_some(op)
}

/// Returns whether the kernel reads the right opcode byte.
fn is_one_byte(insn: &X86Insn) -> bool {
    matches!(insn.map(), OpcodeMap::One | OpcodeMap::Rex2One)
}

/// Checks as `can_probe`: INT and UD.
fn trap(insn: &X86Insn) -> Option<X86Refusal> {
    match (insn.class, mistakable(insn)) {
        (_, Some(0xcc | 0xcd | 0xce | 0xf1)) => Some(X86Refusal::MistakenForTrap),
        // UDB is of the one-byte map; the kernel checks for those behind 0F.
        (X86Class::Undefine, _) if insn.map() != OpcodeMap::Two => Some(X86Refusal::UnseenTrap),
        (X86Class::Int3 | X86Class::Interrupt | X86Class::Undefine, _) => Some(X86Refusal::Trap),
        _ => None,
    }
}

/// Checks as `__copy_instruction`: emulate prefixes and loads of SS.
fn uncopyable(insn: &X86Insn) -> Option<X86Refusal> {
    let loads_ss = insn.modrm().is_some_and(|modrm| modrm >> 3 & 7 == 2);
    match (insn.class, mistakable(insn)) {
        _ if insn.has_emulate_prefix() => Some(X86Refusal::EmulatePrefix),
        // The kernel names 1F, POP DS, POP SS.
        (_, Some(0x1f)) => Some(X86Refusal::MistakenForTrap),
        (_, Some(0x8e)) if loads_ss => Some(X86Refusal::MistakenForTrap),
        (X86Class::MasksException, _) => Some(X86Refusal::MasksException),
        _ => None,
    }
}

/// Checks as `prepare_emulation`: branches that it recognizes and does not support.
fn unemulated(insn: &X86Insn) -> Option<X86Refusal> {
    match (insn.class, mistakable(insn)) {
        (_, Some(0x9a | 0xcf | 0xea)) => Some(X86Refusal::MistakenForTrap),
        (_, Some(0xff)) => mistaken_group(insn),
        (_, Some(op)) => mistaken(op).then_some(X86Refusal::Mistaken),
        (X86Class::FarBranch, _) => Some(X86Refusal::FarBranch),
        (X86Class::InterruptReturn, _) if is_one_byte(insn) => Some(X86Refusal::InterruptReturn),
        (X86Class::VmExtension, None) => Some(X86Refusal::VmExtension),
        (X86Class::IndirectJump | X86Class::IndirectCall, _) => {
            let addresses_32 = insn.flags & flag::ADDRESS_SIZE != 0;
            addresses_32.then_some(X86Refusal::AddressSize)
        }
        (X86Class::IndirectJumpMemory | X86Class::IndirectCallMemory, _) => {
            Some(X86Refusal::IndirectMemory)
        }
        _ => None,
    }
}

/// Returns whether `prepare_emulation` would emulate an opcode of another map as the
/// one-byte opcode `op`.
fn mistaken(op: u8) -> bool {
    matches!(
        op,
        0x70..=0x7f | 0x9c | 0x9d | 0xc2 | 0xc3 | 0xca | 0xcb
            | 0xe0..=0xe3 | 0xe8 | 0xe9 | 0xeb | 0xfa | 0xfb
    )
}

/// As [`mistaken`], for the opcode FF, the group of indirect branches.
fn mistaken_group(insn: &X86Insn) -> Option<X86Refusal> {
    let modrm = insn.modrm()?;
    match modrm >> 3 & 7 {
        2 | 4 if modrm >= 0xc0 && insn.flags & flag::ADDRESS_SIZE == 0 => {
            Some(X86Refusal::Mistaken)
        }
        2..=5 => Some(X86Refusal::MistakenForTrap),
        _ => None,
    }
}

/// Checks what the kernel does not check.
fn unchecked(insn: &X86Insn) -> Option<X86Refusal> {
    match insn.class {
        X86Class::Nonexistent => Some(X86Refusal::Nonexistent),
        X86Class::VmExtension
        | X86Class::AbsoluteJump
        | X86Class::InterruptReturn
        | X86Class::SystemCall
        | X86Class::SystemReturn
        | X86Class::TransactionBegin => Some(X86Refusal::LeavesCopy),
        X86Class::FarReturn => Some(X86Refusal::FarReturn),
        // The kernel takes the register's number from a REX prefix.
        X86Class::IndirectJump | X86Class::IndirectCall if insn.map() == OpcodeMap::Rex2One => {
            Some(X86Refusal::Mistaken)
        }
        _ => None,
    }
}
