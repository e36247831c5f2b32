// SPDX-License-Identifier: GPL-2.0
/* Handlers of uprobes get a word that the call keeps for its return: in 6.13. */
#include <linux/uprobes.h>

static int handler(struct uprobe_consumer *self, struct pt_regs *regs, __u64 *data)
{
	return 0;
}

struct uprobe_consumer consumer = { .handler = handler };
