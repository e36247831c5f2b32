// SPDX-License-Identifier: GPL-2.0

#include <linux/sched.h>
#include <linux/sched/signal.h>

void ferroprobe_cond_resched(void)
{
	cond_resched();
}

bool ferroprobe_fatal_signal_pending(void)
{
	return fatal_signal_pending(current);
}
