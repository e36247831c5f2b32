// SPDX-License-Identifier: GPL-2.0
/* Wrappers for the kernel's tracepoints, also in kernels without any. */

#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/rcupdate_trace.h>
#include <linux/sched/signal.h>
#include <linux/srcu.h>
#include <linux/tracepoint.h>

#include "helpers.h"
#include "series/tracepoint.h"

int ferroprobe_tracepoints_supported(void)
{
	/*
	 * With CFI the kernel checks the type of a function that it calls by a pointer, so a probe
	 * must have the type of its tracepoint.  Ours have one type for all.  So the tracepoint's
	 * own empty function is registered, and ftrace reports it.
	 */
	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		return -ENOENT;
	if (IS_ENABLED(CONFIG_CFI) && ferroprobe_functions_supported())
		return -EOPNOTSUPP;
	return 0;
}

#ifdef CONFIG_TRACEPOINTS

/* The arguments of visit_one(). */
struct visit {
	void (*visit)(struct tracepoint *point, const char *name, u64 stub, u64 iterator,
		      void *data);
	void *data;
};

static void visit_one(struct tracepoint *point, void *data)
{
	struct visit *each = data;

	each->visit(point, point->name, (unsigned long)point->probestub,
		    (unsigned long)point->iterator, each->data);
}

void ferroprobe_each_tracepoint(struct module *module,
				void (*visit)(struct tracepoint *point, const char *name,
					      u64 stub, u64 iterator, void *data),
				void *data)
{
	struct visit each = { visit, data };

	if (!module)
		return for_each_kernel_tracepoint(visit_one, &each);
	for (unsigned int i = 0; i < module->num_tracepoints; i++)
		visit_one(tracepoint_ptr_deref(&module->tracepoints_ptrs[i]), &each);
}

int ferroprobe_tracepoint_register(struct tracepoint *point, void *probe, void *data)
{
	return tracepoint_probe_register(point, probe, data);
}

void ferroprobe_tracepoint_unregister(struct tracepoint *point, void *probe, void *data)
{
	tracepoint_probe_unregister(point, probe, data);
}

bool ferroprobe_tracepoint_is_faultable(const struct tracepoint *point)
{
	return tracepoint_is_faultable((struct tracepoint *)point);
}

void ferroprobe_tracepoints_synchronize(bool faultable)
{
	if (faultable)
		tracepoint_synchronize_unregister();
	else
		ferroprobe_wait_for_probes();
}

#ifdef HAVE_tasks_trace_srcu

bool ferroprobe_wait_for_faultable_probes(void)
{
	unsigned long state = start_poll_synchronize_srcu(&rcu_tasks_trace_srcu_struct);
	/*
	 * If no probe sleeps, the grace period takes up to 450 ms under emulation, with two busy
	 * processes on each CPU.  With this limit a write ends within a second.  The loop measures
	 * time, as a sleep takes up to two ticks longer than requested.
	 */
	unsigned long end = jiffies + HZ / 2;

	while (time_before(jiffies, end)) {
		if (poll_state_synchronize_srcu(&rcu_tasks_trace_srcu_struct, state))
			return true;
		if (fatal_signal_pending(current))
			break;
		msleep(10);
	}
	return poll_state_synchronize_srcu(&rcu_tasks_trace_srcu_struct, state);
}

#else

/* No tracepoint has probes that sleep. */
bool ferroprobe_wait_for_faultable_probes(void)
{
	return true;
}

#endif

int ferroprobe_watch_tracepoints(struct notifier_block *block)
{
	return register_tracepoint_module_notifier(block);
}

void ferroprobe_unwatch_tracepoints(struct notifier_block *block)
{
	unregister_tracepoint_module_notifier(block);
}

struct module *ferroprobe_tracepoints_module(void *notification)
{
#ifdef CONFIG_MODULES
	return ((struct tp_module *)notification)->mod;
#else
	return NULL;
#endif
}

#else

void ferroprobe_each_tracepoint(struct module *module,
				void (*visit)(struct tracepoint *point, const char *name,
					      u64 stub, u64 iterator, void *data),
				void *data)
{
}

int ferroprobe_tracepoint_register(struct tracepoint *point, void *probe, void *data)
{
	return -ENOSYS;
}

void ferroprobe_tracepoint_unregister(struct tracepoint *point, void *probe, void *data)
{
}

bool ferroprobe_tracepoint_is_faultable(const struct tracepoint *point)
{
	return false;
}

void ferroprobe_tracepoints_synchronize(bool faultable)
{
}

bool ferroprobe_wait_for_faultable_probes(void)
{
	return true;
}

int ferroprobe_watch_tracepoints(struct notifier_block *block)
{
	return 0;
}

void ferroprobe_unwatch_tracepoints(struct notifier_block *block)
{
}

struct module *ferroprobe_tracepoints_module(void *notification)
{
	return NULL;
}

#endif
