// SPDX-License-Identifier: GPL-2.0
/* A timer is initialised together with its function: in 7.2, not in 6.12. */
#include <linux/hrtimer.h>

void set_up(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *))
{
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}
