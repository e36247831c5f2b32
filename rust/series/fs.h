/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between series for file systems. */

#ifndef FERROPROBE_SERIES_FS_H
#define FERROPROBE_SERIES_FS_H

#include <linux/dcache.h>
#include <linux/fs.h>

#ifdef HAVE_mkdir_returns_dentry
#define ferroprobe_made struct dentry *
#define ferroprobe_made_of(error) ERR_PTR(error)
#define ferroprobe_made_as(inode, entry) (IS_ERR(inode) ? NULL : d_splice_alias(inode, entry))
#else
/* An error number. */
#define ferroprobe_made int
#define ferroprobe_made_of(error) (error)

/* The entry stays without an inode: the next lookup finds it. */
static inline int ferroprobe_made_as(struct inode *inode, struct dentry *entry)
{
	if (!IS_ERR(inode))
		iput(inode);
	return 0;
}
#endif

#ifdef HAVE_revalidate_has_name
#define FERROPROBE_REVALIDATED struct inode *dir, const struct qstr *name, struct dentry *dentry
#else
#define FERROPROBE_REVALIDATED struct dentry *dentry
#endif

#ifndef HAVE_inode_state_read_once
static inline unsigned long inode_state_read_once(const struct inode *inode)
{
	return READ_ONCE(inode->i_state);
}
#endif

#ifndef HAVE_inode_just_drop
#define inode_just_drop generic_delete_inode
#endif

#ifndef HAVE_set_default_d_op
static inline void set_default_d_op(struct super_block *sb,
				    const struct dentry_operations *operations)
{
	sb->s_d_op = operations;
}
#endif

#endif
