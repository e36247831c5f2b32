// SPDX-License-Identifier: GPL-2.0

#include <linux/preempt.h>

void ferroprobe_preempt_disable(void)
{
	preempt_disable();
}

void ferroprobe_preempt_enable(void)
{
	preempt_enable();
}

void ferroprobe_preempt_enable_notrace(void)
{
	preempt_enable_notrace();
}
