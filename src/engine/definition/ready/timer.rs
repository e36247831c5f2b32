// SPDX-License-Identifier: GPL-2.0

//! The events of timers: `include/trace/events/timer.h`.

use super::row::{shape, ReadyRow};
use crate::engine::record::{Class, ReadyField, ReadyShape};

shape! {
    HRTIMER_CANCEL {
        (void *) hrtimer = "hrtimer:x64",
    }
    r#""hrtimer=%p", REC->hrtimer"#
}

shape! {
    HRTIMER_EXPIRE_ENTRY {
        (void *) hrtimer = "hrtimer:x64",
        (s64) now = "now:s64",
        (void *) function = "hrtimer->function:x64",
    }
    concat!(
            r#""hrtimer=%p function=%ps now=%llu", REC->hrtimer, REC->function, (unsigned long "#,
            r#"long) REC->now"#,
        )
}

shape! {
    HRTIMER_REARM {
        (s64) next_event = "next_event:s64",
        (bool) deferred = "deferred:u8",
    }
    r#""next_event=%llu deferred=%d", (unsigned long long) REC->next_event, REC->deferred"#
}

shape! {
    HRTIMER_SETUP {
        (void *) hrtimer = "hrtimer:x64",
        (clockid_t) clockid = "clockid:s32",
        (enum hrtimer_mode) mode = "mode:u32",
    }
    concat!(
            r#""hrtimer=%p clockid=%s mode=%s", REC->hrtimer, __print_symbolic(REC->clockid, { 0, "#,
            r#""CLOCK_REALTIME" }, { 1, "CLOCK_MONOTONIC" }, { 7, "CLOCK_BOOTTIME" }, { 11, "#,
            r#""CLOCK_TAI" }), __print_symbolic(REC->mode, { HRTIMER_MODE_ABS, "ABS" }, { "#,
            r#"HRTIMER_MODE_REL, "REL" }, { HRTIMER_MODE_ABS_PINNED, "ABS|PINNED" }, { "#,
            r#"HRTIMER_MODE_REL_PINNED, "REL|PINNED" }, { HRTIMER_MODE_ABS_SOFT, "ABS|SOFT" }, { "#,
            r#"HRTIMER_MODE_REL_SOFT, "REL|SOFT" }, { HRTIMER_MODE_ABS_PINNED_SOFT, "#,
            r#""ABS|PINNED|SOFT" }, { HRTIMER_MODE_REL_PINNED_SOFT, "REL|PINNED|SOFT" }, { "#,
            r#"HRTIMER_MODE_ABS_HARD, "ABS|HARD" }, { HRTIMER_MODE_REL_HARD, "REL|HARD" }, { "#,
            r#"HRTIMER_MODE_ABS_PINNED_HARD, "ABS|PINNED|HARD" }, { HRTIMER_MODE_REL_PINNED_HARD, "#,
            r#""REL|PINNED|HARD" })"#,
        )
}

shape! {
    HRTIMER_START {
        (void *) hrtimer = "hrtimer:x64",
        (void *) function = "hrtimer->function:x64",
        (s64) expires = "hrtimer->node.expires:s64",
        (s64) softexpires = "hrtimer->_softexpires:s64",
        (enum hrtimer_mode) mode = "mode:u32",
        (bool) was_armed = "was_armed:u8",
    }
    concat!(
            r#""hrtimer=%p function=%ps expires=%llu softexpires=%llu mode=%s was_armed=%d", "#,
            r#"REC->hrtimer, REC->function, (unsigned long long) REC->expires, (unsigned long "#,
            r#"long) REC->softexpires, __print_symbolic(REC->mode, { HRTIMER_MODE_ABS, "ABS" }, { "#,
            r#"HRTIMER_MODE_REL, "REL" }, { HRTIMER_MODE_ABS_PINNED, "ABS|PINNED" }, { "#,
            r#"HRTIMER_MODE_REL_PINNED, "REL|PINNED" }, { HRTIMER_MODE_ABS_SOFT, "ABS|SOFT" }, { "#,
            r#"HRTIMER_MODE_REL_SOFT, "REL|SOFT" }, { HRTIMER_MODE_ABS_PINNED_SOFT, "#,
            r#""ABS|PINNED|SOFT" }, { HRTIMER_MODE_REL_PINNED_SOFT, "REL|PINNED|SOFT" }, { "#,
            r#"HRTIMER_MODE_ABS_HARD, "ABS|HARD" }, { HRTIMER_MODE_REL_HARD, "REL|HARD" }, { "#,
            r#"HRTIMER_MODE_ABS_PINNED_HARD, "ABS|PINNED|HARD" }, { HRTIMER_MODE_REL_PINNED_HARD, "#,
            r#""REL|PINNED|HARD" }), REC->was_armed"#,
        )
}

