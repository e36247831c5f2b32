// SPDX-License-Identifier: GPL-2.0

//! The module's own file system, as what can be mounted.
//!
//! C header: [`include/linux/fs_context.h`](srctree/include/linux/fs_context.h)

use super::{
    super::{bindings as extra, calls},
    dir::Dir,
};
use kernel::{error::to_result, prelude::*, sync::Arc};

/// While it exists, users can mount the file system, at a mount point in sysfs or elsewhere. A
/// mount holds the module.
pub struct Mountable {
    /// Dropped after what could be mounted.
    _root: Arc<Dir>,
}

impl Mountable {
    /// Lets users mount `root`, a directory without a parent. There is at most one. The caller is
    /// the function that loads the module, and does nothing behind this that fails; it is dropped
    /// when the module is being unloaded.
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
