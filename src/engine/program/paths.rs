// SPDX-License-Identifier: GPL-2.0

//! Full paths of files, as the kernel's `d_path()` makes them.
//!
//! Kernel: `fs/d_path.c`, `fs/mount.h`.

mod walk;

pub(in crate::engine) use walk::{write_path, PathSource};

use crate::engine::program::btf::{Btf, BtfValue};

/// The type of the fetched address whose path is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum PathStart {
    /// A `struct path`.
    Path,
    /// A `struct dentry`, without its mount.
    Dentry,
}

/// Offsets of structure members, in bytes, and addresses of two counters, for full paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct PathMembers {
    /// `f_path` in `struct file`.
    pub(in crate::engine) file_path: u32,
    path_mount: u32,
    path_dentry: u32,
    dentry_parent: u32,
    /// `d_name.name` in `struct dentry`.
    name: u32,
    /// `d_name.len` in `struct dentry`.
    name_length: u32,
    /// `d_hash.pprev` in `struct dentry`: 0 if the dentry is unhashed.
    hashed: u32,
    /// Offsets of parent, name and name length, if they are close together.
    near: Option<[u16; 3]>,
    dentry_operations: u32,
    inode: u32,
    superblock: u32,
    /// `mnt_root` in `struct vfsmount`.
    mount_root: u32,
    /// `mnt` in `struct mount`: the `struct vfsmount`.
    vfsmount: u32,
    mount_parent: u32,
    mountpoint: u32,
    own_name: u32,
    filesystem: u32,
    filesystem_name: u32,
    inode_number: u32,
    inode_private: u32,
    /// `fs` in `struct task_struct`.
    task_fs: u32,
    fs_root: u32,
    namespace_operations: u32,
    namespace_name: u32,
    /// Whether the next five, which lead to the mounts of a filesystem, are known.
    knows_mounts: bool,
    /// `s_mounts` in `struct super_block`.
    first_mount: u32,
    /// `mnt_next_for_sb` in `struct mount`.
    next_mount: u32,
    /// `mnt_ns` in `struct mount`.
    mount_namespace: u32,
    /// `nsproxy` in `struct task_struct`.
    task_namespaces: u32,
    /// `mnt_ns` in `struct nsproxy`.
    task_namespace: u32,
    /// The address of the counter of renames, `rename_lock`; 0 if unknown.
    pub(in crate::engine) renames: u64,
    /// The address of the counter of mount changes, `mount_lock`; 0 if unknown.
    pub(in crate::engine) remounts: u64,
}

/// The path to a member that this kernel's types lack.
pub(in crate::engine) type Lacking = &'static str;

/// A path to a member, and the slot for its offset. `.` enters an embedded structure; `:` does,
/// too, and the offset counts from its start; `>` follows a pointer.
type WayToMember = (&'static str, fn(&mut PathMembers) -> &mut u32);

/// The paths, by the structure that they start in. Few structures are looked up, because a lookup
/// is slow.
const WAYS: [(&str, &[WayToMember]); 4] = [
    (
        "file",
        &[
            ("f_path", |all| &mut all.file_path),
            ("f_path:mnt", |all| &mut all.path_mount),
            ("f_path:mnt>mnt_root", |all| &mut all.mount_root),
            ("f_path:dentry", |all| &mut all.path_dentry),
            ("f_path:dentry>d_parent", |all| &mut all.dentry_parent),
            ("f_path:dentry>d_name.name", |all| &mut all.name),
            ("f_path:dentry>d_name.len", |all| &mut all.name_length),
            ("f_path:dentry>d_hash.pprev", |all| &mut all.hashed),
            ("f_path:dentry>d_op", |all| &mut all.dentry_operations),
            ("f_path:dentry>d_op>d_dname", |all| &mut all.own_name),
            ("f_path:dentry>d_inode", |all| &mut all.inode),
            ("f_path:dentry>d_inode>i_ino", |all| &mut all.inode_number),
            ("f_path:dentry>d_inode>i_private", |all| {
                &mut all.inode_private
            }),
            ("f_path:dentry>d_sb", |all| &mut all.superblock),
            ("f_path:dentry>d_sb>s_type", |all| &mut all.filesystem),
            ("f_path:dentry>d_sb>s_type>name", |all| {
                &mut all.filesystem_name
            }),
        ],
    ),
    (
        "mount",
        &[
            ("mnt", |all| &mut all.vfsmount),
            ("mnt_parent", |all| &mut all.mount_parent),
            ("mnt_mountpoint", |all| &mut all.mountpoint),
        ],
    ),
    (
        "task_struct",
        &[
            ("fs", |all| &mut all.task_fs),
            ("fs>root", |all| &mut all.fs_root),
        ],
    ),
    (
        "ns_common",
        &[
            ("ops", |all| &mut all.namespace_operations),
            ("ops>name", |all| &mut all.namespace_name),
        ],
    ),
];

/// Like [`WAYS`], for members that older kernels may lack.
const MOUNT_WAYS: [(&str, &[WayToMember]); 2] = [
    (
        "file",
        &[
            ("f_path:dentry>d_sb>s_mounts", |all| &mut all.first_mount),
            ("f_path:dentry>d_sb>s_mounts>mnt_next_for_sb", |all| {
                &mut all.next_mount
            }),
            ("f_path:dentry>d_sb>s_mounts>mnt_ns", |all| {
                &mut all.mount_namespace
            }),
        ],
    ),
    (
        "task_struct",
        &[
            ("nsproxy", |all| &mut all.task_namespaces),
            ("nsproxy>mnt_ns", |all| &mut all.task_namespace),
        ],
    ),
];

impl PathMembers {
    /// Finds the members in this kernel.
    ///
    /// # Errors
    ///
    /// The first missing member.
    #[inline(never)]
    pub(in crate::engine) fn find(&mut self, btf: &Btf<'_>) -> Result<(), Lacking> {
        self.follow(btf, &WAYS)?;
        self.knows_mounts = self.follow(btf, &MOUNT_WAYS).is_ok();
        let near = |offset| u16::try_from(offset).ok();
        let name = near(self.name).zip(near(self.name_length));
        let parent = near(self.dentry_parent);
        self.near = parent
            .zip(name)
            .map(|(parent, (name, length))| [parent, name, length]);
        Ok(())
    }

    #[inline(never)]
    fn follow(&mut self, btf: &Btf<'_>, all: &[(Lacking, &[WayToMember])]) -> Result<(), Lacking> {
        for &(structure, ways) in all {
            let structure = btf.structure(structure.as_bytes()).ok_or(structure)?;
            for &(way, slot) in ways {
                *slot(self) = offset(&structure, way).ok_or(way)?;
            }
        }
        Ok(())
    }
}

/// Returns the offset of the member that `way` leads to, in its structure.
#[inline(never)]
fn offset(structure: &BtfValue<'_>, way: Lacking) -> Option<u32> {
    let (mut value, mut rest) = (*structure, way.as_bytes());
    let mut offset = 0u32;
    loop {
        let end = rest
            .iter()
            .position(|&byte| matches!(byte, b'.' | b':' | b'>'));
        let (name, behind) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
        let member = value.member(name)?;
        offset = offset.checked_add(member.bit_offset / 8)?;
        value = match behind.split_first() {
            None => return Some(offset),
            Some((b'>', next)) => {
                (offset, rest) = (0, next);
                member.value.pointee()??
            }
            Some((&by, next)) => {
                rest = next;
                offset = if by == b':' { 0 } else { offset };
                member.value
            }
        };
    }
}
