// SPDX-License-Identifier: GPL-2.0

//! Files and directories, independent of the file system that shows them.

use super::super::bindings as extra;
use core::ptr::{self, NonNull};
use kernel::{
    bindings,
    error::{from_err_ptr, to_result},
    ffi::c_void,
    prelude::*,
};

/// A file or directory; removed when dropped. The drop waits for `open(2)` in progress, but not for
/// open files.
///
/// # Invariants
///
/// The pointer is a node that was made, and not removed. A directory is dropped after what is in
/// it.
pub(super) struct Node(NonNull<extra::ferroprobe_node>);

// SAFETY: A node may be used by any thread.
unsafe impl Send for Node {}
// SAFETY: The functions of nodes lock what they change.
unsafe impl Sync for Node {}

impl Node {
    /// Makes the directory `name` in `parent`, or a root. It is invisible until [`Node::show`].
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(super) fn dir(name: &CStr, parent: Option<&Self>) -> Result<Self> {
        let parent = parent.map_or(ptr::null_mut(), Self::as_ptr);
        // SAFETY: The name is copied; the parent is null or a directory.
        Self::made(unsafe { extra::ferroprobe_node_dir(name.as_char_ptr(), parent) })
    }

    /// Makes the file `name` in `parent`, with the permissions `mode`. It is invisible until
    /// [`Node::show`].
    ///
    /// # Errors
    ///
    /// As for [`Node::dir`].
    ///
    /// # Safety
    ///
    /// `data` must be what the functions of `operations` expect, and exist as long as the node.
    ///
    /// Context: process, may sleep.
    pub(super) unsafe fn file(
        name: &CStr,
        parent: &Self,
        mode: u16,
        operations: &'static bindings::file_operations,
        data: *mut c_void,
    ) -> Result<Self> {
        let (name, parent) = (name.as_char_ptr(), parent.as_ptr());
        // SAFETY: The name is copied; the parent is a directory; the data suits the operations
        // by the function's contract.
        Self::made(unsafe { extra::ferroprobe_node_file(name, parent, mode, operations, data) })
    }

    fn made(node: *mut extra::ferroprobe_node) -> Result<Self> {
        // INVARIANT: Just made.
        NonNull::new(from_err_ptr(node)?).map(Self).ok_or(ENOMEM)
    }

    /// Returns the kernel's structure.
    pub(super) fn as_ptr(&self) -> *mut extra::ferroprobe_node {
        self.0.as_ptr()
    }

    /// Makes it visible.
    ///
    /// # Errors
    ///
    /// `EEXIST`, `ENOMEM`; for a root `ENODEV` if debugfs is off, `EPERM` if its use is not
    /// allowed.
    ///
    /// Context: process, may sleep.
    pub(super) fn show(&self) -> Result {
        // SAFETY: The node exists by the type invariant.
        to_result(unsafe { extra::ferroprobe_node_show(self.as_ptr()) })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // SAFETY: The node exists, and has no entries, by the type invariant.
        unsafe { extra::ferroprobe_node_remove(self.as_ptr()) };
    }
}
