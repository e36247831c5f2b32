// SPDX-License-Identifier: GPL-2.0

//! Memory that tasks map from a file, to look at it.
//!
//! C header: [`include/linux/mm.h`](srctree/include/linux/mm.h)

use super::{bindings as extra, pages::Pages, word};
use kernel::{bindings, error::to_result, mm::virt::VmaNew, page::PAGE_SIZE, prelude::*};

/// A part of a task's addresses, while a file is being mapped to it.
///
/// # Invariants
///
/// The area is in its file's `mmap`, and nobody can write to it or will ever.
pub struct Area<'a>(&'a VmaNew);

impl<'a> Area<'a> {
    /// The area, for looking only: it cannot be written, grow, or be inherited
    /// by a fork.
    ///
    /// # Errors
    ///
    /// `EPERM` unless it is shared, and for reading alone.
    pub(super) fn new(area: &'a VmaNew) -> Result<Self> {
        let shared = word(area.flags()) & extra::FERROPROBE_VM_MAYSHARE != 0;
        if !shared || area.writable() || area.executable() {
            return Err(EPERM);
        }
        area.try_clear_maywrite()?;
        area.set_dontcopy();
        area.set_dontexpand();
        area.set_dontdump();
        // INVARIANT: Checked above, and cannot be made writable later.
        Ok(Self(area))
    }

    /// Where in the file it begins, in pages of the processor.
    pub fn first(&self) -> usize {
        // SAFETY: By the type invariant valid, and nobody changes it meanwhile.
        unsafe { (*self.0.as_ptr()).vm_pgoff }
    }

    /// Pages of the processor in it.
    pub fn count(&self) -> usize {
        self.0.end().saturating_sub(self.0.start()) / PAGE_SIZE
    }

    /// Shows the page of the processor that lies `offset` bytes into the page
    /// `index` of `pages` as number `at` of the area.
    ///
    /// The memory stays as long as it is mapped, even if `pages` is dropped.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is no such page; `ENOMEM`, and others of
    /// `vm_insert_page`.
    ///
    /// Context: the file's `mmap`.
    pub fn show(&self, at: usize, pages: &Pages, index: u32, offset: usize) -> Result {
        let words = pages.page(index).ok_or(EINVAL)?;
        if at >= self.count() || offset % PAGE_SIZE != 0 || offset >= size_of_val(words) {
            return Err(EINVAL);
        }
        let memory = words.as_ptr().wrapping_byte_add(offset);
        let address = self.0.start().wrapping_add(at.wrapping_mul(PAGE_SIZE));
        // SAFETY: Within memory that vmalloc gave, see `Pages`.
        let page = unsafe { bindings::vmalloc_to_page(memory.cast()) };
        // SAFETY: By the type invariant the area is in `mmap`, whose caller holds
        // its lock for writing; the address is in it; the page is one of vmalloc,
        // and is counted for each mapping.
        to_result(unsafe { bindings::vm_insert_page(self.0.as_ptr(), address, page) })
    }
}
