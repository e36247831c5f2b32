// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts that report what they interrupt: on each CPU, also on those that come online later.
 * The timers.
 *
 * A timer of the kernel (hrtimer) on each CPU, and not the event cpu-clock of perf: that has such a
 * timer itself, and between it and the handler a sample's bookkeeping, and a limit of samples.
 */

#include <linux/cpuhotplug.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <asm/irq_regs.h>

#include "interrupt.h"
#include "series/hrtimer.h"

/* Protects what follows, and is_added. */
static DEFINE_MUTEX(added_lock);
static enum cpuhp_state state;
static unsigned int added;

static struct ferroprobe_interrupts *of(struct hlist_node *node)
{
	return container_of(node, struct ferroprobe_interrupts, node);
}

static int cpu_came(unsigned int cpu, struct hlist_node *node)
{
	return of(node)->type->start(of(node), cpu);
}

static int cpu_goes(unsigned int cpu, struct hlist_node *node)
{
	of(node)->type->stop(of(node), cpu);
	return 0;
}

int ferroprobe_interrupts_add(struct ferroprobe_interrupts *interrupts)
{
	int result = 0;

	mutex_lock(&added_lock);
	if (!added) {
		result = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "ferroprobe:interrupts",
						 cpu_came, cpu_goes);
		if (result < 0)
			goto unlock;
		state = result;
	}
	added++;
	result = cpuhp_state_add_instance(state, &interrupts->node);
	interrupts->is_added = !result;
	if (result && !--added)
		cpuhp_remove_multi_state(state);
unlock:
	mutex_unlock(&added_lock);
	return result;
}

void ferroprobe_interrupts_remove(struct ferroprobe_interrupts *interrupts)
{
	mutex_lock(&added_lock);
	if (interrupts->is_added) {
		interrupts->is_added = false;
		cpuhp_state_remove_instance(state, &interrupts->node);
		if (!--added)
			cpuhp_remove_multi_state(state);
	}
	mutex_unlock(&added_lock);
}

int ferroprobe_interrupts_arm(struct ferroprobe_interrupts *interrupts, bool armed)
{
	return interrupts->type->set_armed(interrupts, armed);
}

void ferroprobe_interrupts_free(struct ferroprobe_interrupts *interrupts)
{
	ferroprobe_interrupts_remove(interrupts);
	interrupts->type->release(interrupts);
}

u64 ferroprobe_interrupts_missed(struct ferroprobe_interrupts *interrupts)
{
	return interrupts->type->missed ? interrupts->type->missed(interrupts) : 0;
}

/* The timer of a CPU. */
struct ticker {
	struct hrtimer timer;
	struct ticks *ticks;
	/* Ticks that came too late to be told from the next one. */
	u64 missed;
};

struct ticks {
	struct ferroprobe_interrupts interrupts;
	struct ticker __percpu *tickers;
	ktime_t period;
};

static struct ticks *ticks_of(struct ferroprobe_interrupts *interrupts)
{
	return container_of(interrupts, struct ticks, interrupts);
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct ticker *ticker = container_of(timer, struct ticker, timer);
	struct ticks *ticks = ticker->ticks;
	struct pt_regs *regs = get_irq_regs();
	u64 missed = 0;

	if (likely(regs))
		ticks->interrupts.hit(ticks->interrupts.data, regs, user_mode(regs),
				      is_idle_task(current));
	else
		missed = 1;
	/* At least 1, as the timer has expired. */
	missed += hrtimer_forward_now(timer, ticks->period) - 1;
	if (unlikely(missed))
		WRITE_ONCE(ticker->missed, ticker->missed + missed);
	return HRTIMER_RESTART;
}

static int ticks_start(struct ferroprobe_interrupts *interrupts, unsigned int cpu)
{
	struct ticks *ticks = ticks_of(interrupts);
	struct ticker *ticker = per_cpu_ptr(ticks->tickers, cpu);

	ticker->ticks = ticks;
	hrtimer_setup(&ticker->timer, tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&ticker->timer, ticks->period, HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

static void ticks_stop(struct ferroprobe_interrupts *interrupts, unsigned int cpu)
{
	/* Waits until the tick does not run. */
	hrtimer_cancel(&per_cpu_ptr(ticks_of(interrupts)->tickers, cpu)->timer);
}

static int ticks_set_armed(struct ferroprobe_interrupts *interrupts, bool armed)
{
	if (armed)
		return ferroprobe_interrupts_add(interrupts);
	ferroprobe_interrupts_remove(interrupts);
	return 0;
}

static void ticks_release(struct ferroprobe_interrupts *interrupts)
{
	struct ticks *ticks = ticks_of(interrupts);

	free_percpu(ticks->tickers);
	kfree(ticks);
}

static u64 ticks_missed(struct ferroprobe_interrupts *interrupts)
{
	u64 missed = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		missed += READ_ONCE(per_cpu_ptr(ticks_of(interrupts)->tickers, cpu)->missed);
	return missed;
}

static const struct ferroprobe_interrupts_type ticks_type = {
	.set_armed = ticks_set_armed,
	.start = ticks_start,
	.stop = ticks_stop,
	.release = ticks_release,
	.missed = ticks_missed,
};

struct ferroprobe_interrupts *ferroprobe_ticks(u64 period, ferroprobe_interrupt_fn hit, void *data)
{
	struct ticks *ticks = kzalloc(sizeof(*ticks), GFP_KERNEL);

	if (!ticks)
		return NULL;
	ticks->tickers = alloc_percpu(struct ticker);
	if (!ticks->tickers) {
		kfree(ticks);
		return NULL;
	}
	ticks->interrupts = (struct ferroprobe_interrupts){
		.type = &ticks_type,
		.hit = hit,
		.data = data,
	};
	ticks->period = ns_to_ktime(period);
	return &ticks->interrupts;
}
