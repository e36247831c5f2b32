// SPDX-License-Identifier: GPL-2.0

#include <linux/irq_work.h>

void ferroprobe_init_hard_irq_work(struct irq_work *work,
				   void (*func)(struct irq_work *))
{
	/*
	 * Without PREEMPT_RT, plain irq_work runs in the interrupt too, and lockdep checks
	 * its locks.
	 */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		*work = IRQ_WORK_INIT_HARD(func);
	else
		init_irq_work(work, func);
}
