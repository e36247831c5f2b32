// SPDX-License-Identifier: GPL-2.0

//! The supported architectures.
//!
//! The architecture is a value, not a compile-time choice, so that the host tests all of them. Each
//! is one implementation of the trait [`Isa`]; only this file names the implementations.

pub mod calling;
pub mod isa;
pub mod point;

mod arm64;
mod x86_64;

pub use self::isa::{EntryPlace, Isa};

/// A supported architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Arm64,
}

/// The properties of a machine that the meaning of a definition depends on.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// The architecture, which determines the registers.
    pub arch: Arch,
    /// Number of words of a kernel stack: `THREAD_SIZE` is 16 KiB in most kernels of both
    /// architectures, and larger with 64 KiB pages or KASAN.
    pub stack_words: u64,
}

impl Arch {
    /// The architecture that this is compiled for.
    pub const NATIVE: Self = if cfg!(target_arch = "aarch64") {
        Self::Arm64
    } else {
        Self::X86_64
    };

    /// Returns the implementation of the architecture.
    pub const fn isa(self) -> &'static dyn Isa {
        match self {
            Self::X86_64 => &x86_64::X86_64,
            Self::Arm64 => &arm64::Arm64,
        }
    }
}
