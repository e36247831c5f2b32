// SPDX-License-Identifier: GPL-2.0

//! Directories in debugfs.

use super::{super::calls, openings::Openings};
use core::ptr;
use kernel::{bindings, error::from_err_ptr, prelude::*, sync::Arc};

/// A directory; removed when its last entry and the last reference are dropped.
///
/// # Invariants
///
/// `dentry` is a directory in debugfs, created by [`Dir::new`] or [`LateDir::new`](super::LateDir::new).
pub struct Dir {
    pub(super) dentry: *mut bindings::dentry,
    /// Counts the openings of the files below it.
    pub(super) openings: Option<Arc<Openings>>,
    /// Keeps the parent directory.
    _parent: Option<Arc<Dir>>,
}

// SAFETY: A dentry may be used by any thread.
unsafe impl Send for Dir {}
// SAFETY: debugfs locks what it changes.
unsafe impl Sync for Dir {}

impl Dir {
    /// Creates the directory `name` in `parent`, or at the root of debugfs.
    ///
    /// # Errors
    ///
    /// `EEXIST`, `ENOMEM`; `ENODEV` if debugfs is off, `EPERM` if its use is not allowed.
    ///
    /// Context: process, may sleep.
    pub fn new(name: &CStr, parent: Option<Arc<Dir>>) -> Result<Arc<Self>> {
        let openings = parent.as_ref().and_then(|parent| parent.openings.clone());
        Self::create(name, parent, openings)
    }

    /// As [`Dir::new`], for a directory below which `openings` counts the open files.
    ///
    /// # Errors
    ///
    /// As for [`Dir::new`].
    ///
    /// Context: process, may sleep.
    pub fn counted(name: &CStr, parent: &Arc<Dir>, openings: Arc<Openings>) -> Result<Arc<Self>> {
        Self::create(name, Some(parent.clone()), Some(openings))
    }

    fn create(
        name: &CStr,
        parent: Option<Arc<Dir>>,
        openings: Option<Arc<Openings>>,
    ) -> Result<Arc<Self>> {
        let above = parent
            .as_ref()
            .map_or(ptr::null_mut(), |parent| parent.dentry);
        // SAFETY: The name is copied; the parent is null or a directory.
        let dentry = unsafe { bindings::debugfs_create_dir(name.as_char_ptr(), above) };
        // INVARIANT: Created above.
        Self::made(from_err_ptr(dentry)?, parent, openings)
    }

    /// Returns the directory `dentry`, which was created in `parent`, with what counts the
    /// openings of its files.
    pub(super) fn made(
        dentry: *mut bindings::dentry,
        parent: Option<Arc<Dir>>,
        openings: Option<Arc<Openings>>,
    ) -> Result<Arc<Self>> {
        calls::ferroprobe_count_files(1);
        let dir = Self {
            dentry,
            openings,
            _parent: parent,
        };
        Ok(Arc::new(dir, GFP_KERNEL)?)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        // SAFETY: `dentry` is a directory by the type invariant; its entries hold
        // references to it, so it is empty.
        unsafe { bindings::debugfs_remove(self.dentry) };
        calls::ferroprobe_count_files(-1);
    }
}
