// SPDX-License-Identifier: GPL-2.0

//! Reading files that the kernel itself offers.
//!
//! C header: [`include/linux/fs.h`](srctree/include/linux/fs.h)

use kernel::{bindings, error::from_err_ptr, ffi::c_int, prelude::*};

/// Bytes that are read at once.
const STEP: usize = 16 * 1024;

/// An open file; closed when dropped.
///
/// # Invariants
///
/// The pointer is a counted reference to an open file.
struct Opened(*mut bindings::file);

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::filp_close(self.0, core::ptr::null_mut()) };
    }
}

/// Everything in the file at `path`, as the running task may read it, in pieces
/// that `each` is given one after the other until it returns false.
///
/// # Errors
///
/// What opening or reading returns.
///
/// Context: process, may sleep.
pub fn read(path: &CStr, mut each: impl FnMut(&[u8]) -> bool) -> Result {
    let mut piece: KVVec<u8> = KVVec::from_elem(0, STEP, GFP_KERNEL)?;
    // CAST: The flags are bits; the kernel's parameter is signed.
    let flags = bindings::O_RDONLY as c_int;
    // SAFETY: The path is a string.
    let file = unsafe { bindings::filp_open(path.as_char_ptr(), flags, 0) };
    let file = from_err_ptr(file)?;
    // INVARIANT: Opened above.
    let file = Opened(file);
    let mut offset = 0;
    loop {
        // SAFETY: The file is open and the memory has that many bytes.
        let length = unsafe {
            bindings::kernel_read(file.0, piece.as_mut_ptr().cast(), piece.len(), &mut offset)
        };
        if length < 0 {
            // CAST: An errno.
            return Err(Error::from_errno(length as i32));
        }
        let read = piece.get(..length as usize).unwrap_or_default();
        if read.is_empty() || !each(read) {
            return Ok(());
        }
    }
}
