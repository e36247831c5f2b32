// SPDX-License-Identifier: GPL-2.0
/* mkdir returns the entry, or an error as a pointer: in 7.2; 6.12 has an int. */
#include <linux/fs.h>

static struct dentry *make(struct mnt_idmap *idmap, struct inode *dir, struct dentry *entry,
			   umode_t mode)
{
	return NULL;
}

const struct inode_operations operations = { .mkdir = make };
