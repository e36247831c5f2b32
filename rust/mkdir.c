// SPDX-License-Identifier: GPL-2.0
/*
 * A directory in debugfs in which tasks make and remove directories, by mkdir(2) and rmdir(2).
 * debugfs has no such directories, unlike the module's own file system.  What the VFS does in a
 * directory is up to the operations of its inode, and a module may replace these for its own
 * directory.
 *
 * The VFS calls these operations with the inode of the directory locked.  While they run, and
 * the inode is unlocked, they hold a reference to the module.  So once the module is being
 * unloaded, and its exit function has locked the inode to put the former operations back, no
 * task is in them, and none comes any more.
 */

#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "node.h"

/* There is one such directory. */
static const struct inode_operations *former;
static struct inode_operations operations;

/* As in tracefs, what is called locks the directory itself, to make the new one. */
static struct dentry *make(struct mnt_idmap *idmap, struct inode *inode,
			   struct dentry *dentry, umode_t mode)
{
	struct ferroprobe_user_dir *dir = inode->i_private;
	struct name_snapshot name;
	int failed;

	if (!ferroprobe_is_loaded() || !try_module_get(THIS_MODULE))
		return ERR_PTR(-ENODEV);
	take_dentry_name_snapshot(&name, dentry);
	inode_unlock(inode);
	failed = dir->make(dir, name.name.name);
	inode_lock_nested(inode, I_MUTEX_PARENT);
	release_dentry_name_snapshot(&name);
	module_put(THIS_MODULE);
	return ERR_PTR(failed);
}

static int remove(struct inode *inode, struct dentry *dentry)
{
	struct ferroprobe_user_dir *dir = inode->i_private;
	/* The caller's reference to the dentry keeps it. */
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
	/* The VFS looks for some operations without the lock, and without sleeping. */
	synchronize_rcu_tasks();
}
