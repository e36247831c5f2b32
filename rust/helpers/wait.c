// SPDX-License-Identifier: GPL-2.0

#include <linux/wait.h>

void ferroprobe_init_waitqueue_head(struct wait_queue_head *queue)
{
	init_waitqueue_head(queue);
}
