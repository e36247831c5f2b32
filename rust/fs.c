// SPDX-License-Identifier: GPL-2.0
/*
 * The file system ferroprobe: the tree of node.c, with mount options for the owner, as tracefs has
 * them.  Unlike debugfs, a kernel that is locked down for integrity allows it.
 *
 * Inodes and dentries are made at lookup, and freed when unused.  So what users change by chown(2)
 * and chmod(2) is kept in the node.  A mount holds the module, so the functions below need no
 * protection against unloading.
 *
 * The VFS calls lookup(), mkdir() and rmdir() with an inode of this file system locked, and these
 * take locks of the module.  So code with such a lock held must not lock an inode here: the removal
 * of a node only invalidates its dentry.  A dentry that the VFS finds is compared with its node,
 * and there are no negative dentries.
 */

#include <linux/bits.h>
#include <linux/capability.h>
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/kobject.h>
#include <linux/mnt_idmapping.h>
#include <linux/module.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>
#include <linux/user_namespace.h>

#include "node.h"
#include "series/fs.h"

#define NAME "ferroprobe"
#define MAGIC 0x66657270
#define USUAL_MODE 0700

/* The root of the mounted tree. */
static struct ferroprobe_node *tree;
/* Held while a node gets or loses its inode. */
static DEFINE_SPINLOCK(inodes_lock);
/*
 * An attribute that a user has changed with chown(2) or chmod(2) is valid for one round.  All
 * rounds end at the last unmount.  The round of the owner or the group also ends when a mount sets
 * that option.  Rounds begin with 1.
 */
static u32 uid_round, gid_round, mode_round;

enum { UID, GID, MODE };

struct options {
	kuid_t uid;
	kgid_t gid;
	umode_t mode;
	/* The options that were given, a bit each. */
	unsigned long given;
};

static const struct fs_parameter_spec parameters[] = {
	fsparam_uid("uid", UID),
	fsparam_gid("gid", GID),
	fsparam_u32oct("mode", MODE),
	{}
};

/*
 * Sets the owner, group and mode: the changed value, else the instance directory's, else the
 * root's.
 */
static void refresh(struct inode *inode)
{
	const struct ferroprobe_node *node = inode->i_private, *at;
	const struct dentry *top;
	const struct inode *root;
	kuid_t uid;
	kgid_t gid;

	if (!node->parent)
		return;
	/*
	 * A walk in RCU mode has no reference to the mount.  After the last unmount there is no
	 * root, and the answer is not used.
	 */
	top = READ_ONCE(inode->i_sb->s_root);
	root = top ? d_inode_rcu(top) : NULL;
	if (!root)
		return;
	uid = root->i_uid;
	gid = root->i_gid;
	for (at = node->parent; at; at = at->parent) {
		if (!at->user)
			continue;
		if (smp_load_acquire(&at->uid_round) == READ_ONCE(uid_round))
			uid = at->uid;
		if (smp_load_acquire(&at->gid_round) == READ_ONCE(gid_round))
			gid = at->gid;
	}
	if (smp_load_acquire(&node->uid_round) == READ_ONCE(uid_round))
		uid = node->uid;
	if (smp_load_acquire(&node->gid_round) == READ_ONCE(gid_round))
		gid = node->gid;
	inode->i_uid = uid;
	inode->i_gid = gid;
}

static int permission(struct mnt_idmap *idmap, struct inode *inode, int mask)
{
	refresh(inode);
	return generic_permission(idmap, inode, mask);
}

static int getattr(struct mnt_idmap *idmap, const struct path *path, struct kstat *stat,
		   u32 request_mask, unsigned int flags)
{
	struct inode *inode = d_inode(path->dentry);

	refresh(inode);
	generic_fillattr(idmap, request_mask, inode, stat);
	return 0;
}

/* The inode is locked. */
static int setattr(struct mnt_idmap *idmap, struct dentry *dentry, struct iattr *attributes)
{
	struct inode *inode = d_inode(dentry);
	struct ferroprobe_node *node = inode->i_private;
	int failed;

	refresh(inode);
	/* Opening with O_TRUNC is the file's matter. */
	attributes->ia_valid &= ~ATTR_SIZE;
	failed = simple_setattr(idmap, dentry, attributes);
	if (failed)
		return failed;
	/* Another task may refresh the inode at the same time. */
	if (attributes->ia_valid & ATTR_UID) {
		node->uid = from_vfsuid(idmap, i_user_ns(inode), attributes->ia_vfsuid);
		smp_store_release(&node->uid_round, READ_ONCE(uid_round));
	}
	if (attributes->ia_valid & ATTR_GID) {
		node->gid = from_vfsgid(idmap, i_user_ns(inode), attributes->ia_vfsgid);
		smp_store_release(&node->gid_round, READ_ONCE(gid_round));
	}
	if (attributes->ia_valid & ATTR_MODE) {
		node->changed_mode = inode->i_mode;
		smp_store_release(&node->mode_round, READ_ONCE(mode_round));
	}
	return 0;
}

