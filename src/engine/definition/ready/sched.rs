// SPDX-License-Identifier: GPL-2.0

//! The events of the scheduler: `include/trace/events/sched.h`.

use super::row::{shape, ReadyRow};
use crate::engine::record::{Class, ReadyField, ReadyShape};

shape! {
    SCHED_KTHREAD_STOP {
        (__data_loc char[]) comm = "t->comm:string" as TaskName,
        (pid_t) pid = "t->pid:s32",
    }
    r#""comm=%s pid=%d", __get_str(comm), REC->pid"#
}

shape! {
    SCHED_KTHREAD_STOP_RET {
        (int) ret = "ret:s32",
    }
    r#""ret=%d", REC->ret"#
}

shape! {
    SCHED_KTHREAD_WORK_EXECUTE_END {
        (void *) work = "work:x64",
        (void *) function = "function:x64",
    }
    r#""work struct %p: function %ps", REC->work, REC->function"#
}

shape! {
    SCHED_KTHREAD_WORK_EXECUTE_START {
        (void *) work = "work:x64",
        (void *) function = "work->func:x64",
    }
    r#""work struct %p: function %ps", REC->work, REC->function"#
}

shape! {
    SCHED_KTHREAD_WORK_QUEUE_WORK {
        (void *) work = "work:x64",
        (void *) function = "work->func:x64",
        (void *) worker = "worker:x64",
    }
    r#""work struct=%p function=%ps worker=%p", REC->work, REC->function, REC->worker"#
}

shape! {
    SCHED_MIGRATE_TASK {
        (__data_loc char[]) comm = "p->comm:string" as TaskName,
        (pid_t) pid = "p->pid:s32",
        (int) prio = "p->prio:s32",
        (int) orig_cpu = "p->thread_info.cpu:s32",
        (int) dest_cpu = "dest_cpu:s32",
    }
    concat!(
            r#""comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d", __get_str(comm), REC->pid, "#,
            r#"REC->prio, REC->orig_cpu, REC->dest_cpu"#,
        )
}

shape! {
    SCHED_PI_SETPRIO {
        (__data_loc char[]) comm = "tsk->comm:string" as TaskName,
        (pid_t) pid = "tsk->pid:s32",
        (int) oldprio = "tsk->prio:s32",
        (int) newprio = "tsk->prio:s32" as InheritedPriority,
    }
    concat!(
            r#""comm=%s pid=%d oldprio=%d newprio=%d", __get_str(comm), REC->pid, REC->oldprio, "#,
            r#"REC->newprio"#,
        )
}

shape! {
    SCHED_PREPARE_EXEC {
        (__data_loc char[]) interp = "bprm->interp:string",
        (__data_loc char[]) filename = "bprm->filename:string",
        (pid_t) pid = "task->pid:s32",
        (__data_loc char[]) comm = "task->comm:string" as TaskName,
    }
    concat!(
            r#""interp=%s filename=%s pid=%d comm=%s", __get_str(interp), __get_str(filename), "#,
            r#"REC->pid, __get_str(comm)"#,
        )
}

shape! {
    SCHED_PROCESS_EXEC {
        (__data_loc char[]) filename = "bprm->filename:string",
        (pid_t) pid = "p->pid:s32",
        (pid_t) old_pid = "old_pid:s32",
    }
    r#""filename=%s pid=%d old_pid=%d", __get_str(filename), REC->pid, REC->old_pid"#
}

shape! {
    SCHED_PROCESS_EXIT {
        (char) comm = "p->comm:string" as TaskName,
        (pid_t) pid = "p->pid:s32",
        (int) prio = "p->prio:s32",
        (bool) group_dead = "group_dead:u8",
    }
    concat!(
            r#""comm=%s pid=%d prio=%d group_dead=%s", REC->comm, REC->pid, REC->prio, "#,
            r#"REC->group_dead ? "true" : "false""#,
        )
}

