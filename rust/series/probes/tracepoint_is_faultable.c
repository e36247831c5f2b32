// SPDX-License-Identifier: GPL-2.0
/* Probes of some tracepoints may sleep: in 7.2, not in 6.12. */
#include <linux/tracepoint.h>

bool may_sleep(struct tracepoint *point)
{
	return tracepoint_is_faultable(point);
}
