// SPDX-License-Identifier: GPL-2.0
/*
 * Probes of tracepoints run with preemption enabled, and those that may sleep are waited for by
 * SRCU: in 7.2, not in 6.12.
 */
#include <linux/sched.h>
#include <linux/srcu.h>
#include <linux/rcupdate_trace.h>

unsigned long state(void)
{
	return start_poll_synchronize_srcu(&rcu_tasks_trace_srcu_struct);
}
