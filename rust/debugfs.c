// SPDX-License-Identifier: GPL-2.0
/*
 * Directories in debugfs whose files are made when somebody first enters them: by opening
 * the directory, or on the way to what is below.  Whoever does asks the directory for the
 * permission, with nothing locked; and how that is answered is up to the operations of its
 * inode, which a module may replace for its own directories.
 */

#include <linux/atomic.h>
#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include "helpers.h"

/* Held while files are made, and while a directory changes who makes them. */
static DEFINE_MUTEX(entry_lock);
/* The task that makes files with the lock held.  It may make such directories, too. */
static struct task_struct *filling;
/* The number of tasks in enter() and wait_until_made(), and how often one came. */
static atomic_t entering = ATOMIC_INIT(0);
static atomic_t entered = ATOMIC_INIT(0);

/* The operations of debugfs; of a directory that is to be filled, and of one that is. */
static const struct inode_operations *ordinary;
static struct inode_operations late, filled;

/* Returns whether the lock was taken: whether it must be released. */
static bool lock_entries(void)
{
	if (READ_ONCE(filling) == current)
		return false;
	mutex_lock(&entry_lock);
	return true;
}

static void unlock_entries(bool locked)
{
	if (locked)
		mutex_unlock(&entry_lock);
}

/*
 * Neither sleeps before it is counted, nor when it is no more.  With MAY_WRITE the inode may be
 * locked, and whoever writes has entered before.
 */
static int enter(struct mnt_idmap *idmap, struct inode *inode, int mask)
{
	struct ferroprobe_late_dir *dir;
	int failed;

	if (mask & MAY_NOT_BLOCK)
		return -ECHILD;
	atomic_inc(&entering);
	atomic_inc(&entered);
	failed = generic_permission(idmap, inode, mask);
	if (!failed && !(mask & MAY_WRITE)) {
		mutex_lock(&entry_lock);
		if (inode->i_op == &late) {
			dir = inode->i_private;
			WRITE_ONCE(filling, current);
			failed = dir ? dir->fill(dir) : -ENOENT;
			WRITE_ONCE(filling, NULL);
			if (!failed)
				WRITE_ONCE(inode->i_op, &filled);
		}
		mutex_unlock(&entry_lock);
	}
	atomic_dec_return_release(&entering);
	return failed;
}

/* Who comes while a directory is made waits until it has its operations. */
static struct vfsmount *wait_until_made(struct dentry *dentry, void *unused)
{
	atomic_inc(&entering);
	atomic_inc(&entered);
	mutex_lock(&entry_lock);
	mutex_unlock(&entry_lock);
	atomic_dec_return_release(&entering);
	return NULL;
}

/*
 * The kernel calls no operation for the permission once it has seen that there is none.  So the
 * directory begins as an automount point, which cannot be entered before it has one, and
 * there is one until the directory is removed.
 */
struct dentry *ferroprobe_create_late_dir(const char *name, struct dentry *parent)
{
	struct dentry *dentry;
	struct inode *inode, *like = d_inode(parent);
	bool locked = lock_entries();

	if (!ordinary) {
		ordinary = like->i_op;
		late = *ordinary;
		late.permission = enter;
		filled = *ordinary;
		filled.permission = generic_permission;
	}
	dentry = debugfs_create_automount(name, parent, wait_until_made, NULL);
	if (!IS_ERR(dentry)) {
		/* So far it is always empty, and nothing about it can be changed. */
		inode = d_inode(dentry);
		set_nlink(inode, 2);
		inode->i_mode = like->i_mode;
		inode->i_fop = like->i_fop;
		smp_store_release(&inode->i_op, &late);
		spin_lock(&inode->i_lock);
		inode->i_opflags |= like->i_opflags & IOP_XATTR;
		inode->i_opflags &= ~IOP_FASTPERM;
		spin_unlock(&inode->i_lock);
		inode->i_flags &= ~S_AUTOMOUNT;
		spin_lock(&dentry->d_lock);
		smp_store_release(&dentry->d_flags, dentry->d_flags & ~DCACHE_NEED_AUTOMOUNT);
		spin_unlock(&dentry->d_lock);
	}
	unlock_entries(locked);
	return dentry;
}

void ferroprobe_late_dir_set(struct dentry *dentry, struct ferroprobe_late_dir *dir)
{
	struct inode *inode = d_inode(dentry);
	bool locked = lock_entries();

	inode->i_private = dir;
	WRITE_ONCE(inode->i_op, dir ? &late : ordinary);
	unlock_entries(locked);
}

void ferroprobe_late_dirs_end(void)
{
	int before;
	bool busy;

	if (!ordinary)
		return;
	/*
	 * Who has seen that a directory calls enter(), or has operations of ours, is counted
	 * before the next sleep, at which the wait ends; and who was counted no more when it
	 * began has left by then.
	 */
	before = atomic_read(&entered);
	busy = atomic_read_acquire(&entering);
	synchronize_rcu_tasks();
	if (!busy && atomic_read(&entered) == before)
		return;
	while (atomic_read_acquire(&entering))
		msleep(1);
	synchronize_rcu_tasks();
}
