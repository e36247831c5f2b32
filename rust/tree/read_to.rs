// SPDX-License-Identifier: GPL-2.0

//! The destination of a read.

use kernel::{prelude::*, uaccess::UserSliceWriter};

/// The memory of a reader: a user's for `read(2)`, a page of a pipe for `splice(2)`.
pub enum ReadTo<'a> {
    /// Memory of the reading task.
    User(UserSliceWriter),
    /// The rest of a page of the kernel.
    Kernel(&'a mut [u8]),
}

impl ReadTo<'_> {
    /// Returns the number of bytes that fit.
    pub fn len(&self) -> usize {
        match self {
            Self::User(to) => to.len(),
            Self::Kernel(room) => room.len(),
        }
    }

    /// Returns whether there is no room left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes `bytes` and advances.
    ///
    /// # Errors
    ///
    /// `EFAULT` if they do not fit, or the memory is not mapped.
    pub fn write_slice(&mut self, bytes: &[u8]) -> Result {
        match self {
            Self::User(to) => to.write_slice(bytes),
            Self::Kernel(room) => {
                let whole = core::mem::take(room);
                let (to, rest) = whole.split_at_mut_checked(bytes.len()).ok_or(EFAULT)?;
                to.copy_from_slice(bytes);
                *room = rest;
                Ok(())
            }
        }
    }
}