shape! {
    ITIMER_EXPIRE {
        (int) which = "which:s32",
        (pid_t) pid = "pid->numbers:s32" as PidNumber,
        (unsigned long long) now = "now:u64",
    }
    r#""which=%d pid=%d now=%llu", REC->which, (int) REC->pid, REC->now"#
}

shape! {
    ITIMER_STATE {
        (int) which = "which:s32",
        (unsigned long long) expires = "expires:u64",
        (long) value_sec = "value->it_value.tv_sec:s64",
        (long) value_nsec = "value->it_value.tv_nsec:s64",
        (long) interval_sec = "value->it_interval.tv_sec:s64",
        (long) interval_nsec = "value->it_interval.tv_nsec:s64",
    }
    concat!(
            r#""which=%d expires=%llu it_value=%ld.%06ld it_interval=%ld.%06ld", REC->which, "#,
            r#"REC->expires, REC->value_sec, REC->value_nsec / 1000L, REC->interval_sec, "#,
            r#"REC->interval_nsec / 1000L"#,
        )
}

shape! {
    TICK_STOP {
        (int) success = "success:s32",
        (int) dependency = "dependency:s32",
    }
    concat!(
            r#""success=%d dependency=%s", REC->success, __print_symbolic(REC->dependency, { 0, "#,
            r#""NONE" }, { (1 << 0), "POSIX_TIMER" }, { (1 << 1), "PERF_EVENTS" }, { (1 << 2), "#,
            r#""SCHED" }, { (1 << 3), "CLOCK_UNSTABLE" }, { (1 << 4), "RCU" }, { (1 << 5), "#,
            r#""RCU_EXP" })"#,
        )
}

shape! {
    TIMER_BASE_IDLE {
        (bool) is_idle = "is_idle:u8",
        (unsigned int) cpu = "cpu:u32",
    }
    r#""is_idle=%d cpu=%d", REC->is_idle, REC->cpu"#
}

shape! {
    TIMER_CANCEL {
        (void *) timer = "timer:x64",
    }
    r#""timer=%p", REC->timer"#
}

shape! {
    TIMER_EXPIRE_ENTRY {
        (void *) timer = "timer:x64",
        (unsigned long) now = "@jiffies:u64",
        (void *) function = "timer->function:x64",
        (unsigned long) baseclk = "baseclk:u64",
    }
    concat!(
            r#""timer=%p function=%ps now=%lu baseclk=%lu", REC->timer, REC->function, REC->now, "#,
            r#"REC->baseclk"#,
        )
}

shape! {
    TIMER_START {
        (void *) timer = "timer:x64",
        (void *) function = "timer->function:x64",
        (unsigned long) expires = "timer->expires:u64",
        (unsigned long) bucket_expiry = "bucket_expiry:u64",
        (unsigned long) now = "@jiffies:u64",
        (unsigned int) flags = "timer->flags:u32",
    }
    concat!(
            r#""timer=%p function=%ps expires=%lu [timeout=%ld] bucket_expiry=%lu cpu=%u idx=%u "#,
            r#"flags=%s", REC->timer, REC->function, REC->expires, (long)REC->expires - REC->now, "#,
            r#"REC->bucket_expiry, REC->flags & 0x0003FFFF, REC->flags >> 22, "#,
            r#"__print_flags(REC->flags & (0x00040000 | 0x00080000 | 0x00100000 | 0x00200000), "#,
            r#""|", { 0x00040000, "M" }, { 0x00080000, "D" }, { 0x00100000, "P" }, { 0x00200000, "#,
            r#""I" })"#,
        )
}

/// The events.
pub(super) const ROWS: &[ReadyRow] = &[
    ReadyRow::new("hrtimer_cancel", &HRTIMER_CANCEL),
    ReadyRow::new("hrtimer_expire_entry", &HRTIMER_EXPIRE_ENTRY),
    ReadyRow::new("hrtimer_expire_exit", &HRTIMER_CANCEL),
    // The name of hrtimer_setup in 6.12.
    ReadyRow::new("hrtimer_init", &HRTIMER_SETUP),
    ReadyRow::new("hrtimer_rearm", &HRTIMER_REARM),
    ReadyRow::new("hrtimer_setup", &HRTIMER_SETUP),
    ReadyRow::new("hrtimer_start", &HRTIMER_START),
    ReadyRow::new("hrtimer_start_expired", &HRTIMER_CANCEL),
    ReadyRow::new("itimer_expire", &ITIMER_EXPIRE),
    ReadyRow::new("itimer_state", &ITIMER_STATE),
    ReadyRow::new("tick_stop", &TICK_STOP),
    ReadyRow::new("timer_base_idle", &TIMER_BASE_IDLE),
    ReadyRow::new("timer_cancel", &TIMER_CANCEL),
    ReadyRow::new("timer_expire_entry", &TIMER_EXPIRE_ENTRY),
    ReadyRow::new("timer_expire_exit", &TIMER_CANCEL),
    ReadyRow::new("timer_init", &TIMER_CANCEL),
    ReadyRow::new("timer_start", &TIMER_START),
];