static const struct inode_operations file_iops, dir_iops, user_dir_iops;
static const struct file_operations file_fops, dir_fops;

/* Returns a reference to the inode of @node, or an ERR_PTR. */
static struct inode *inode_of(struct super_block *sb, struct ferroprobe_node *node)
{
	struct inode *inode = iget_locked(sb, node->number);

	if (!inode)
		return ERR_PTR(-ENOMEM);
	if (!(inode_state_read_once(inode) & I_NEW))
		return inode;
	kref_get(&node->refs);
	inode->i_private = node;
	simple_inode_init_ts(inode);
	if (node->is_file) {
		/* The group has the owner's permissions. */
		inode->i_mode = S_IFREG | node->mode | node->mode >> 3;
		inode->i_op = &file_iops;
		inode->i_fop = &file_fops;
	} else {
		inode->i_mode = S_IFDIR | (node->user ? 0770 : 0750);
		inode->i_op = node->user ? &user_dir_iops : &dir_iops;
		inode->i_fop = &dir_fops;
		/* The number of subdirectories is not counted. */
		set_nlink(inode, 1);
	}
	if (smp_load_acquire(&node->mode_round) == READ_ONCE(mode_round))
		inode->i_mode = node->changed_mode;
	refresh(inode);
	spin_lock(&inodes_lock);
	node->inode = inode;
	spin_unlock(&inodes_lock);
	unlock_new_inode(inode);
	return inode;
}

/* Makes the files of a directory, if they are made late. */
static int enter(struct ferroprobe_node *dir)
{
	bool locked;
	int failed;

	if (!READ_ONCE(dir->late) || READ_ONCE(dir->made))
		return 0;
	locked = ferroprobe_nodes_lock();
	failed = ferroprobe_node_fill(dir);
	ferroprobe_nodes_unlock(locked);
	return failed;
}

static struct dentry *lookup(struct inode *inode, struct dentry *dentry, unsigned int flags)
{
	struct ferroprobe_node *dir = inode->i_private, *node;
	struct inode *found = NULL;
	int failed;

	if (dentry->d_name.len > NAME_MAX)
		return ERR_PTR(-ENAMETOOLONG);
	failed = enter(dir);
	if (failed)
		return ERR_PTR(failed);
	node = ferroprobe_node_find(dir, dentry->d_name.name, dentry->d_name.len);
	if (node) {
		found = inode_of(inode->i_sb, node);
		ferroprobe_node_put(node);
	}
	return d_splice_alias(found, dentry);
}

/* Positions 0 and 1 are "." and "..". */
static int iterate(struct file *file, struct dir_context *context)
{
	struct ferroprobe_node *dir = file_inode(file)->i_private, *node;
	bool added;
	int failed;

	if (!dir_emit_dots(file, context))
		return 0;
	failed = enter(dir);
	if (failed)
		return failed;
	/* Nothing is locked, as copying the name may sleep. */
	while ((node = ferroprobe_node_from(dir, context->pos - 2))) {
		context->pos = node->number + 2;
		added = dir_emit(context, node->name, strlen(node->name), node->number,
				 node->is_file ? DT_REG : DT_DIR);
		ferroprobe_node_put(node);
		if (!added)
			break;
		context->pos++;
	}
	return 0;
}

/* The functions that this calls lock no inode of this file system. */
static ferroprobe_made make(struct mnt_idmap *idmap, struct inode *inode, struct dentry *dentry,
			    umode_t mode)
{
	struct ferroprobe_node *dir = inode->i_private, *node;
	struct inode *made;
	int failed = security_locked_down(LOCKDOWN_TRACEFS);

	if (!failed)
		failed = dir->user->make(dir->user, dentry->d_name.name);
	if (failed)
		return ferroprobe_made_of(failed);
	d_drop(dentry);
	node = ferroprobe_node_find(dir, dentry->d_name.name, dentry->d_name.len);
	if (!node)
		return ferroprobe_made_of(0);
	made = inode_of(inode->i_sb, node);
	ferroprobe_node_put(node);
	/* If the new directory cannot be looked up now, the next lookup finds it. */
	return ferroprobe_made_as(made, dentry);
}

