// SPDX-License-Identifier: GPL-2.0

//! The location of a file's name in the kernel's structures.
//!
//! C headers: [`include/linux/dcache.h`](srctree/include/linux/dcache.h),
//! [`include/linux/fs.h`](srctree/include/linux/fs.h)

use super::bindings as extra;

/// Offset of the pointer to the name in `struct dentry`, in bytes.
pub const DENTRY_NAME: u32 = extra::FERROPROBE_DENTRY_NAME;

/// Offset of the pointer to the dentry in `struct file`, in bytes.
pub const FILE_DENTRY: u32 = extra::FERROPROBE_FILE_DENTRY;
