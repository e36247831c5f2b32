// SPDX-License-Identifier: GPL-2.0

//! The events of interrupts: `include/trace/events/irq.h`.

use super::row::{shape, ReadyRow};
use crate::engine::record::{Class, ReadyField, ReadyShape};

shape! {
    IRQ_HANDLER_ENTRY {
        (int) irq = "irq:s32",
        (__data_loc char[]) name = "action->name:string",
    }
    r#""irq=%d name=%s", REC->irq, __get_str(name)"#
}

shape! {
    IRQ_HANDLER_EXIT {
        (int) irq = "irq:s32",
        (int) ret = "ret:s32",
    }
    r#""irq=%d ret=%s", REC->irq, REC->ret ? "handled" : "unhandled""#
}

shape! {
    SOFTIRQ_ENTRY {
        (unsigned int) vec = "vec_nr:u32",
    }
    concat!(
            r#""vec=%u [action=%s]", REC->vec, __print_symbolic(REC->vec, { 0, "HI" }, { 1, "#,
            r#""TIMER" }, { 2, "NET_TX" }, { 3, "NET_RX" }, { 4, "BLOCK" }, { 5, "IRQ_POLL" }, { "#,
            r#"6, "TASKLET" }, { 7, "SCHED" }, { 8, "HRTIMER" }, { 9, "RCU" })"#,
        )
}

shape! {
    TASKLET_ENTRY {
        (void *) tasklet = "t:x64",
        (void *) func = "func:x64",
    }
    r#""tasklet=%ps function=%ps", REC->tasklet, REC->func"#
}

/// The events.
pub(super) const ROWS: &[ReadyRow] = &[
    ReadyRow::new("irq_handler_entry", &IRQ_HANDLER_ENTRY),
    ReadyRow::new("irq_handler_exit", &IRQ_HANDLER_EXIT),
    ReadyRow::new("softirq_entry", &SOFTIRQ_ENTRY),
    ReadyRow::new("softirq_exit", &SOFTIRQ_ENTRY),
    ReadyRow::new("softirq_raise", &SOFTIRQ_ENTRY),
    ReadyRow::new("tasklet_entry", &TASKLET_ENTRY),
    ReadyRow::new("tasklet_exit", &TASKLET_ENTRY),
];
