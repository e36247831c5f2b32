/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Input for bindgen, which generates the bindings that kernel::bindings lacks;
 * bindgen_parameters selects the items.
 */

#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/fprobe.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/splice.h>
#include <linux/thread_info.h>
#include <linux/trace_recursion.h>
#include "arch/bindings.h"
#include "helpers.h"
#include "series/fprobe.h"
#include "series/percpu.h"
#include "series/tracepoint.h"

/* Macros that bindgen cannot evaluate; 0 if this kernel lacks the macro. */
static const u32 FERROPROBE_PREEMPT_MASK = PREEMPT_MASK;
static const u32 FERROPROBE_PREEMPT_OFFSET = PREEMPT_DISABLE_OFFSET;
static const u32 FERROPROBE_SOFTIRQ_MASK = SOFTIRQ_MASK;
static const u32 FERROPROBE_SOFTIRQ_OFFSET = SOFTIRQ_OFFSET;
static const u32 FERROPROBE_HARDIRQ_MASK = HARDIRQ_MASK;
static const u32 FERROPROBE_HARDIRQ_OFFSET = HARDIRQ_OFFSET;
static const u32 FERROPROBE_NMI_OFFSET = NMI_OFFSET;
static const u32 FERROPROBE_NMI_MASK = NMI_MASK;
static const u32 FERROPROBE_MAX_DATA_SIZE = KRETPROBE_MAX_DATA_SIZE;
static const u32 FERROPROBE_DENTRY_NAME = offsetof(struct dentry, d_name.name);
static const u32 FERROPROBE_FILE_DENTRY = offsetof(struct file, f_path.dentry);
static const u32 FERROPROBE_SYMBOL_LEN = KSYM_SYMBOL_LEN;
/* In Linux 7.2, bindgen gives this name the value of VM_MAYEXEC. */
static const u64 FERROPROBE_VM_MAYSHARE = VM_MAYSHARE;
static const u32 FERROPROBE_SPLICE_NONBLOCK = SPLICE_F_NONBLOCK;
static const u32 FERROPROBE_MODE_PWRITE = (__force u32)FMODE_PWRITE;
/*
 * The bit of task_struct::trace_recursion that ftrace sets while it calls its list of tracers
 * outside of interrupts.  In a softirq, an interrupt or an NMI it sets a lower bit, by the level.
 */
#ifdef CONFIG_TRACING
static const u32 FERROPROBE_TRACE_LIST_BIT = TRACE_LIST_START + TRACE_CTX_NORMAL;
#else
static const u32 FERROPROBE_TRACE_LIST_BIT = 0;
#endif
#ifdef CONFIG_FUNCTION_TRACER
static const u32 FERROPROBE_OPS_PRIVATE = offsetof(struct ftrace_ops, private);
#else
static const u32 FERROPROBE_OPS_PRIVATE = 0;
#endif
static const u32 FERROPROBE_FPROBE_SIZE = sizeof(struct fprobe);
static const u32 FERROPROBE_FPROBE_EXIT = offsetof(struct fprobe, exit_handler);
static const u32 FERROPROBE_FPROBE_WORDS = MAX_FPROBE_DATA_SIZE_WORD;
static const u64 FERROPROBE_NEED_RESCHED = 1UL << TIF_NEED_RESCHED;
static const u64 FERROPROBE_THREAD_SIZE = THREAD_SIZE;
#ifdef CONFIG_ARCH_HAS_PREEMPT_LAZY
static const u64 FERROPROBE_NEED_RESCHED_LAZY = 1UL << TIF_NEED_RESCHED_LAZY;
#else
static const u64 FERROPROBE_NEED_RESCHED_LAZY = 0;
#endif
