// SPDX-License-Identifier: GPL-2.0

//! Reads of files that the kernel itself provides.
//!
//! They go through a private mount of the module, which is in no mount namespace. A normal path
//! lookup would start at the root of the current task, which in a chroot or another mount namespace
//! may have other files of the same name: forged files, or FIFOs that block.
//!
//! C headers: [`include/linux/fs.h`](srctree/include/linux/fs.h),
//! [`include/linux/mount.h`](srctree/include/linux/mount.h)

use super::bindings as extra;
use core::ptr;
use kernel::{bindings, error::from_err_ptr, prelude::*};

/// The number of bytes that are read at once.
const STEP: usize = 16 * 1024;

/// An open file; closed when dropped.
///
/// # Invariants
///
/// The pointer is a counted reference to an open file.
struct Opened(*mut bindings::file);

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: The pointer is a counted reference by the type invariant.
        unsafe { bindings::filp_close(self.0, ptr::null_mut()) };
    }
}

/// Reads the file at `path`, relative to the root of sysfs, and passes its contents to
/// `each` in pieces until `each` returns false.
///
/// # Errors
///
/// The errors of mounting sysfs, opening and reading; `ENODEV` if the kernel has no
/// sysfs.
///
/// Context: process, may sleep.
pub fn read_sysfs(path: &CStr, mut each: impl FnMut(&[u8]) -> bool) -> Result {
    let mut piece: KVVec<u8> = KVVec::from_elem(0, STEP, GFP_KERNEL)?;
    // SAFETY: The path is a NUL-terminated string.
    let file = unsafe { extra::ferroprobe_open_sysfs(path.as_char_ptr()) };
    // INVARIANT: Opened above.
    let file = Opened(from_err_ptr(file)?);
    let mut offset = 0;
    loop {
        // SAFETY: The file is open, and the memory has that many bytes.
        let length = unsafe {
            bindings::kernel_read(file.0, piece.as_mut_ptr().cast(), piece.len(), &mut offset)
        };
        if length < 0 {
            // CAST: A negative errno.
            return Err(Error::from_errno(length as i32));
        }
        let read = piece.get(..length as usize).unwrap_or_default();
        if read.is_empty() || !each(read) {
            return Ok(());
        }
    }
}
