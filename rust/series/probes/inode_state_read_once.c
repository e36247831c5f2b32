// SPDX-License-Identifier: GPL-2.0
/* The state of an inode is read by a function: in 7.2, not in 6.12. */
#include <linux/fs.h>

bool is_new(struct inode *inode)
{
	return inode_state_read_once(inode) & I_NEW;
}