static int remove(struct inode *inode, struct dentry *dentry)
{
	struct ferroprobe_node *dir = inode->i_private;

	return dir->user->remove(dir->user, dentry->d_name.name);
}

static const struct inode_operations file_iops = {
	.permission = permission,
	.getattr = getattr,
	.setattr = setattr,
};

static const struct inode_operations dir_iops = {
	.lookup = lookup,
	.permission = permission,
	.getattr = getattr,
	.setattr = setattr,
};

static const struct inode_operations user_dir_iops = {
	.lookup = lookup,
	.mkdir = make,
	.rmdir = remove,
	.permission = permission,
	.getattr = getattr,
	.setattr = setattr,
};

static const struct file_operations dir_fops = {
	.owner = THIS_MODULE,
	.llseek = generic_file_llseek,
	.read = generic_read_dir,
	.iterate_shared = iterate,
};

/* As in debugfs, only opening is protected: the open file then has its own operations. */
static int open(struct inode *inode, struct file *file)
{
	struct ferroprobe_node *node = inode->i_private;
	const struct file_operations *operations;
	int failed = security_locked_down(LOCKDOWN_TRACEFS);

	if (failed)
		return failed;
	if (!ferroprobe_node_enter(node))
		return -ENOENT;
	operations = fops_get(node->operations);
	if (operations) {
		replace_fops(file, operations);
		failed = operations->open(inode, file);
	} else {
		failed = -ENXIO;
	}
	ferroprobe_node_leave(node);
	return failed;
}

static const struct file_operations file_fops = {
	.owner = THIS_MODULE,
	.open = open,
};

/* May be called in a critical section of RCU. */
static bool is_valid(const struct inode *inode)
{
	const struct ferroprobe_node *node;

	if (!inode)
		return false;
	node = inode->i_private;
	return !READ_ONCE(node->removed);
}

/* The absence of an entry is not cached. */
static int revalidate(FERROPROBE_REVALIDATED, unsigned int flags)
{
	return is_valid(d_inode_rcu(dentry));
}

static int is_useless(const struct dentry *dentry)
{
	return !is_valid(d_inode_rcu(dentry));
}

static const struct dentry_operations dentry_operations = {
	.d_revalidate = revalidate,
	.d_delete = is_useless,
};

static void evict(struct inode *inode)
{
	struct ferroprobe_node *node = inode->i_private;

	truncate_inode_pages_final(&inode->i_data);
	clear_inode(inode);
	/* The inode gets its node last. */
	if (!node)
		return;
	spin_lock(&inodes_lock);
	if (node->inode == inode)
		node->inode = NULL;
	spin_unlock(&inodes_lock);
	ferroprobe_node_put(node);
}

void ferroprobe_fs_forget(struct ferroprobe_node *node)
{
	struct super_block *sb = NULL;
	struct inode *inode = NULL;
	struct dentry *dentry;

	spin_lock(&inodes_lock);
	if (node->inode && atomic_inc_not_zero(&node->inode->i_sb->s_active)) {
		sb = node->inode->i_sb;
		inode = igrab(node->inode);
	}
	spin_unlock(&inodes_lock);
	if (inode) {
		dentry = d_find_any_alias(inode);
		if (dentry) {
			d_invalidate(dentry);
			dput(dentry);
		}
		iput(inode);
	}
	if (sb)
		deactivate_super(sb);
}

static int show_options(struct seq_file *file, struct dentry *root)
{
	const struct options *options = root->d_sb->s_fs_info;

	if (!uid_eq(options->uid, GLOBAL_ROOT_UID))
		seq_printf(file, ",uid=%u", from_kuid_munged(&init_user_ns, options->uid));
	if (!gid_eq(options->gid, GLOBAL_ROOT_GID))
		seq_printf(file, ",gid=%u", from_kgid_munged(&init_user_ns, options->gid));
	if (options->mode != USUAL_MODE)
		seq_printf(file, ",mode=%o", options->mode);
	return 0;
}

static const struct super_operations super_operations = {
	.statfs = simple_statfs,
	.drop_inode = inode_just_drop,
	.evict_inode = evict,
	.show_options = show_options,
};

