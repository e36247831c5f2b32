// SPDX-License-Identifier: GPL-2.0
/* Inlines and macros of the kernel that Rust cannot call, as functions. */

#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/security.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include <linux/vmstat.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#ifdef CONFIG_X86_64
#include <asm/tsc.h>
#endif
#ifdef CONFIG_ARM64
#include <clocksource/arm_arch_timer.h>
#include <asm/arch_timer.h>
#endif

#include "helpers.h"

bool ferroprobe_cpu_possible(unsigned int cpu)
{
	return cpu < nr_cpu_ids && cpu_possible(cpu);
}

bool ferroprobe_cpu_online(unsigned int cpu)
{
	return cpu < nr_cpu_ids && cpu_online(cpu);
}

unsigned long ferroprobe_per_cpu_offset(unsigned int cpu)
{
	return cpu < nr_cpu_ids ? per_cpu_offset(cpu) : 0;
}

void ferroprobe_init_irq_work(struct irq_work *work,
			      void (*func)(struct irq_work *))
{
	init_irq_work(work, func);
}

void ferroprobe_init_waitqueue_head(struct wait_queue_head *queue)
{
	init_waitqueue_head(queue);
}

void ferroprobe_init_delayed_work(struct delayed_work *work,
				  void (*func)(struct work_struct *))
{
	INIT_DELAYED_WORK(work, func);
}

void *ferroprobe_alloc_pages(size_t size)
{
	/* What is kept for DMA is free, but not for the kernel's own pages. */
	long for_movable = global_zone_page_state(NR_FREE_CMA_PAGES);
	size_t available = max(si_mem_available() - for_movable, 0L);

	/*
	 * What is available is an estimate, and taking the last of it ends tasks
	 * whatever the flags: an eighth is left to others.
	 */
	if (size / PAGE_SIZE >= available - available / 8)
		return NULL;
	return __vmalloc(size, GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
}

void ferroprobe_free_pages(void *pages)
{
	vfree(pages);
}

int ferroprobe_kprobes_locked_down(void)
{
	return security_locked_down(LOCKDOWN_KPROBES);
}

void ferroprobe_preempt_disable(void)
{
	preempt_disable();
}

void ferroprobe_preempt_enable(void)
{
	preempt_enable();
}

unsigned long ferroprobe_task_size(void)
{
	return TASK_SIZE_MAX;
}

u64 ferroprobe_local_clock(void)
{
	return local_clock();
}

u64 ferroprobe_uptime(void)
{
	return jiffies_64_to_clock_t(get_jiffies_64() - INITIAL_JIFFIES);
}

u64 ferroprobe_counter_hertz(void)
{
#if defined(CONFIG_X86_64)
	return check_tsc_unstable() ? 0 : tsc_khz * 1000ull;
#elif defined(CONFIG_ARM64)
	char name[KSYM_SYMBOL_LEN];

	/* The kernel reads it by another function where the plain read may err. */
	sprint_symbol_no_offset(name, (unsigned long)arch_timer_read_counter);
	if (strcmp(name, "arch_counter_get_cntvct") && strcmp(name, "arch_counter_get_cntpct"))
		return 0;
	return arch_timer_get_cntfrq();
#else
	return 0;
#endif
}

size_t ferroprobe_iov_iter_count(const struct iov_iter *iter)
{
	return iov_iter_count(iter);
}
