// SPDX-License-Identifier: GPL-2.0
/*
 * The tree of files and directories that debugfs and the module's own file system show.
 *
 * In debugfs a node has an inode from when it is shown, or, in a directory whose files are made
 * late, from when a task enters the directory.  The module's own file system makes inodes at
 * lookup.  An open file has the same operations in both, so everything after open() is common code.
 * Both protect only open(): the removal of a node waits for an open() in progress, not for open
 * files.
 */

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/stringhash.h>
#include <linux/wait.h>

#include "node.h"

static DEFINE_MUTEX(nodes_lock);
/* The task that fills a directory with the lock held.  That task may change the tree. */
static struct task_struct *filling;

/* Also held while the tree changes or is searched.  The innermost lock. */
static DEFINE_MUTEX(names_lock);
static DEFINE_HASHTABLE(names, 11);
/* The number of the last node that was made; the root has 1. */
static u64 last_number;

/* Removals wait here until their node has no users. */
static DECLARE_WAIT_QUEUE_HEAD(left);

bool ferroprobe_nodes_lock(void)
{
	if (READ_ONCE(filling) == current)
		return false;
	mutex_lock(&nodes_lock);
	return true;
}

void ferroprobe_nodes_unlock(bool locked)
{
	if (locked)
		mutex_unlock(&nodes_lock);
}

int ferroprobe_node_fill(struct ferroprobe_node *dir)
{
	int failed;

	if (!dir->late || dir->made)
		return 0;
	WRITE_ONCE(filling, current);
	failed = dir->late->fill(dir->late);
	WRITE_ONCE(filling, NULL);
	WRITE_ONCE(dir->made, !failed);
	return failed;
}

void ferroprobe_late_dir_set(struct ferroprobe_node *dir, struct ferroprobe_late_dir *late)
{
	bool locked = ferroprobe_nodes_lock();

	WRITE_ONCE(dir->late, late);
	WRITE_ONCE(dir->made, false);
	ferroprobe_debugfs_late(dir);
	ferroprobe_nodes_unlock(locked);
}

static struct ferroprobe_node *new(const char *name, struct ferroprobe_node *parent)
{
	size_t length = strlen(name);
	struct ferroprobe_node *node = kzalloc(struct_size(node, name, length + 1), GFP_KERNEL);

	if (!node)
		return ERR_PTR(-ENOMEM);
	kref_init(&node->refs);
	refcount_set(&node->users, 1);
	xa_init(&node->entries);
	memcpy(node->name, name, length);
	if (parent) {
		kref_get(&parent->refs);
		node->parent = parent;
	}
	return node;
}

struct ferroprobe_node *ferroprobe_node_dir(const char *name, struct ferroprobe_node *parent)
{
	return new(name, parent);
}

struct ferroprobe_node *ferroprobe_node_file(const char *name, struct ferroprobe_node *parent,
					     umode_t mode,
					     const struct file_operations *operations, void *data)
{
	struct ferroprobe_node *node = new(name, parent);

	if (!IS_ERR(node)) {
		node->is_file = true;
		node->mode = mode;
		node->operations = operations;
		node->data = data;
	}
	return node;
}

void ferroprobe_node_user_dir(struct ferroprobe_node *dir, struct ferroprobe_user_dir *user)
{
	dir->user = user;
}

void *ferroprobe_node_data(const struct inode *inode)
{
	const struct ferroprobe_node *node = inode->i_private;

	return node->data;
}

/*
 * The kernel gives out references to a module whose init function still runs, and ignores them if
 * that fails.  So nothing can be opened, made or mounted before.
 */
bool ferroprobe_is_loaded(void)
{
	return READ_ONCE(THIS_MODULE->state) == MODULE_STATE_LIVE;
}

bool ferroprobe_may_open(struct file *file)
{
	if (ferroprobe_is_loaded())
		return true;
	/*
	 * When open() fails, the kernel puts the operations of the file, and with them a
	 * reference to the module.  The module may be gone by then, as nothing waits for the end
	 * of the system call.  So put them here, where the removal of the node waits, and install
	 * others.
	 */
	replace_fops(file, &simple_dir_operations);
	return false;
}

