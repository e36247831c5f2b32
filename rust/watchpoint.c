// SPDX-License-Identifier: GPL-2.0
/*
 * Watchpoints: the debug registers of each CPU, by an event of perf on each.
 *
 * register_wide_hw_breakpoint() would make events on the CPUs that are online, and on none that come
 * online later.
 *
 * They take their registers when they are made, so that a definition that is accepted can be armed.
 */

#include <linux/cpu.h>
#include <linux/hw_breakpoint.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "arch/watch.h"
#include "interrupt.h"

#ifdef CAN_WATCH

struct watch {
	struct ferroprobe_interrupts interrupts;
	struct perf_event *__percpu *events;
	/* The accesses that could not be reported. */
	u64 __percpu *missed;
	/* Protects the events, and their state. */
	struct mutex lock;
	bool is_armed;
	u64 address;
	u32 length;
	u32 type;
};

static struct watch *watch_of(struct ferroprobe_interrupts *interrupts)
{
	return container_of(interrupts, struct watch, interrupts);
}

/* Interrupts are disabled, and so are the debug registers of this CPU. */
static void accessed(struct perf_event *event, struct perf_sample_data *sample,
		     struct pt_regs *regs)
{
	struct watch *watch = event->overflow_handler_context;
	u64 value = 0;

	/* User space cannot access it; the processor may on its behalf, and enters otherwise. */
	if (user_mode(regs)) {
		this_cpu_inc(*watch->missed);
		return;
	}
	if (watch->type != HW_BREAKPOINT_X) {
		switch (watch->length) {
		case 1:
			__get_kernel_nofault(&value, (u8 *)watch->address, u8, done);
			break;
		case 2:
			__get_kernel_nofault(&value, (u16 *)watch->address, u16, done);
			break;
		case 4:
			__get_kernel_nofault(&value, (u32 *)watch->address, u32, done);
			break;
		default:
			__get_kernel_nofault(&value, (u64 *)watch->address, u64, done);
		}
	}
done:
	watch->interrupts.hit(watch->interrupts.data, regs, watch->address, value);
}

static int watch_start(struct ferroprobe_interrupts *interrupts, unsigned int cpu)
{
	struct watch *watch = watch_of(interrupts);
	struct perf_event_attr attr;
	struct perf_event *event;
	int result = 0;

	hw_breakpoint_init(&attr);
	attr.bp_addr = watch->address;
	attr.bp_len = watch->length;
	attr.bp_type = watch->type;
	mutex_lock(&watch->lock);
	attr.disabled = !watch->is_armed;
	event = perf_event_create_kernel_counter(&attr, cpu, NULL, accessed, watch);
	if (!IS_ERR(event))
		*per_cpu_ptr(watch->events, cpu) = event;
	else if (cpu_active(cpu))
		result = PTR_ERR(event);
	/* Otherwise the CPU is coming online, and comes without it. */
	mutex_unlock(&watch->lock);
	return result;
}

static void watch_stop(struct ferroprobe_interrupts *interrupts, unsigned int cpu)
{
	struct watch *watch = watch_of(interrupts);
	struct perf_event *event;

	mutex_lock(&watch->lock);
	event = xchg(per_cpu_ptr(watch->events, cpu), NULL);
	if (event)
		perf_event_release_kernel(event);
	mutex_unlock(&watch->lock);
}

static int watch_set_armed(struct ferroprobe_interrupts *interrupts, bool armed)
{
	struct watch *watch = watch_of(interrupts);
	struct perf_event *event;
	unsigned int cpu;

	cpus_read_lock();
	mutex_lock(&watch->lock);
	watch->is_armed = armed;
	for_each_online_cpu(cpu) {
		event = *per_cpu_ptr(watch->events, cpu);
		if (!event)
			continue;
		if (armed)
			perf_event_enable(event);
		else
			perf_event_disable(event);
	}
	mutex_unlock(&watch->lock);
	cpus_read_unlock();
	return 0;
}

static void watch_release(struct ferroprobe_interrupts *interrupts)
{
	struct watch *watch = watch_of(interrupts);

	free_percpu(watch->missed);
	free_percpu(watch->events);
	kfree(watch);
}

static u64 watch_missed(struct ferroprobe_interrupts *interrupts)
{
	u64 missed = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		missed += READ_ONCE(*per_cpu_ptr(watch_of(interrupts)->missed, cpu));
	return missed;
}

static const struct ferroprobe_interrupts_type watch_type = {
	.set_armed = watch_set_armed,
	.start = watch_start,
	.stop = watch_stop,
	.release = watch_release,
	.missed = watch_missed,
};

static u32 type_of(u32 access)
{
	switch (access) {
	case FERROPROBE_WATCH_WRITE:
		return HW_BREAKPOINT_W;
	case FERROPROBE_WATCH_EXECUTE:
		return HW_BREAKPOINT_X;
	default:
		return HW_BREAKPOINT_RW;
	}
}

struct ferroprobe_interrupts *ferroprobe_watch(u64 address, u32 length, u32 access,
					       ferroprobe_interrupt_fn hit, void *data, int *error)
{
	struct watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL);

	*error = -ENOMEM;
	if (!watch)
		return NULL;
	watch->interrupts = (struct ferroprobe_interrupts){
		.type = &watch_type,
		.hit = hit,
		.data = data,
	};
	mutex_init(&watch->lock);
	watch->address = address;
	watch->length = length;
	watch->type = type_of(access);
	watch->events = alloc_percpu(struct perf_event *);
	watch->missed = alloc_percpu(u64);
	if (watch->events && watch->missed)
		*error = ferroprobe_interrupts_add(&watch->interrupts);
	if (!*error)
		return &watch->interrupts;
	watch_release(&watch->interrupts);
	return NULL;
}

#else

struct ferroprobe_interrupts *ferroprobe_watch(u64 address, u32 length, u32 access,
					       ferroprobe_interrupt_fn hit, void *data, int *error)
{
	*error = -EOPNOTSUPP;
	return NULL;
}

#endif
