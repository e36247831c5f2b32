// SPDX-License-Identifier: GPL-2.0
/*
 * One function that is called in each kind of context.  Parameters:
 *
 *   counts   reads "Y" if the kernel counts how often preemption is disabled
 *   run   writing "task", "irqs", "preempt", "resched", "softirq", "hardirq" or "nmi" calls
 *         fpcontext_hit() there, on top of the writing task: "irqs" with interrupts disabled,
 *         "resched" while another task waits for the processor; EOPNOTSUPP where this machine has
 *         no such context
 */

#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>
#ifdef CONFIG_X86_64
#include <asm/apic.h>
#include <asm/nmi.h>
#endif

#include "declare_trace.h"

DECLARE_TRACE_TP(fpcontext_point, TP_PROTO(int value), TP_ARGS(value));
DEFINE_TRACE(fpcontext_point_tp, TP_PROTO(int value), TP_ARGS(value));

noinline int fpcontext_hit(int value);
noinline __noclone int fpcontext_hit(int value)
{
#ifdef CONFIG_X86_64
	/* A jump, which takes five bytes, has room in front of the second and of the third. */
	asm volatile("movl $1, %%eax\n\tmovl $2, %%eax\n\tmovl $3, %%eax\n\tmovl $4, %%eax" ::: "eax");
#endif
	trace_fpcontext_point_tp(value);
	asm volatile("" : "+r"(value));
	return value + 1;
}

static DECLARE_COMPLETION(done);

static void hit_and_tell(void)
{
	fpcontext_hit(0);
	complete(&done);
}

static void in_hardirq_work(struct irq_work *work)
{
	hit_and_tell();
}

static void in_softirq_work(struct tasklet_struct *work)
{
	hit_and_tell();
}

static struct irq_work hard;
static DECLARE_TASKLET(soft, in_softirq_work);

#ifdef CONFIG_X86_64
static int nmi_wanted;

static int in_nmi_handler(unsigned int type, struct pt_regs *regs)
{
	if (!xchg(&nmi_wanted, 0))
		return NMI_DONE;
	fpcontext_hit(0);
	WRITE_ONCE(nmi_wanted, -1);
	return NMI_HANDLED;
}

static int run_nmi(void)
{
	int error = register_nmi_handler(NMI_LOCAL, in_nmi_handler, 0, "fpcontext");

	if (error)
		return error;
	preempt_disable();
	WRITE_ONCE(nmi_wanted, 1);
	apic->send_IPI(smp_processor_id(), NMI_VECTOR);
	while (READ_ONCE(nmi_wanted) != -1)
		cpu_relax();
	WRITE_ONCE(nmi_wanted, 0);
	preempt_enable();
	unregister_nmi_handler(NMI_LOCAL, "fpcontext");
	return 0;
}
#else
static int run_nmi(void)
{
	return -EOPNOTSUPP;
}
#endif

static int set_run(const char *text, const struct kernel_param *param)
{
	unsigned long flags;

	reinit_completion(&done);
	if (sysfs_streq(text, "task")) {
		fpcontext_hit(0);
	} else if (sysfs_streq(text, "irqs")) {
		local_irq_save(flags);
		fpcontext_hit(0);
		local_irq_restore(flags);
	} else if (sysfs_streq(text, "resched")) {
		preempt_disable();
		set_tsk_thread_flag(current, TIF_NEED_RESCHED);
		set_preempt_need_resched();
		fpcontext_hit(0);
		preempt_enable();
	} else if (sysfs_streq(text, "preempt")) {
		preempt_disable();
		fpcontext_hit(0);
		preempt_enable();
	} else if (sysfs_streq(text, "softirq")) {
		/* Enabling them serves this one at once. */
		local_bh_disable();
		tasklet_schedule(&soft);
		local_bh_enable();
		wait_for_completion(&done);
	} else if (sysfs_streq(text, "hardirq")) {
		preempt_disable();
		irq_work_queue(&hard);
		while (!completion_done(&done))
			cpu_relax();
		preempt_enable();
	} else if (sysfs_streq(text, "nmi")) {
		return run_nmi();
	} else {
		return -EINVAL;
	}
	return 0;
}

static const struct kernel_param_ops run_ops = { .set = set_run };
module_param_cb(run, &run_ops, NULL, 0200);

static bool counts = IS_ENABLED(CONFIG_PREEMPT_COUNT);
module_param(counts, bool, 0444);

static int __init fpcontext_init(void)
{
	/* Also where others are run by a thread. */
	hard = IRQ_WORK_INIT_HARD(in_hardirq_work);
	return 0;
}
module_init(fpcontext_init);

static void __exit fpcontext_exit(void)
{
	irq_work_sync(&hard);
	tasklet_kill(&soft);
}
module_exit(fpcontext_exit);

MODULE_DESCRIPTION("A function in each kind of context");
MODULE_LICENSE("GPL");
