// SPDX-License-Identifier: GPL-2.0

//! Memory that tasks map from a file, read-only.
//!
//! A mapping holds the file, which holds the module; the kernel counts references to each page.
//!
//! C header: [`include/linux/mm.h`](srctree/include/linux/mm.h)

use super::{bindings as extra, pages::View, word};
use kernel::{bindings, error::to_result, mm::virt::VmaNew, page::PAGE_SIZE, prelude::*};

/// A part of a task's address space that a file is being mapped to.
///
/// # Invariants
///
/// The area is in its file's `mmap`. It is not writable, and cannot become writable.
pub struct Area<'a>(&'a VmaNew);

impl<'a> Area<'a> {
    /// Makes the area read-only for good; it cannot grow, and a fork does not inherit it.
    ///
    /// # Errors
    ///
    /// `EPERM` unless the area is shared and read-only.
    pub(super) fn new(area: &'a VmaNew) -> Result<Self> {
        let shared = word(area.flags()) & extra::FERROPROBE_VM_MAYSHARE != 0;
        if !shared || area.writable() || area.executable() {
            return Err(EPERM);
        }
        area.try_clear_maywrite()?;
        area.set_dontcopy();
        area.set_dontexpand();
        area.set_dontdump();
        // INVARIANT: Checked above; the area cannot be made writable later.
        Ok(Self(area))
    }

    /// Returns where in the file the area begins, in pages of `PAGE_SIZE`.
    pub fn first(&self) -> usize {
        // SAFETY: The area is valid by the type invariant, and is not changed meanwhile.
        unsafe { (*self.0.as_ptr()).vm_pgoff }
    }

    /// Returns the number of pages of `PAGE_SIZE` in the area.
    pub fn count(&self) -> usize {
        self.0.end().saturating_sub(self.0.start()) / PAGE_SIZE
    }

    /// Maps the memory that lies `offset` bytes into the page `index` of `pages`, one
    /// page of `PAGE_SIZE`, as page number `at` of the area.
    ///
    /// The memory stays for as long as it is mapped, even if the pages are dropped.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no such page; `ENOMEM`, and other errors of
    /// `vm_insert_page()`.
    ///
    /// Context: the file's `mmap`.
    pub fn show(&self, at: usize, pages: View<'_>, index: u32, offset: usize) -> Result {
        let words = pages.page(index).ok_or(EINVAL)?;
        if at >= self.count() || offset % PAGE_SIZE != 0 || offset >= size_of_val(words) {
            return Err(EINVAL);
        }
        let memory = words.as_ptr().wrapping_byte_add(offset);
        let address = self.0.start().wrapping_add(at.wrapping_mul(PAGE_SIZE));
        // SAFETY: The address is in memory allocated by vmalloc, see
        // [`Pages`](super::pages::Pages).
        let page = unsafe { bindings::vmalloc_to_page(memory.cast()) };
        // SAFETY: By the type invariant the area is in `mmap`, whose caller holds its
        // lock for writing; the address is in the area; the page comes from vmalloc, and
        // its references are counted for each mapping.
        to_result(unsafe { bindings::vm_insert_page(self.0.as_ptr(), address, page) })
    }
}
