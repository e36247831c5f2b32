// SPDX-License-Identifier: GPL-2.0
/* The operations of entries are set by a function: in 7.2, not in 6.12. */
#include <linux/dcache.h>
#include <linux/fs.h>

void set(struct super_block *sb, const struct dentry_operations *operations)
{
	set_default_d_op(sb, operations);
}
