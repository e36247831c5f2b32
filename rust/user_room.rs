// SPDX-License-Identifier: GPL-2.0

//! User memory as the destination of a read, without page faults.
//!
//! C header: [`include/linux/uaccess.h`](srctree/include/linux/uaccess.h)

use super::bindings as extra;
use kernel::{ffi::c_void, uaccess::UserPtr};

/// The memory of a `read(2)`, which may not be present.
pub struct UserRoom {
    start: UserPtr,
    length: usize,
}

impl UserRoom {
    /// Makes it for `length` bytes at `start`.
    pub(super) fn new(start: UserPtr, length: usize) -> Self {
        Self { start, length }
    }

    /// Returns the requested number of bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Copies `bytes` to the start of the memory. Returns false if not all of them could be copied:
    /// there is too little room, or some memory is not present. Some bytes may have been copied
    /// then.
    ///
    /// Context: process; does not sleep, so the caller may hold locks under which page faults are
    /// not allowed.
    pub fn put_at_once(&self, bytes: &[u8]) -> bool {
        let to = self.start.as_mut_ptr().cast::<c_void>();
        bytes.len() <= self.length
            // SAFETY: `bytes` are readable; the function checks that `to` is user memory,
            // and fails if that cannot be written.
            && unsafe { extra::ferroprobe_copy_at_once(to, bytes.as_ptr().cast(), bytes.len()) }
    }
}
