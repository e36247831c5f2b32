// SPDX-License-Identifier: GPL-2.0
/*
 * A directory in debugfs in which users make and remove directories, by mkdir(2) and rmdir(2).
 * debugfs has no such directories, unlike the module's own file system.  But the VFS calls the
 * operations of a directory's inode, and a module may replace these for its own directory.
 *
 * The VFS calls these operations with the inode of the directory locked.  They hold a reference to
 * the module while the inode is unlocked.  When the module is unloaded, its exit function restores
 * the former operations with the inode locked: no task is in the new ones then, and none enters
 * them any more.
 */

#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "node.h"
#include "series/fs.h"

/* The directory's own operations, of debugfs.  There is only one such directory. */
static const struct inode_operations *former;
static struct inode_operations operations;

/* As in tracefs, the directory is unlocked: the functions that this calls lock it. */
static ferroprobe_made make(struct mnt_idmap *idmap, struct inode *inode,
			    struct dentry *dentry, umode_t mode)
{
	struct ferroprobe_user_dir *dir = inode->i_private;
	struct name_snapshot name;
	int failed;

	if (!ferroprobe_is_loaded() || !try_module_get(THIS_MODULE))
		return ferroprobe_made_of(-ENODEV);
	take_dentry_name_snapshot(&name, dentry);
	inode_unlock(inode);
	failed = dir->make(dir, name.name.name);
	inode_lock_nested(inode, I_MUTEX_PARENT);
	release_dentry_name_snapshot(&name);
	module_put(THIS_MODULE);
	return ferroprobe_made_of(failed);
}

static int remove(struct inode *inode, struct dentry *dentry)
{
	struct ferroprobe_user_dir *dir = inode->i_private;
	/* The caller's reference to the dentry keeps the inode. */
	struct inode *removed = d_inode(dentry);
	struct name_snapshot name;
	int failed;

	if (!ferroprobe_is_loaded() || !try_module_get(THIS_MODULE))
		return -ENODEV;
	take_dentry_name_snapshot(&name, dentry);
	inode_unlock(removed);
	inode_unlock(inode);
	failed = dir->remove(dir, name.name.name);
	inode_lock_nested(inode, I_MUTEX_PARENT);
	inode_lock(removed);
	release_dentry_name_snapshot(&name);
	module_put(THIS_MODULE);
	return failed;
}

void ferroprobe_user_dir_begin(struct ferroprobe_node *dir)
{
	struct inode *inode = d_inode(dir->dentry);

	inode_lock(inode);
	former = inode->i_op;
	operations = *former;
	operations.mkdir = make;
	operations.rmdir = remove;
	inode->i_private = dir->user;
	smp_store_release(&inode->i_op, &operations);
	inode_unlock(inode);
}

void ferroprobe_user_dir_end(struct ferroprobe_node *dir)
{
	struct inode *inode = d_inode(dir->dentry);

	inode_lock(inode);
	WRITE_ONCE(inode->i_op, former);
	inode->i_private = NULL;
	inode_unlock(inode);
	/* The VFS reads some operations without the lock, and without sleeping. */
	synchronize_rcu_tasks();
}
