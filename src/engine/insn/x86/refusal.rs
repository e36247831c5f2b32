// SPDX-License-Identifier: GPL-2.0

//! Why an x86-64 instruction cannot carry a kprobe.
//!
//! The kernel decides in `arch/x86/kernel/kprobes/core.c` (`can_probe`,
//! `__copy_instruction`, `prepare_emulation`, `prepare_singlestep`); it reports
//! an errno and no reason. Where it would accept a probe that cannot work, the
//! refusal is ours, and [`Refusal::by_kernel`] says so.

use super::class::Class;
use super::{Insn, Map};

/// Why an instruction cannot carry a kprobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// INT3, INT, UD0, UD1 or UD2: the kernel returns `-EILSEQ`.
    Trap,
    /// UDB, which the kernel does not take for a trap.
    TrapUdb,
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
    /// Fifteen bytes leave no room in the slot for the breakpoint that ends
    /// the step: `-ENOSPC`.
    TooLong,
    /// Control would leave the out-of-line copy and not come back to the
    /// breakpoint behind it. The kernel does not check.
    LeavesCopy,
    /// `RET` far, which the kernel emulates as a near return.
    FarReturn,
    /// The kernel looks at the opcode byte alone, without the VEX, EVEX, XOP
    /// or REX2 prefix, and would treat the instruction as another one.
    Mistaken,
    /// The bytes are no instruction of 64-bit mode.
    Nonexistent,
}

impl Refusal {
    /// Whether the kernel itself refuses such a place.
    pub const fn by_kernel(self) -> bool {
        !matches!(
            self,
            Self::TrapUdb | Self::LeavesCopy | Self::FarReturn | Self::Mistaken | Self::Nonexistent
        )
    }

    /// The reason, to stand after "cannot probe `<place>`: ".
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Trap | Self::TrapUdb => "it is a trap instruction",
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
            Self::Mistaken => "the kernel would take its opcode byte for another instruction",
            Self::Nonexistent => "it is no instruction of 64-bit mode",
        }
    }
}

/// The refusal of a single instruction, in the order of the kernel's checks.
pub(super) fn of(insn: &Insn) -> Option<Refusal> {
    let by_class = match insn.class {
        Class::Int3 | Class::Interrupt => Some(Refusal::Trap),
        Class::Undefine if insn.map() == Map::One && insn.mnemonic() == "udb" => {
            Some(Refusal::TrapUdb)
        }
        Class::Undefine => Some(Refusal::Trap),
        _ if insn.has_emulate_prefix() => Some(Refusal::EmulatePrefix),
        Class::Nonexistent => Some(Refusal::Nonexistent),
        Class::MasksException => Some(Refusal::MasksException),
        Class::FarBranch => Some(Refusal::FarBranch),
        Class::InterruptReturn if insn.map() == Map::One => Some(Refusal::InterruptReturn),
        Class::VmExtension => Some(Refusal::VmExtension),
        _ => None,
    };
    by_class
}
