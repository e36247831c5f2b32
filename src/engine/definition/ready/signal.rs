// SPDX-License-Identifier: GPL-2.0

//! The events of signals: `include/trace/events/signal.h`.

use super::row::{shape, ReadyRow};
use crate::engine::record::{Class, ReadyField, ReadyShape};

shape! {
    SIGNAL_DELIVER {
        (int) sig = "sig:s32",
        (int) errno = "info->si_errno:s32" as SignalErrno,
        (int) code = "info->si_code:s32" as SignalCode,
        (unsigned long) sa_handler = "ka->sa.sa_handler:u64",
        (unsigned long) sa_flags = "ka->sa.sa_flags:u64",
    }
    concat!(
            r#""sig=%d errno=%d code=%d sa_handler=%lx sa_flags=%lx", REC->sig, REC->errno, "#,
            r#"REC->code, REC->sa_handler, REC->sa_flags"#,
        )
}

shape! {
    SIGNAL_GENERATE {
        (int) sig = "sig:s32",
        (int) errno = "info->si_errno:s32" as SignalErrno,
        (int) code = "info->si_code:s32" as SignalCode,
        (char) comm = "task->comm:string" as TaskName,
        (pid_t) pid = "task->pid:s32",
        (int) group = "group:s32",
        (int) result = "result:s32",
    }
    concat!(
            r#""sig=%d errno=%d code=%d comm=%s pid=%d grp=%d res=%d", REC->sig, REC->errno, "#,
            r#"REC->code, REC->comm, REC->pid, REC->group, REC->result"#,
        )
}

/// The events.
pub(super) const ROWS: &[ReadyRow] = &[
    ReadyRow::new("signal_deliver", &SIGNAL_DELIVER),
    ReadyRow::new("signal_generate", &SIGNAL_GENERATE),
];