static int fill_super(struct super_block *sb, struct fs_context *context)
{
	struct inode *root;

	sb->s_blocksize = PAGE_SIZE;
	sb->s_blocksize_bits = PAGE_SHIFT;
	sb->s_maxbytes = MAX_LFS_FILESIZE;
	sb->s_magic = MAGIC;
	sb->s_time_gran = 1;
	sb->s_iflags |= SB_I_NOEXEC | SB_I_NODEV;
	sb->s_op = &super_operations;
	set_default_d_op(sb, &dentry_operations);
	/* No other mount exists: what users changed belongs to a former mount. */
	WRITE_ONCE(uid_round, uid_round + 1);
	WRITE_ONCE(gid_round, gid_round + 1);
	WRITE_ONCE(mode_round, mode_round + 1);
	root = inode_of(sb, tree);
	if (IS_ERR(root))
		return PTR_ERR(root);
	root->i_mode = S_IFDIR | USUAL_MODE;
	sb->s_root = d_make_root(root);
	return sb->s_root ? 0 : -ENOMEM;
}

/* All mounts show one tree with one owner, so the options of the last mount apply to all. */
static void apply(struct super_block *sb, const struct options *new)
{
	struct inode *root = d_inode(sb->s_root);
	struct options *now = sb->s_fs_info;

	if (new->given & BIT(UID)) {
		now->uid = new->uid;
		root->i_uid = new->uid;
		WRITE_ONCE(uid_round, uid_round + 1);
	}
	if (new->given & BIT(GID)) {
		now->gid = new->gid;
		root->i_gid = new->gid;
		WRITE_ONCE(gid_round, gid_round + 1);
	}
	if (new->given & BIT(MODE)) {
		now->mode = new->mode;
		WRITE_ONCE(root->i_mode, S_IFDIR | new->mode);
	}
}

static int reconfigure(struct fs_context *context)
{
	apply(context->root->d_sb, context->fs_private);
	return 0;
}

static int get_tree(struct fs_context *context)
{
	struct options *info;
	int failed = security_locked_down(LOCKDOWN_TRACEFS);

	if (failed)
		return failed;
	/* The options of the file system; the context keeps its own. */
	info = kzalloc(sizeof(*info), GFP_KERNEL);
	if (!info)
		return -ENOMEM;
	info->mode = USUAL_MODE;
	context->s_fs_info = info;
	/*
	 * "Read-only" is an option of this mount, not of the file system, which other mounts share.
	 */
	context->sb_flags &= ~SB_RDONLY;
	failed = get_tree_single(context, fill_super);
	if (!failed)
		apply(context->root->d_sb, context->fs_private);
	return failed;
}

static int parse_param(struct fs_context *context, struct fs_parameter *parameter)
{
	struct options *options = context->fs_private;
	struct fs_parse_result result;
	int option = fs_parse(context, parameters, parameter, &result);

	if (option < 0)
		return option;
	switch (option) {
	case UID:
		options->uid = result.uid;
		break;
	case GID:
		options->gid = result.gid;
		break;
	case MODE:
		options->mode = result.uint_32 & S_IALLUGO;
		break;
	}
	options->given |= BIT(option);
	return 0;
}

static void free_context(struct fs_context *context)
{
	kfree(context->fs_private);
	/* This is NULL if the file system took the options over. */
	kfree(context->s_fs_info);
}

static const struct fs_context_operations context_operations = {
	.free = free_context,
	.parse_param = parse_param,
	.get_tree = get_tree,
	.reconfigure = reconfigure,
};

/*
 * The kernel asks for this when something is mounted.  Until then a context holds the module, and
 * anybody gets one by fsopen(2) in a user namespace of his own.
 */
static int init_context(struct fs_context *context)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (!ferroprobe_is_loaded())
		return -ENODEV;
	context->fs_private = kzalloc(sizeof(struct options), GFP_KERNEL);
	if (!context->fs_private)
		return -ENOMEM;
	context->ops = &context_operations;
	return 0;
}

static void kill_super(struct super_block *sb)
{
	struct options *options = sb->s_fs_info;

	kill_anon_super(sb);
	kfree(options);
}

/*
 * There is no module alias: with one, anybody who may mount in a user namespace could load the
 * module.
 */
static struct file_system_type type = {
	.owner = THIS_MODULE,
	.name = NAME,
	.init_fs_context = init_context,
	.parameters = parameters,
	.kill_sb = kill_super,
};

int ferroprobe_fs_begin(struct ferroprobe_node *root)
{
	int failed = sysfs_create_mount_point(kernel_kobj, NAME);

	if (failed)
		return failed;
	tree = root;
	failed = register_filesystem(&type);
	if (failed)
		sysfs_remove_mount_point(kernel_kobj, NAME);
	return failed;
}

void ferroprobe_fs_end(void)
{
	unregister_filesystem(&type);
	sysfs_remove_mount_point(kernel_kobj, NAME);
}
