// SPDX-License-Identifier: GPL-2.0

//! Pages of memory.
//!
//! C header: [`include/linux/gfp.h`](srctree/include/linux/gfp.h)

use crate::{
    alloc::{AllocError, Flags},
    bindings,
};
use core::ptr::NonNull;

/// The size of a page, in bytes.
pub const PAGE_SIZE: usize = 1 << bindings::FERROPROBE_PAGE_SHIFT;

/// A page.
///
/// # Invariants
///
/// The pointer is to a page of which this has a reference.
pub struct Page(NonNull<bindings::page>);

// SAFETY: A page is bound to no thread.
unsafe impl Send for Page {}
// SAFETY: There is no access to its memory by a shared reference.
unsafe impl Sync for Page {}

impl Page {
    /// Allocates a page.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: as by the flags.
    pub fn alloc_page(flags: Flags) -> Result<Self, AllocError> {
        // SAFETY: The function allocates only.
        let page = unsafe { bindings::ferroprobe_alloc_page(flags.as_raw()) };
        // INVARIANT: The reference is the caller's.
        Ok(Self(NonNull::new(page).ok_or(AllocError)?))
    }

    /// Returns the pointer.
    pub fn as_ptr(&self) -> *mut bindings::page {
        self.0.as_ptr()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: The reference is this one's by the type invariant.
        unsafe { bindings::ferroprobe_free_page(self.0.as_ptr()) };
    }
}