shape! {
    SCHED_PROCESS_FORK {
        (__data_loc char[]) parent_comm = "parent->comm:string" as TaskName,
        (pid_t) parent_pid = "parent->pid:s32",
        (__data_loc char[]) child_comm = "child->comm:string" as TaskName,
        (pid_t) child_pid = "child->pid:s32",
    }
    concat!(
            r#""comm=%s pid=%d child_comm=%s child_pid=%d", __get_str(parent_comm), "#,
            r#"REC->parent_pid, __get_str(child_comm), REC->child_pid"#,
        )
}

shape! {
    SCHED_PROCESS_FREE {
        (__data_loc char[]) comm = "p->comm:string" as TaskName,
        (pid_t) pid = "p->pid:s32",
        (int) prio = "p->prio:s32",
    }
    r#""comm=%s pid=%d prio=%d", __get_str(comm), REC->pid, REC->prio"#
}

shape! {
    SCHED_PROCESS_HANG {
        (__data_loc char[]) comm = "tsk->comm:string" as TaskName,
        (pid_t) pid = "tsk->pid:s32",
    }
    r#""comm=%s pid=%d", __get_str(comm), REC->pid"#
}

shape! {
    SCHED_PROCESS_WAIT {
        (__data_loc char[]) comm = "$comm",
        (pid_t) pid = "pid->numbers:s32" as PidNumber,
        (int) prio = "$current->prio:s32",
    }
    r#""comm=%s pid=%d prio=%d", __get_str(comm), REC->pid, REC->prio"#
}

shape! {
    SCHED_SKIP_VMA_NUMA {
        (unsigned long) numa_scan_offset = "mm->numa_scan_offset:u64",
        (unsigned long) vm_start = "vma->vm_start:u64",
        (unsigned long) vm_end = "vma->vm_end:u64",
        (enum numa_vmaskip_reason) reason = "reason:u32",
    }
    concat!(
            r#""numa_scan_offset=%lX vm_start=%lX vm_end=%lX reason=%s", REC->numa_scan_offset, "#,
            r#"REC->vm_start, REC->vm_end, __print_symbolic(REC->reason, { 0, "unsuitable" }, { 1, "#,
            r#""shared_ro" }, { 2, "inaccessible" }, { 3, "scan_delay" }, { 4, "pid_inactive" }, { "#,
            r#"5, "ignore_pid_inactive" }, { 6, "seq_completed" })"#,
        )
}

shape! {
    SCHED_STAT_BLOCKED {
        (__data_loc char[]) comm = "tsk->comm:string" as TaskName,
        (pid_t) pid = "tsk->pid:s32",
        (u64) delay = "delay:u64",
    }
    concat!(
            r#""comm=%s pid=%d delay=%Lu [ns]", __get_str(comm), REC->pid, (unsigned long "#,
            r#"long)REC->delay"#,
        )
}

shape! {
    SCHED_STAT_RUNTIME {
        (__data_loc char[]) comm = "tsk->comm:string" as TaskName,
        (pid_t) pid = "tsk->pid:s32",
        (u64) runtime = "runtime:u64",
    }
    concat!(
            r#""comm=%s pid=%d runtime=%Lu [ns]", __get_str(comm), REC->pid, (unsigned long "#,
            r#"long)REC->runtime"#,
        )
}

shape! {
    SCHED_SWITCH {
        (char) prev_comm = "prev->comm:string" as TaskName,
        (pid_t) prev_pid = "prev->pid:s32",
        (int) prev_prio = "prev->prio:s32",
        (long) prev_state = "prev->exit_state:s32" as SwitchState,
        (char) next_comm = "next->comm:string" as TaskName,
        (pid_t) next_pid = "next->pid:s32",
        (int) next_prio = "next->prio:s32",
    }
    concat!(
            r#""prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d "#,
            r#"next_prio=%d", REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & "#,
            r#"((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | "#,
            r#"0x00000020 | 0x00000040) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & "#,
            r#"((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | "#,
            r#"0x00000020 | 0x00000040) + 1) << 1) - 1), "|", { 0x00000001, "S" }, { 0x00000002, "#,
            r#""D" }, { 0x00000004, "T" }, { 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "#,
            r#""Z" }, { 0x00000040, "P" }, { 0x00000080, "I" }) : "R", REC->prev_state & "#,
            r#"(((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | "#,
            r#"0x00000020 | 0x00000040) + 1) << 1) ? "+" : "", REC->next_comm, REC->next_pid, "#,
            r#"REC->next_prio"#,
        )
}

