// SPDX-License-Identifier: GPL-2.0

#include <linux/jiffies.h>

u64 ferroprobe_uptime(void)
{
	return jiffies_64_to_clock_t(get_jiffies_64() - INITIAL_JIFFIES);
}
