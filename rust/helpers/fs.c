// SPDX-License-Identifier: GPL-2.0

#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/namei.h>

struct file *ferroprobe_open_sysfs(const char *path)
{
	/* sysfs is built in: there is no module reference to put. */
	struct file_system_type *sysfs = get_fs_type("sysfs");
	struct path root;
	struct file *file;

	if (!sysfs)
		return ERR_PTR(-ENODEV);
	/* The mount is in no namespace, so nothing can be mounted over its files. */
	root.mnt = vfs_kern_mount(sysfs, SB_KERNMOUNT, "sysfs", NULL);
	if (IS_ERR(root.mnt))
		return ERR_CAST(root.mnt);
	root.dentry = root.mnt->mnt_root;
	file = file_open_root(&root, path, O_RDONLY, 0);
	/* The file holds a reference to the mount. */
	mntput(root.mnt);
	return file;
}

bool ferroprobe_debugfs_is_mounted(void)
{
	struct path path;
	bool is_mounted;

	if (kern_path("/sys/kernel/debug", LOOKUP_FOLLOW, &path))
		return false;
	is_mounted = path.dentry->d_sb->s_magic == DEBUGFS_MAGIC;
	path_put(&path);
	return is_mounted;
}

size_t ferroprobe_file_path(const struct file *file, char *buffer, size_t size)
{
	/* It ends at the end of the buffer, with a NUL. */
	char *path = dentry_path_raw(file->f_path.dentry, buffer, min(size, PATH_MAX));
	size_t length;

	if (IS_ERR(path))
		return 0;
	length = strlen(path);
	memmove(buffer, path, length);
	return length;
}
