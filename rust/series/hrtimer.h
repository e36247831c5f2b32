/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between series for timers. */

#ifndef FERROPROBE_SERIES_HRTIMER_H
#define FERROPROBE_SERIES_HRTIMER_H

#include <linux/hrtimer.h>

#ifndef HAVE_hrtimer_setup
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#endif
