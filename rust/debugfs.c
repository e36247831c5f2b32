// SPDX-License-Identifier: GPL-2.0
/*
 * Directories in debugfs whose files are made when somebody first enters them: by opening
 * the directory, or on the way to what is below.  debugfs has only automount points for
 * that, whose function may as well make files and mount nothing.
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
/* The number of tasks in enter(), and how often one came. */
static atomic_t entering = ATOMIC_INIT(0);
static atomic_t entered = ATOMIC_INIT(0);
/* Whether there ever was a directory that calls enter(). */
static bool used;

static bool is_late(const struct dentry *dentry)
{
	return READ_ONCE(dentry->d_flags) & DCACHE_NEED_AUTOMOUNT;
}

/* From now on @dentry is an ordinary directory. */
static void settle(struct dentry *dentry)
{
	spin_lock(&dentry->d_lock);
	WRITE_ONCE(dentry->d_flags, dentry->d_flags & ~DCACHE_NEED_AUTOMOUNT);
	spin_unlock(&dentry->d_lock);
}

/* Does not sleep before it is counted, nor when it is no more. */
static struct vfsmount *enter(struct dentry *dentry, void *unused)
{
	struct ferroprobe_late_dir *late;
	int failed = 0;

	atomic_inc(&entering);
	atomic_inc(&entered);
	mutex_lock(&entry_lock);
	late = d_inode(dentry)->i_private;
	if (!late)
		failed = -ENOENT;
	else if (is_late(dentry))
		failed = late->fill(late);
	if (!failed)
		settle(dentry);
	mutex_unlock(&entry_lock);
	atomic_dec_return_release(&entering);
	return ERR_PTR(failed);
}

struct dentry *ferroprobe_create_late_dir(const char *name, struct dentry *parent)
{
	struct dentry *dentry;
	struct inode *inode, *like = d_inode(parent);

	mutex_lock(&entry_lock);
	used = true;
	dentry = debugfs_create_automount(name, parent, enter, NULL);
	if (!IS_ERR(dentry)) {
		/* So far it is always empty, and nothing about it can be changed. */
		inode = d_inode(dentry);
		set_nlink(inode, 2);
		inode->i_mode = like->i_mode;
		inode->i_opflags |= like->i_opflags & IOP_XATTR;
		inode->i_fop = like->i_fop;
		WRITE_ONCE(inode->i_op, like->i_op);
	}
	mutex_unlock(&entry_lock);
	return dentry;
}

void ferroprobe_late_dir_set(struct dentry *dentry, struct ferroprobe_late_dir *late)
{
	mutex_lock(&entry_lock);
	d_inode(dentry)->i_private = late;
	if (!late)
		settle(dentry);
	mutex_unlock(&entry_lock);
}

void ferroprobe_late_dirs_end(void)
{
	int before;
	bool busy;

	if (!used)
		return;
	/*
	 * Who has seen that a directory calls enter() is counted before the next sleep, at
	 * which the wait ends; and who was counted no more when it began has left by then.
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
