// SPDX-License-Identifier: GPL-2.0
/* The callbacks of an fprobe get struct ftrace_regs: in 7.2, not in 6.12. */
#include <linux/fprobe.h>

static int enter(struct fprobe *probe, unsigned long ip, unsigned long parent,
		 struct ftrace_regs *regs, void *data)
{
	return 0;
}

struct fprobe probe = { .entry_handler = enter };
