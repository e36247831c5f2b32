// SPDX-License-Identifier: GPL-2.0

//! Mounting the module's own file system.
//!
//! C header: [`include/linux/fs_context.h`](srctree/include/linux/fs_context.h)

use super::{
    super::{bindings as extra, calls},
    dir::Dir,
};
use kernel::{error::to_result, prelude::*, sync::Arc};

/// While it exists, users can mount the file system, at a mount point in sysfs or elsewhere. A
/// mount keeps the module loaded.
pub struct Mountable {
    /// Dropped after the file system.
    _root: Arc<Dir>,
}

impl Mountable {
    /// Lets users mount `root`, a directory without a parent. At most one may exist. Call it when
    /// loading the module, with nothing behind it that can fail; drop it when unloading.
    ///
    /// # Errors
    ///
    /// `EEXIST` or `EBUSY` if there is a mount point or a file system of its name; `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new(root: &Arc<Dir>) -> Result<Self> {
        // SAFETY: The node exists as long as this.
        to_result(unsafe { extra::ferroprobe_fs_begin(root.node.as_ptr()) })?;
        Ok(Self {
            _root: root.clone(),
        })
    }
}

impl Drop for Mountable {
    fn drop(&mut self) {
        calls::ferroprobe_fs_end();
    }
}
