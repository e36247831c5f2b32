// SPDX-License-Identifier: GPL-2.0
/*
 * The tree of node.c in debugfs.
 *
 * A file in debugfs takes some 3 us to make, 3 us to remove, and a KiB, and most of thousands are
 * never opened.  So a directory may get its files late: when a task first enters it, by opening it
 * or on the way to something below it.  The VFS then calls permission() of the directory's inode,
 * with nothing locked, and a module may replace the inode operations of its own directories.
 * stat(2) of the directory makes no files.  If memory is insufficient, the task gets ENOMEM, and
 * the next task that enters tries again.  Nothing counts the tasks that are about to call
 * permission(), so unloading waits for a grace period of RCU tasks.
 *
 * A directory that stays an automount point, which mounts nothing, would need fewer operations.
 * But a descriptor that was opened with O_PATH passes it, and it refuses tasks that may not cross
 * mounts.
 *
 * debugfs could show the mounted file system of fs.c, as it shows tracefs at "tracing".  But the
 * mount would hold the module until the kernel expires it, while rmmod must work whenever no file
 * is open.
 */

#include <linux/atomic.h>
#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/rcupdate.h>

#include "node.h"

/* The number of tasks in enter() and wait_until_made(), and the number of times a task entered. */
static atomic_t entering = ATOMIC_INIT(0);
static atomic_t entered = ATOMIC_INIT(0);

/* The task that makes an entry, with the nodes lock held. */
static struct task_struct *making;

/* The operations of debugfs, of a directory that is not filled yet, and of a filled directory. */
static const struct inode_operations *ordinary;
static struct inode_operations late, filled;

/* Makes the files of a directory, and their debugfs entries.  Called with the nodes lock held. */
static int fill(struct inode *inode)
{
	struct ferroprobe_node *dir = inode->i_private, *node;
	unsigned long number;
	int failed;

	if (inode->i_op != &late)
		return 0;
	if (!dir)
		return -ENOENT;
	failed = ferroprobe_node_fill(dir);
	if (failed)
		return failed;
	dir->entered = true;
	xa_for_each(&dir->entries, number, node) {
		if (!node->dentry)
			failed = ferroprobe_debugfs_show(node);
		if (failed)
			break;
	}
	if (failed)
		return failed;
	WRITE_ONCE(inode->i_op, &filled);
	return 0;
}

/*
 * Tasks are counted while they are here: before they can sleep, and until they no longer can.  With
 * MAY_WRITE the inode may be locked; a task that writes has entered before.
 */
static int enter(struct mnt_idmap *idmap, struct inode *inode, int mask)
{
	bool locked;
	int failed;

	if (mask & MAY_NOT_BLOCK)
		return -ECHILD;
	/* Before 6.16, debugfs itself asks for permission, by lookup_one_len(), as it makes an entry. */
	if (READ_ONCE(making) == current)
		return generic_permission(idmap, inode, mask);
	atomic_inc(&entering);
	atomic_inc(&entered);
	failed = generic_permission(idmap, inode, mask);
	if (!failed && !(mask & MAY_WRITE)) {
		locked = ferroprobe_nodes_lock();
		failed = fill(inode);
		ferroprobe_nodes_unlock(locked);
	}
	atomic_dec_return_release(&entering);
	return failed;
}

/* Tasks that come while create_late_dir() runs wait until the directory has its operations. */
static struct vfsmount *wait_until_made(struct dentry *dentry, void *unused)
{
	atomic_inc(&entering);
	atomic_inc(&entered);
	ferroprobe_nodes_unlock(ferroprobe_nodes_lock());
	atomic_dec_return_release(&entering);
	return NULL;
}

/*
 * The kernel skips permission() of an inode once it has seen that there is none.  So the directory
 * begins as an automount point, which no task can enter, and gets the operation before that ends.
 * It then keeps the operation until it is removed.
 */
static struct dentry *create_late_dir(const char *name, struct dentry *parent)
{
	struct dentry *dentry = debugfs_create_automount(name, parent, wait_until_made, NULL);
	struct inode *inode, *like = d_inode(parent);

	if (!ordinary) {
		ordinary = like->i_op;
		late = *ordinary;
		late.permission = enter;
		filled = *ordinary;
		filled.permission = generic_permission;
	}
	if (IS_ERR(dentry))
		return dentry;
	/* The directory looks empty so far, and its attributes cannot be changed. */
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
	return dentry;
}

int ferroprobe_debugfs_show(struct ferroprobe_node *node)
{
	struct ferroprobe_node *dir = node->parent;
	struct dentry *parent = dir ? dir->dentry : NULL, *dentry;

	if (dir && !dir->entered)
		return 0;
	WRITE_ONCE(making, current);
	if (node->is_file)
		dentry = debugfs_create_file_unsafe(node->name, node->mode, parent, node,
						    node->operations);
	else if (node->late)
		dentry = create_late_dir(node->name, parent);
	else
		dentry = debugfs_create_dir(node->name, parent);
	WRITE_ONCE(making, NULL);
	if (IS_ERR(dentry))
		return PTR_ERR(dentry);
	node->dentry = dentry;
	node->entered = !node->is_file && !node->late;
	ferroprobe_debugfs_late(node);
	ferroprobe_count_files(1);
	return 0;
}

void ferroprobe_debugfs_late(struct ferroprobe_node *dir)
{
	struct inode *inode = dir->dentry ? d_inode(dir->dentry) : NULL;

	if (dir->is_file || !inode || !ordinary)
		return;
	if (dir->late) {
		inode->i_private = dir;
		WRITE_ONCE(inode->i_op, &late);
	} else if (inode->i_op == &late || inode->i_op == &filled) {
		inode->i_private = NULL;
		WRITE_ONCE(inode->i_op, ordinary);
	}
}

void ferroprobe_debugfs_remove(struct dentry *dentry)
{
	debugfs_remove(dentry);
	ferroprobe_count_files(-1);
}

void ferroprobe_late_dirs_end(void)
{
	int before;
	bool busy;

	if (!ordinary)
		return;
	/*
	 * A task that has seen our operations is counted before its next sleep, and the grace
	 * period ends only after that.  A task whose count was dropped before the grace period
	 * began has left our code when the grace period ends.
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
