// SPDX-License-Identifier: GPL-2.0

//! The machine on which the module runs.

use crate::{
    engine::{
        code::arch::{Arch, Machine},
        refusal::error::{Errno, Error as Refusal},
    },
    kapi::regs::STACK_WORDS,
};
use kernel::error::Error;

pub(crate) const MACHINE: Machine = Machine {
    arch: Arch::NATIVE,
    stack_words: STACK_WORDS,
};

/// Converts an errno of the kernel crate to the engine's type.
pub(crate) fn errno(error: Error) -> Errno {
    Errno(error.to_errno().wrapping_neg())
}

/// Returns the kernel crate's error with the errno of `refusal`.
pub(crate) fn error_of(refusal: &Refusal) -> Error {
    Error::from_errno(refusal.errno.0.wrapping_neg())
}
