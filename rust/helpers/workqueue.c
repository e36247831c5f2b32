// SPDX-License-Identifier: GPL-2.0

#include <linux/workqueue.h>

void ferroprobe_init_delayed_work(struct delayed_work *work,
				  void (*func)(struct work_struct *))
{
	INIT_DELAYED_WORK(work, func);
}
