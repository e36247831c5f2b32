// SPDX-License-Identifier: GPL-2.0

//! The machine on which the module runs.

use crate::{
    engine::{
        arch::{Arch, Machine},
        error::Errno,
    },
    kapi::regs::STACK_WORDS,
};
use kernel::error::Error;

/// The architecture.
pub(crate) const MACHINE: Machine = Machine {
    arch: if cfg!(target_arch = "aarch64") {
        Arch::Arm64
    } else {
        Arch::X86_64
    },
    stack_words: STACK_WORDS,
};

/// Converts an errno of the kernel crate to the engine's type.
pub(crate) fn errno(error: Error) -> Errno {
    Errno(error.to_errno().wrapping_neg())
}
