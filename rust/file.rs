// SPDX-License-Identifier: GPL-2.0

//! An open file, as seen by its operations.
//!
//! C header: [`include/linux/fs.h`](srctree/include/linux/fs.h)

use super::bindings as extra;
use kernel::bindings;

/// The file of an opening, during one of its operations.
///
/// # Invariants
///
/// The pointer is valid during the operation.
pub struct OpenFile(pub(super) *mut bindings::file);

impl OpenFile {
    /// Returns the kernel's structure.
    pub(super) fn as_ptr(&self) -> *mut bindings::file {
        self.0
    }

    fn flags(&self) -> u32 {
        // SAFETY: The pointer is valid by the type invariant.
        unsafe { (&raw const (*self.0).f_flags).read_volatile() }
    }

    /// Returns whether operations must not block.
    pub fn is_nonblocking(&self) -> bool {
        self.flags() & bindings::O_NONBLOCK != 0
    }

    /// Returns whether the file is open for writing.
    pub fn is_writable(&self) -> bool {
        self.flags() & bindings::O_ACCMODE != bindings::O_RDONLY
    }

    /// Returns whether the file is open for reading.
    pub fn is_readable(&self) -> bool {
        self.flags() & bindings::O_ACCMODE != bindings::O_WRONLY
    }

    /// Returns whether opening discards the contents of the file, as the shell's `>`
    /// does.
    pub fn truncates(&self) -> bool {
        self.is_writable() && self.flags() & bindings::O_TRUNC != 0
    }

    /// Writes the path of the file in its file system to `buffer`, and returns it; `None` if it
    /// does not fit.
    ///
    /// Context: process.
    pub fn path<'a>(&self, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        // SAFETY: The pointer is valid by the type invariant. The function writes only to
        // `buffer`, and not more than its length.
        let length = unsafe {
            extra::ferroprobe_file_path(self.0, buffer.as_mut_ptr().cast(), buffer.len())
        };
        buffer.get(..length).filter(|path| !path.is_empty())
    }
}
