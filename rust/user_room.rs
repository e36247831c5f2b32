// SPDX-License-Identifier: GPL-2.0

//! User memory that a file is read to, if it is there.
//!
//! C header: [`include/linux/uaccess.h`](srctree/include/linux/uaccess.h)

use super::bindings as extra;
use kernel::{ffi::c_void, uaccess::UserPtr};

/// The memory of a `read(2)`, which may have to be brought in.
pub struct UserRoom {
    start: UserPtr,
    length: usize,
}

impl UserRoom {
    /// The memory of `length` bytes at `start`.
    pub(super) fn new(start: UserPtr, length: usize) -> Self {
        Self { start, length }
    }

    /// Returns the number of bytes that are requested.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Copies `bytes` to the start of the memory. Returns false if they could not all be
    /// copied: there is too little room, or some of the memory is not there. Part of them
    /// may have been copied then.
    ///
    /// Context: process; does not sleep, so the caller may hold locks under which the
    /// memory must not be brought in.
    pub fn put_at_once(&self, bytes: &[u8]) -> bool {
        let to = self.start.as_mut_ptr().cast::<c_void>();
        bytes.len() <= self.length
            // SAFETY: `bytes` are readable; the function checks that `to` is user memory,
            // and fails if that cannot be written.
            && unsafe { extra::ferroprobe_copy_at_once(to, bytes.as_ptr().cast(), bytes.len()) }
    }
}