static u32 hash_of(const struct ferroprobe_node *dir, const char *name, size_t length)
{
	return full_name_hash(dir, name, length);
}

/* Returns the entry @name of @dir.  Called with names_lock held. */
static struct ferroprobe_node *entry(struct ferroprobe_node *dir, const char *name, size_t length)
{
	struct ferroprobe_node *node;

	hash_for_each_possible(names, node, by_name, hash_of(dir, name, length)) {
		if (node->parent == dir && !strncmp(node->name, name, length) &&
		    !node->name[length])
			return node;
	}
	return NULL;
}

static int add(struct ferroprobe_node *node)
{
	struct ferroprobe_node *parent = node->parent;
	size_t length = strlen(node->name);
	int failed = 0;

	mutex_lock(&names_lock);
	node->number = last_number + 1;
	if (parent)
		failed = entry(parent, node->name, length) ? -EEXIST :
			 xa_err(xa_store(&parent->entries, node->number, node, GFP_KERNEL));
	if (!failed) {
		last_number = node->number;
		if (parent)
			hash_add(names, &node->by_name, hash_of(parent, node->name, length));
	}
	mutex_unlock(&names_lock);
	return failed;
}

/* Removes a node from the tree, if it is there. */
static void take_out(struct ferroprobe_node *node)
{
	mutex_lock(&names_lock);
	if (hash_hashed(&node->by_name)) {
		hash_del(&node->by_name);
		xa_erase(&node->parent->entries, node->number);
	}
	WRITE_ONCE(node->removed, true);
	mutex_unlock(&names_lock);
}

int ferroprobe_node_show(struct ferroprobe_node *node)
{
	bool locked = ferroprobe_nodes_lock();
	int failed = add(node);

	if (!failed) {
		failed = ferroprobe_debugfs_show(node);
		if (failed)
			take_out(node);
	}
	ferroprobe_nodes_unlock(locked);
	return failed;
}

void ferroprobe_node_remove(struct ferroprobe_node *node)
{
	bool locked = ferroprobe_nodes_lock();
	struct dentry *dentry = node->dentry;

	take_out(node);
	node->dentry = NULL;
	ferroprobe_nodes_unlock(locked);
	if (dentry)
		ferroprobe_debugfs_remove(dentry);
	ferroprobe_fs_forget(node);
	if (!refcount_dec_and_test(&node->users))
		wait_event(left, !refcount_read(&node->users));
	ferroprobe_node_put(node);
}

struct ferroprobe_node *ferroprobe_node_find(struct ferroprobe_node *dir, const char *name,
					     size_t length)
{
	struct ferroprobe_node *node;

	mutex_lock(&names_lock);
	node = entry(dir, name, length);
	if (node)
		kref_get(&node->refs);
	mutex_unlock(&names_lock);
	return node;
}

struct ferroprobe_node *ferroprobe_node_from(struct ferroprobe_node *dir, u64 number)
{
	struct ferroprobe_node *node;
	unsigned long at = number;

	mutex_lock(&names_lock);
	node = xa_find(&dir->entries, &at, ULONG_MAX, XA_PRESENT);
	if (node)
		kref_get(&node->refs);
	mutex_unlock(&names_lock);
	return node;
}

static void release(struct kref *refs)
{
	struct ferroprobe_node *node = container_of(refs, struct ferroprobe_node, refs);
	struct ferroprobe_node *parent = node->parent;

	/* A store that failed may have left empty nodes of the array. */
	xa_destroy(&node->entries);
	kfree_rcu(node, rcu);
	if (parent)
		ferroprobe_node_put(parent);
}

/* Recurses to the depth of the tree, which is six levels. */
void ferroprobe_node_put(struct ferroprobe_node *node)
{
	kref_put(&node->refs, release);
}

bool ferroprobe_node_enter(struct ferroprobe_node *node)
{
	return refcount_inc_not_zero(&node->users);
}

void ferroprobe_node_leave(struct ferroprobe_node *node)
{
	if (refcount_dec_and_test(&node->users))
		wake_up_all(&left);
}
