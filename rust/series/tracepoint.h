/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between series for tracepoints: which of them may sleep, and how their probes are
 * waited for. */

#ifndef FERROPROBE_SERIES_TRACEPOINT_H
#define FERROPROBE_SERIES_TRACEPOINT_H

#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/srcu.h>
#include <linux/tracepoint.h>

#ifndef HAVE_tracepoint_is_faultable
static inline bool tracepoint_is_faultable(const struct tracepoint *point)
{
	return false;
}
#endif

/* What the preemption counter has more in a probe than at the tracepoint. */
#ifdef HAVE_tasks_trace_srcu
static const u32 FERROPROBE_TRACEPOINT_OFFSET = 0;
#else
static const u32 FERROPROBE_TRACEPOINT_OFFSET = PREEMPT_DISABLE_OFFSET;
#endif

/* Waits for the probes that do not sleep. */
static inline void ferroprobe_wait_for_probes(void)
{
#ifdef HAVE_tasks_trace_srcu
	synchronize_srcu(&tracepoint_srcu);
#else
	/* Preemption is disabled while they run: tracepoint_srcu, which these kernels have as well,
	 * is for others. */
	tracepoint_synchronize_unregister();
#endif
}

#endif
