// SPDX-License-Identifier: GPL-2.0

//! A pipe that a file is spliced to.
//!
//! C header: [`include/linux/splice.h`](srctree/include/linux/splice.h)

use super::super::{bindings as extra, pages::View};
use core::mem::ManuallyDrop;
use kernel::{
    alloc::flags::__GFP_ZERO,
    bindings,
    error::to_result,
    page::{Page, PAGE_SIZE},
    prelude::*,
};

/// A pipe during a splice to it.
///
/// # Invariants
///
/// The pointer is valid, and the caller of `splice_read` has locked the pipe.
pub struct Pipe(pub(super) *mut bindings::pipe_inode_info);

impl Pipe {
    /// Returns how many pages can be added.
    pub(super) fn room(&self) -> usize {
        // SAFETY: The pipe is valid and locked by the type invariant.
        let room = unsafe { extra::ferroprobe_pipe_room(self.0) };
        // CAST: u32 to usize widens.
        room as usize
    }

    /// Adds the first `length` bytes of `page`.
    ///
    /// # Errors
    ///
    /// `EPIPE` if the pipe has no readers, `EAGAIN` if it has no room.
    pub(super) fn add(&mut self, page: OwnPage, length: usize) -> Result {
        // CAST: At most `PAGE_SIZE`.
        let length = length.min(PAGE_SIZE) as u32;
        let page = ManuallyDrop::new(page);
        // SAFETY: The page has no other user. The pipe is locked by the type invariant.
        // The reference to the page passes to the pipe.
        let added = unsafe { extra::ferroprobe_add_to_pipe(self.0, page.0.as_ptr(), length) };
        // CAST: A negative errno is small.
        to_result(added.min(0) as kernel::ffi::c_int)
    }

    /// Adds the memory of page `index` of `pages`, all of it or nothing, without a copy. The memory
    /// is shared, and must not be written, until [`View::is_unshared`] returns true again; it stays
    /// allocated until then, even if the pages are dropped.
    ///
    /// # Errors
    ///
    /// `EPIPE` if the pipe has no readers, `EAGAIN` if it has no room, `EINVAL` if there is no such
    /// page, or it is not a multiple of `PAGE_SIZE`.
    pub fn lend(&mut self, pages: View<'_>, index: u32) -> Result {
        let words = pages.page(index).ok_or(EINVAL)?;
        let size = size_of_val(words);
        if size % PAGE_SIZE != 0 {
            return Err(EINVAL);
        }
        if self.room() < size / PAGE_SIZE {
            return Err(EAGAIN);
        }
        // SAFETY: The memory comes from vmalloc, see `Pages`, and has whole pages. The pipe
        // is locked by the type invariant.
        let added = unsafe { extra::ferroprobe_lend_to_pipe(self.0, words.as_ptr().cast(), size) };
        to_result(added)
    }
}

/// A page without other users, initialised.
pub(super) struct OwnPage(Page);

impl OwnPage {
    /// Allocates a page of zeros.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new() -> Result<Self> {
        Ok(Self(Page::alloc_page(GFP_KERNEL | __GFP_ZERO)?))
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: The page is owned and has no other users, so nothing else accesses its
        // `PAGE_SIZE` bytes while it is borrowed; they were zeroed when it was allocated,
        // and are mapped, as no supported architecture has high memory.
        unsafe {
            let bytes = extra::ferroprobe_page_address(self.0.as_ptr());
            core::slice::from_raw_parts_mut(bytes.cast(), PAGE_SIZE)
        }
    }
}
