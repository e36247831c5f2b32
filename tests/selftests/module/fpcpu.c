// SPDX-License-Identifier: GPL-2.0
/*
 * A module that shows what a CPU does around its going offline.  Parameters:
 *
 *   irq_work   writing a CPU's number queues irq_work there; fails unless it runs
 *   slow       milliseconds that a CPU stays, when it goes offline, where RCU waits
 *              for it no more and it has not yet said that it is dead
 *   staying    whether a CPU is there
 */

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/processor.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

static DECLARE_COMPLETION(has_run);

static void run(struct irq_work *work)
{
	complete(&has_run);
}

static struct irq_work work = IRQ_WORK_INIT(run);

static long queue(void *unused)
{
	irq_work_queue(&work);
	return 0;
}

static int set_irq_work(const char *text, const struct kernel_param *param)
{
	unsigned int cpu;
	int error = kstrtouint(text, 0, &cpu);

	if (error)
		return error;
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -ENODEV;
	reinit_completion(&has_run);
	work_on_cpu(cpu, queue, NULL);
	return wait_for_completion_interruptible_timeout(&has_run, 2 * HZ) > 0 ? 0 : -ETIMEDOUT;
}

static const struct kernel_param_ops irq_work_ops = { .set = set_irq_work };
module_param_cb(irq_work, &irq_work_ops, NULL, 0200);

static unsigned int slow;
module_param(slow, uint, 0600);
static bool staying;
module_param(staying, bool, 0400);

/* The first of what follows rcutree_report_cpu_dead() on both architectures. */
static int stay(struct kprobe *probe, struct pt_regs *regs)
{
	/* mdelay() waits for each millisecond, and an emulated CPU may be paused in each of them. */
	u64 end = ktime_get_mono_fast_ns() + slow * (u64)NSEC_PER_MSEC;

	if (slow) {
		WRITE_ONCE(staying, true);
		while (ktime_get_mono_fast_ns() < end)
			cpu_relax();
		WRITE_ONCE(staying, false);
	}
	return 0;
}

static struct kprobe probe = { .symbol_name = "cpuhp_ap_report_dead", .pre_handler = stay };

static int __init fpcpu_init(void)
{
	return register_kprobe(&probe);
}
module_init(fpcpu_init);

static void __exit fpcpu_exit(void)
{
	unregister_kprobe(&probe);
	irq_work_sync(&work);
}
module_exit(fpcpu_exit);

MODULE_DESCRIPTION("What a CPU does around its going offline");
MODULE_LICENSE("GPL");
