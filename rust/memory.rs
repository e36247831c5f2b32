// SPDX-License-Identifier: GPL-2.0

//! Memory of a size that users choose.
//!
//! C headers: [`include/linux/slab.h`](srctree/include/linux/slab.h),
//! [`include/linux/vmalloc.h`](srctree/include/linux/vmalloc.h)

use super::{bindings as extra, calls};
use core::{ops::Deref, ptr::NonNull};
use kernel::prelude::*;

/// Returns whether `bytes` can be allocated, in one piece or many, without invoking the OOM killer.
/// Concurrent allocations are not considered.
///
/// Context: process.
pub fn suffices(bytes: usize) -> bool {
    calls::ferroprobe_memory_suffices(bytes)
}

/// A zero-initialised array.
///
/// # Invariants
///
/// `memory` is aligned and has `count` initialised values, which belong to this value alone. It
/// was allocated by `ferroprobe_alloc_zeroed()`, unless they have no bytes.
pub struct ZeroedMemory<T: Zeroable> {
    memory: NonNull<T>,
    count: usize,
}

// SAFETY: The memory is bound to no thread.
unsafe impl<T: Zeroable + Send> Send for ZeroedMemory<T> {}
// SAFETY: Only shared references to the values are handed out.
unsafe impl<T: Zeroable + Sync> Sync for ZeroedMemory<T> {}

impl<T: Zeroable> ZeroedMemory<T> {
    /// Allocates `count` zeroes.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, without invoking the OOM killer.
    ///
    /// Context: process, may sleep.
    pub fn new(count: usize) -> Result<Self> {
        const { assert!(align_of::<T>() <= align_of::<u64>() && !core::mem::needs_drop::<T>()) };
        let bytes = count.checked_mul(size_of::<T>()).ok_or(ENOMEM)?;
        let memory = match bytes {
            0 => NonNull::dangling(),
            // SAFETY: The function has no requirements but its context.
            _ => NonNull::new(unsafe { extra::ferroprobe_alloc_zeroed(bytes) }.cast())
                .ok_or(ENOMEM)?,
        };
        // INVARIANT: kmalloc and vmalloc align to 8 bytes. Zeroes are a value of the type.
        Ok(Self { memory, count })
    }
}

impl<T: Zeroable> Deref for ZeroedMemory<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: By the type invariant.
        unsafe { core::slice::from_raw_parts(self.memory.as_ptr(), self.count) }
    }
}

impl<T: Zeroable> Drop for ZeroedMemory<T> {
    fn drop(&mut self) {
        if size_of_val(&**self) != 0 {
            // SAFETY: By the type invariant it was allocated so; it has no more users, and its
            // values have no drop.
            unsafe { extra::ferroprobe_free(self.memory.as_ptr().cast()) };
        }
    }
}
