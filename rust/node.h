/* SPDX-License-Identifier: GPL-2.0 */
/* The tree of what the directory has, for what shows it: debugfs.c and fs.c. */
#ifndef FERROPROBE_NODE_H
#define FERROPROBE_NODE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>

#include "helpers.h"

struct dentry;
struct file_operations;
struct inode;

/*
 * A file or a directory.  It is in the tree until it is removed, and in memory as long as somebody
 * has a reference, or is in a critical section of RCU.
 */
struct ferroprobe_node {
	struct kref refs;
	/* One until it is removed, and one for each call of its operations. */
	refcount_t users;
	/* A reference; NULL of the root. */
	struct ferroprobe_node *parent;
	/* The number of its inode, and its place among the entries of its directory. */
	u64 number;
	bool is_file;
	bool removed;
	/* Of a directory: whether it has its entries in debugfs, too. */
	bool entered;
	/* Of one whose files are made late: whether they are. */
	bool made;

	/* Of a file: its permissions in debugfs, its operations, and what they are of. */
	umode_t mode;
	const struct file_operations *operations;
	void *data;

	/* Of a directory: its entries by number. */
	struct xarray entries;
	/* What makes its files late, or makes the directories that users make in it. */
	struct ferroprobe_late_dir *late;
	struct ferroprobe_user_dir *user;

	/* Its entry in debugfs. */
	struct dentry *dentry;
	/* Its inode in the own file system, while it has one. */
	struct inode *inode;
	/* What users have changed there, each valid for one round of options; see fs.c. */
	u32 uid_round, gid_round, mode_round;
	kuid_t uid;
	kgid_t gid;
	umode_t changed_mode;

	struct hlist_node by_name;
	struct rcu_head rcu;
	char name[];
};

/*
 * Held while the tree changes, and while files are made late, by a task that may then change the
 * tree.  Returns whether the lock was taken: whether it must be released.
 */
bool ferroprobe_nodes_lock(void);
void ferroprobe_nodes_unlock(bool locked);
/* Makes the files of a directory if they are made late, with the lock held. */
int ferroprobe_node_fill(struct ferroprobe_node *dir);

/* Return a reference, or NULL: to the entry @name, to the first with @number or a larger one. */
struct ferroprobe_node *ferroprobe_node_find(struct ferroprobe_node *dir, const char *name,
					     size_t length);
struct ferroprobe_node *ferroprobe_node_from(struct ferroprobe_node *dir, u64 number);
void ferroprobe_node_put(struct ferroprobe_node *node);

/* Keep a node from being removed.  The former returns false if it was removed before. */
bool ferroprobe_node_enter(struct ferroprobe_node *node);
void ferroprobe_node_leave(struct ferroprobe_node *node);

/*
 * debugfs.c, with the lock held: makes the entry in debugfs, if there the directory has its
 * entries; tells it that @node->late is another one, or has to make files once more.
 */
int ferroprobe_debugfs_show(struct ferroprobe_node *node);
void ferroprobe_debugfs_late(struct ferroprobe_node *node);
/* Without the lock: removes it, and waits until no open() of it runs. */
void ferroprobe_debugfs_remove(struct dentry *dentry);

/* fs.c: forgets the name that leads to the inode of @node, which was removed. */
void ferroprobe_fs_forget(struct ferroprobe_node *node);

#endif
