// SPDX-License-Identifier: GPL-2.0
/* The table of system calls says which arguments are text in user memory: in 7.2, not in 6.12. */
#include <linux/trace_events.h>
#include <trace/syscall.h>

unsigned long masked(const struct syscall_metadata *call)
{
	return call->user_mask;
}
