// SPDX-License-Identifier: GPL-2.0

//! The machine on which the module runs.

use crate::{
    engine::{
        code::arch::{Arch, Machine},
        refusal::error::Errno,
    },
    kapi::regs::STACK_WORDS,
};
use kernel::error::Error;

/// The machine.
pub(crate) const MACHINE: Machine = Machine {
    arch: Arch::NATIVE,
    stack_words: STACK_WORDS,
};

/// Converts an errno of the kernel crate to the engine's type.
pub(crate) fn errno(error: Error) -> Errno {
    Errno(error.to_errno().wrapping_neg())
}
