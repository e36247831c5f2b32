// SPDX-License-Identifier: GPL-2.0

//! The events of work queues: `include/trace/events/workqueue.h`.

use super::row::{shape, ReadyRow};
use crate::engine::record::{Class, ReadyField, ReadyShape};

shape! {
    WORKQUEUE_ACTIVATE_WORK {
        (void *) work = "work:x64",
        (void *) function = "work->func:x64",
    }
    r#""work struct %p function=%ps ", REC->work, REC->function"#
}

shape! {
    WORKQUEUE_EXECUTE_END {
        (void *) work = "work:x64",
        (void *) function = "function:x64",
    }
    r#""work struct %p: function %ps", REC->work, REC->function"#
}

shape! {
    WORKQUEUE_EXECUTE_START {
        (void *) work = "work:x64",
        (void *) function = "work->func:x64",
    }
    r#""work struct %p: function %ps", REC->work, REC->function"#
}

shape! {
    WORKQUEUE_QUEUE_WORK {
        (void *) work = "work:x64",
        (void *) function = "work->func:x64",
        (__data_loc char[]) workqueue = "pwq->wq->name:string",
        (int) req_cpu = "req_cpu:s32",
        (int) cpu = "pwq->pool->cpu:s32",
    }
    concat!(
            r#""work struct=%p function=%ps workqueue=%s req_cpu=%d cpu=%d", REC->work, "#,
            r#"REC->function, __get_str(workqueue), REC->req_cpu, REC->cpu"#,
        )
}

/// The events.
pub(super) const ROWS: &[ReadyRow] = &[
    ReadyRow::new("workqueue_activate_work", &WORKQUEUE_ACTIVATE_WORK),
    ReadyRow::new("workqueue_execute_end", &WORKQUEUE_EXECUTE_END),
    ReadyRow::new("workqueue_execute_start", &WORKQUEUE_EXECUTE_START),
    ReadyRow::new("workqueue_queue_work", &WORKQUEUE_QUEUE_WORK),
];
