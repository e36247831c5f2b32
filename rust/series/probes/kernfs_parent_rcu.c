// SPDX-License-Identifier: GPL-2.0
/* The parent of a node of kernfs is read under RCU: in 7.2, not in 6.12. */
#include <linux/kernfs.h>

const void *parent(const struct kernfs_node *node)
{
	return node->__parent;
}
