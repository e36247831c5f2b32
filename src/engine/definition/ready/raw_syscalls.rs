// SPDX-License-Identifier: GPL-2.0

//! The events of system calls of any number: `include/trace/events/syscalls.h`.

use super::row::{shape, ReadyRow};
use crate::engine::record::{Class, ReadyField, ReadyShape};

shape! {
    /// `sys_exit` of x86-64.
    OF_X86_64 {
        (long) id = "regs->orig_ax:s64",
        (long) ret = "ret:s64",
    }
    r#""NR %ld = %ld", REC->id, REC->ret"#
}

shape! {
    /// `sys_exit` of arm64.
    OF_ARM64 {
        (long) id = "regs->syscallno:s32" as Long,
        (long) ret = "ret:s64",
    }
    r#""NR %ld = %ld", REC->id, REC->ret"#
}

/// The events, with the row for this architecture.
pub(super) const ROWS: &[ReadyRow] = &[
    ReadyRow::new("sys_exit", &OF_X86_64),
    ReadyRow::new("sys_exit", &OF_ARM64),
];
