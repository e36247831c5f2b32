// SPDX-License-Identifier: GPL-2.0

//! Parts of an address space.
//!
//! C header: [`include/linux/mm.h`](srctree/include/linux/mm.h)

use crate::{
    bindings,
    error::{code::EINVAL, Result},
    types::Opaque,
};

/// A part of an address space that is being set up: in `mmap` of a file.
///
/// # Invariants
///
/// Nothing else uses it, and the lock of the address space is held for writing.
#[repr(transparent)]
pub struct VmaNew(Opaque<bindings::vm_area_struct>);

impl VmaNew {
    /// Makes a reference of the pointer that the kernel passes to `mmap`.
    ///
    /// # Safety
    ///
    /// The pointer is valid for the lifetime, and in `mmap`.
    pub unsafe fn from_raw<'a>(area: *mut bindings::vm_area_struct) -> &'a Self {
        // SAFETY: By the promise of the caller; the type is transparent.
        unsafe { &*area.cast::<Self>() }
    }

    /// Returns the pointer.
    pub fn as_ptr(&self) -> *mut bindings::vm_area_struct {
        self.0.get()
    }

    /// Returns the flags.
    pub fn flags(&self) -> usize {
        // SAFETY: Valid by the type invariant.
        unsafe { bindings::ferroprobe_vma_flags(self.as_ptr()) }
    }

    /// Sets and clears flags.
    fn change(&self, set: u64, clear: u64) {
        // CAST: `unsigned long` has 64 bits.
        let (set, clear) = (set as usize, clear as usize);
        // SAFETY: By the type invariant nothing else uses the area.
        unsafe { bindings::ferroprobe_vma_change(self.as_ptr(), set, clear) };
    }

    fn has(&self, flag: u64) -> bool {
        // CAST: `unsigned long` has 64 bits.
        self.flags() & flag as usize != 0
    }

    /// Returns where it begins.
    pub fn start(&self) -> usize {
        // SAFETY: Valid by the type invariant.
        unsafe { bindings::ferroprobe_vma_start(self.as_ptr()) }
    }

    /// Returns where it ends.
    pub fn end(&self) -> usize {
        // SAFETY: Valid by the type invariant.
        unsafe { bindings::ferroprobe_vma_end(self.as_ptr()) }
    }

    /// Returns whether it can be written.
    pub fn writable(&self) -> bool {
        self.has(bindings::FERROPROBE_VM_WRITE)
    }

    /// Returns whether it can be executed.
    pub fn executable(&self) -> bool {
        self.has(bindings::FERROPROBE_VM_EXEC)
    }

    /// Makes it read-only for good.
    ///
    /// # Errors
    ///
    /// `EINVAL` if it can be written now.
    pub fn try_clear_maywrite(&self) -> Result {
        if self.writable() {
            return Err(EINVAL);
        }
        self.change(0, bindings::FERROPROBE_VM_MAYWRITE);
        Ok(())
    }

    /// A fork does not inherit it.
    pub fn set_dontcopy(&self) {
        self.change(bindings::FERROPROBE_VM_DONTCOPY, 0);
    }

    /// It cannot grow.
    pub fn set_dontexpand(&self) {
        self.change(bindings::FERROPROBE_VM_DONTEXPAND, 0);
    }

    /// It is not in a core dump.
    pub fn set_dontdump(&self) {
        self.change(bindings::FERROPROBE_VM_DONTDUMP, 0);
    }
}
