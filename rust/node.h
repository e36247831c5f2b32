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
 * A file or a directory.  It is in the tree until it is removed, and is freed an RCU grace period
 * after its last reference.
 */
struct ferroprobe_node {
	struct kref refs;
	/* One reference until the node is removed, and one for each call of its operations. */
	refcount_t users;
	/* Holds a reference; NULL for the root. */
	struct ferroprobe_node *parent;
	/* The number of the inode, and the position among the entries of the directory. */
	u64 number;
	bool is_file;
	bool removed;
	/* Whether the directory has its entries in debugfs, too. */
	bool entered;
	/* Whether the late files of the directory have been made. */
	bool made;

	/* The file's permissions in debugfs, its operations, and their data. */
	umode_t mode;
	const struct file_operations *operations;
	void *data;

	/* The directory's entries by number. */
	struct xarray entries;
	/* Make the directory's late files, and the directories that users make in it. */
	struct ferroprobe_late_dir *late;
	struct ferroprobe_user_dir *user;

	/* The entry in debugfs. */
	struct dentry *dentry;
	/* The inode in the module's own file system; NULL if it has none. */
	struct inode *inode;
	/* The values that users have set there, each valid for one round of options; see fs.c. */
	u32 uid_round, gid_round, mode_round;
	kuid_t uid;
	kgid_t gid;
	umode_t changed_mode;

	struct hlist_node by_name;
	struct rcu_head rcu;
	char name[];
};

/*
 * Locks the tree for changes, and for making late files.  Returns false if the current task already
 * holds the lock, as it makes late files: then it must not release the lock.
 */
bool ferroprobe_nodes_lock(void);
void ferroprobe_nodes_unlock(bool locked);
/* Makes the late files of a directory.  Called with the lock held. */
int ferroprobe_node_fill(struct ferroprobe_node *dir);

/*
 * Return a reference to the entry @name, or to the first entry with @number or more; NULL if none.
 */
struct ferroprobe_node *ferroprobe_node_find(struct ferroprobe_node *dir, const char *name,
					     size_t length);
struct ferroprobe_node *ferroprobe_node_from(struct ferroprobe_node *dir, u64 number);
void ferroprobe_node_put(struct ferroprobe_node *node);

/* Keep a node from being removed.  Returns false if the node has been removed. */
bool ferroprobe_node_enter(struct ferroprobe_node *node);
void ferroprobe_node_leave(struct ferroprobe_node *node);

/*
 * In debugfs.c, called with the lock held: makes the entry in debugfs, if the directory has its
 * entries there; notes that @node->late has changed, or has to make files again.
 */
int ferroprobe_debugfs_show(struct ferroprobe_node *node);
void ferroprobe_debugfs_late(struct ferroprobe_node *node);
/* Removes the entry, and waits until no open() of it runs.  Called without the lock. */
void ferroprobe_debugfs_remove(struct dentry *dentry);

/* In fs.c: invalidates the dentry of @node, which was removed. */
void ferroprobe_fs_forget(struct ferroprobe_node *node);

#endif
