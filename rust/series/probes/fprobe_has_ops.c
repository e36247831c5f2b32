// SPDX-License-Identifier: GPL-2.0
/* Each fprobe has an ftrace_ops of its own: in 6.12, not in 7.2. */
#include <linux/fprobe.h>

struct ftrace_ops *ops_of(struct fprobe *probe)
{
	return &probe->ops;
}
