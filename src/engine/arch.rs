// SPDX-License-Identifier: GPL-2.0

//! What differs between the architectures on which probes are placed.
//!
//! The engine is told the architecture instead of being compiled for one, so
//! that the host tests both.

use super::regnames;

/// An architecture that ferroprobe knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Arm64,
}

/// Where a function finds one of its arguments at its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentPlace {
    /// In the register with this index, see [`regnames`].
    Register(u8),
    /// In this word of the stack, counted from the stack pointer.
    Stack(u16),
    /// Nowhere that the kernel's own accessor would look: it yields 0.
    Zero,
}

/// What a definition can say depends on the machine that it is for.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Its registers are those of this architecture.
    pub arch: Arch,
    /// Words of a kernel stack: `THREAD_SIZE` is 16 KiB in most kernels of both
    /// architectures, and more where each page is 64 KiB or KASAN needs the room.
    pub stack_words: u64,
}

/// Word indices of `rdi`, `rsi`, `rdx`, `rcx`, `r8`, `r9` in `struct pt_regs`.
const X86_ARGUMENTS: [u8; 6] = [14, 13, 12, 11, 9, 8];

impl Arch {
    /// Where argument `n` lies at function entry, counted from zero.
    ///
    /// The rule is that of `regs_get_kernel_argument()`: integers and pointers
    /// only, each in one register or stack word.
    pub fn argument(self, n: u16) -> ArgumentPlace {
        match self {
            Arch::X86_64 => match X86_ARGUMENTS.get(usize::from(n)) {
                Some(&reg) => ArgumentPlace::Register(reg),
                // The word at the stack pointer is the return address.
                None => ArgumentPlace::Stack(n.saturating_sub(5)),
            },
            Arch::Arm64 => match u8::try_from(n) {
                Ok(reg) if reg < 8 => ArgumentPlace::Register(reg),
                _ => ArgumentPlace::Zero,
            },
        }
    }

    /// Index of the register that holds a function's return value.
    pub fn return_register(self) -> u8 {
        match self {
            Arch::X86_64 => 10,
            Arch::Arm64 => 0,
        }
    }

    /// Index of the stack pointer.
    pub fn stack_register(self) -> u8 {
        match self {
            Arch::X86_64 => 19,
            Arch::Arm64 => 31,
        }
    }

    /// Index of the register called `name`, without its `%`.
    pub fn register(self, name: &[u8]) -> Option<u8> {
        regnames::index(self, name)
    }
}
