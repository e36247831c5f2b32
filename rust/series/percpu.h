/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between series for per-CPU variables: x86 has some in one structure, up to 6.14. */

#ifndef FERROPROBE_SERIES_PERCPU_H
#define FERROPROBE_SERIES_PERCPU_H

#include <linux/percpu.h>
#include <linux/sched.h>

#ifdef HAVE_pcpu_hot
static const u32 FERROPROBE_TASK_AT = offsetof(struct pcpu_hot, current_task);
static const u32 FERROPROBE_CPU_AT = offsetof(struct pcpu_hot, cpu_number);
static const u32 FERROPROBE_COUNT_AT = offsetof(struct pcpu_hot, preempt_count);
#else
static const u32 FERROPROBE_TASK_AT = 0;
static const u32 FERROPROBE_CPU_AT = 0;
static const u32 FERROPROBE_COUNT_AT = 0;
#endif

/*
 * Returns the address of the pointer to the top of the interrupt stack, among x86's variables of each
 * CPU; @found is that of the symbol of the pointer, 0 if there is none.
 */
static inline u64 ferroprobe_irq_stack_pointer(u64 found)
{
#ifdef HAVE_pcpu_hot
	return (unsigned long)&pcpu_hot.hardirq_stack_ptr;
#else
	return found;
#endif
}

#endif
