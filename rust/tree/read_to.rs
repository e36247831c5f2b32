// SPDX-License-Identifier: GPL-2.0

//! Where what is read of a file goes.

use kernel::{prelude::*, uaccess::UserSliceWriter};

/// The memory of a reader: a user's for `read(2)`, a page of a pipe for `splice(2)`.
pub enum ReadTo<'a> {
    /// Memory of the task that reads.
    User(UserSliceWriter),
    /// The rest of memory of the kernel.
    Kernel(&'a mut [u8]),
}

impl ReadTo<'_> {
    /// Returns how many bytes there is room for.
    pub fn len(&self) -> usize {
        match self {
            Self::User(to) => to.len(),
            Self::Kernel(room) => room.len(),
        }
    }

    /// Returns whether there is room for none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes `bytes`; what follows comes behind them.
    ///
    /// # Errors
    ///
    /// `EFAULT` if there is no room for them, or no memory.
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
