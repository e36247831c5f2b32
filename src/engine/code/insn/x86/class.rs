// SPDX-License-Identifier: GPL-2.0

//! The control flow of an x86-64 instruction, as far as it concerns a probe on it.

/// The kind of an instruction, for placement and the walk over a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum X86Class {
    /// Continues at the next instruction and has no property named below.
    Normal,
    /// Does nothing: `90`, its prefixed forms, and `0F 1F /0`.
    Nop,
    /// `ENDBR64` or `ENDBR32`, the mark of a target of indirect branches.
    Endbr,
    /// `JMP rel8` or `JMP rel32`.
    Jump,
    /// `Jcc`, `LOOPcc` or `JRCXZ`: relative, and may fall through.
    ConditionalJump,
    /// `CALL rel32`.
    Call,
    /// `JMP` near through a register.
    IndirectJump,
    /// `JMP` near through memory.
    IndirectJumpMemory,
    /// `CALL` near through a register.
    IndirectCall,
    /// `CALL` near through memory.
    IndirectCallMemory,
    /// `JMP` or `CALL` far.
    FarBranch,
    /// `JMPABS`, the jump of APX to an absolute 64-bit address.
    AbsoluteJump,
    /// `RET` near, with or without a count of bytes to release.
    Return,
    /// `RET` far.
    FarReturn,
    /// `IRET`, `UIRET`, `ERETU` or `ERETS`.
    InterruptReturn,
    /// `SYSCALL` or `SYSENTER`.
    SystemCall,
    /// `SYSRET`, `SYSEXIT` or `RSM`: leaves for code outside the function.
    SystemReturn,
    /// `INT3` (`CC`), a breakpoint or padding between functions.
    Int3,
    /// `INT n` or `INT1`.
    Interrupt,
    /// `UD0`, `UD1`, `UD2` or `UDB`: raises #UD by definition.
    Undefine,
    /// `MOV SS`: holds back exceptions until after the next instruction.
    MasksException,
    /// `VMCALL`, `VMLAUNCH` and the others of `0F 01 C0` to `C7`.
    VmExtension,
    /// `XBEGIN`: relative; the target is where an abort goes.
    TransactionBegin,
    /// `HLT`.
    Halt,
    /// No instruction in 64-bit mode; raises #UD. The length is the one that the kernel's
    /// decoder gives these bytes.
    Nonexistent,
}

impl X86Class {
    /// Returns a description of the kind, for use in "`<describe>` at +0x12".
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Normal => "an ordinary instruction",
            Self::Nop => "a nop",
            Self::Endbr => "an endbr",
            Self::Jump => "a relative jump",
            Self::ConditionalJump => "a conditional jump",
            Self::Call => "a relative call",
            Self::IndirectJump => "an indirect jump",
            Self::IndirectJumpMemory => "an indirect jump through memory",
            Self::IndirectCall => "an indirect call",
            Self::IndirectCallMemory => "an indirect call through memory",
            Self::FarBranch => "a far branch",
            Self::AbsoluteJump => "an absolute jump",
            Self::Return => "a return",
            Self::FarReturn => "a far return",
            Self::InterruptReturn => "a return from an interrupt",
            Self::SystemCall => "a system call",
            Self::SystemReturn => "a return from a system call",
            Self::Int3 => "a breakpoint",
            Self::Interrupt => "a software interrupt",
            Self::Undefine => "an undefined-instruction trap",
            Self::MasksException => "a load of SS, which holds back exceptions",
            Self::VmExtension => "a VM extension",
            Self::TransactionBegin => "the start of a transaction",
            Self::Halt => "a halt",
            Self::Nonexistent => "no instruction of 64-bit mode",
        }
    }

    /// Returns whether control never continues at the next instruction; a call returns, and
    /// so does a system call.
    pub const fn ends_flow(self) -> bool {
        matches!(
            self,
            Self::Jump
                | Self::IndirectJump
                | Self::IndirectJumpMemory
                | Self::AbsoluteJump
                | Self::Return
                | Self::FarReturn
                | Self::InterruptReturn
                | Self::SystemReturn
                | Self::Undefine
                | Self::Nonexistent
        )
    }

    /// Returns whether the target is relative to the instruction's end.
    pub const fn is_relative(self) -> bool {
        matches!(
            self,
            Self::Jump | Self::ConditionalJump | Self::Call | Self::TransactionBegin
        )
    }
}