shape! {
    SCHED_WAKE_IDLE_WITHOUT_IPI {
        (int) cpu = "cpu:s32",
    }
    r#""cpu=%d", REC->cpu"#
}

shape! {
    SCHED_WAKEUP {
        (char) comm = "p->comm:string" as TaskName,
        (pid_t) pid = "p->pid:s32",
        (int) prio = "p->prio:s32",
        (int) target_cpu = "p->thread_info.cpu:s32",
    }
    concat!(
            r#""comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, "#,
            r#"REC->target_cpu"#,
        )
}

/// The events.
pub(super) const ROWS: &[ReadyRow] = &[
    ReadyRow::new("sched_kthread_stop", &SCHED_KTHREAD_STOP),
    ReadyRow::new("sched_kthread_stop_ret", &SCHED_KTHREAD_STOP_RET),
    ReadyRow::new(
        "sched_kthread_work_execute_end",
        &SCHED_KTHREAD_WORK_EXECUTE_END,
    ),
    ReadyRow::new(
        "sched_kthread_work_execute_start",
        &SCHED_KTHREAD_WORK_EXECUTE_START,
    ),
    ReadyRow::new(
        "sched_kthread_work_queue_work",
        &SCHED_KTHREAD_WORK_QUEUE_WORK,
    ),
    ReadyRow::new("sched_migrate_task", &SCHED_MIGRATE_TASK),
    ReadyRow::new("sched_pi_setprio", &SCHED_PI_SETPRIO),
    ReadyRow::new("sched_prepare_exec", &SCHED_PREPARE_EXEC),
    ReadyRow::new("sched_process_exec", &SCHED_PROCESS_EXEC),
    ReadyRow::new("sched_process_exit", &SCHED_PROCESS_EXIT),
    // In 6.12 the tracepoint has the task alone.
    ReadyRow::new("sched_process_exit", &SCHED_PROCESS_FREE),
    ReadyRow::new("sched_process_fork", &SCHED_PROCESS_FORK),
    ReadyRow::new("sched_process_free", &SCHED_PROCESS_FREE),
    ReadyRow::new("sched_process_hang", &SCHED_PROCESS_HANG),
    ReadyRow::new("sched_process_wait", &SCHED_PROCESS_WAIT),
    ReadyRow::new("sched_skip_vma_numa", &SCHED_SKIP_VMA_NUMA),
    ReadyRow::new("sched_stat_blocked", &SCHED_STAT_BLOCKED),
    ReadyRow::new("sched_stat_iowait", &SCHED_STAT_BLOCKED),
    ReadyRow::new("sched_stat_runtime", &SCHED_STAT_RUNTIME),
    ReadyRow::new("sched_stat_sleep", &SCHED_STAT_BLOCKED),
    ReadyRow::new("sched_stat_wait", &SCHED_STAT_BLOCKED),
    ReadyRow::new("sched_switch", &SCHED_SWITCH),
    ReadyRow::new("sched_wait_task", &SCHED_PROCESS_FREE),
    ReadyRow::new("sched_wake_idle_without_ipi", &SCHED_WAKE_IDLE_WITHOUT_IPI),
    ReadyRow::new("sched_wakeup", &SCHED_WAKEUP),
    ReadyRow::new("sched_wakeup_new", &SCHED_WAKEUP),
    ReadyRow::new("sched_waking", &SCHED_WAKEUP),
];
