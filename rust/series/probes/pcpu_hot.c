// SPDX-License-Identifier: GPL-2.0
/* x86 has the task, the number and the preemption counter of a CPU in one structure: in 6.12. */
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/stddef.h>

unsigned long of_task(void)
{
	return offsetof(struct pcpu_hot, current_task) + (unsigned long)&pcpu_hot;
}
