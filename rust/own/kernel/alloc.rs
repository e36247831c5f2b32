// SPDX-License-Identifier: GPL-2.0

//! Memory of the kernel's heap.
//!
//! C header: [`include/linux/slab.h`](srctree/include/linux/slab.h)

mod boxed;
mod vec;

use crate::{bindings, ffi::c_void, types::dangling};
pub use boxed::Box;
use core::{alloc::Layout, ops::BitOr, ptr::NonNull};
pub use vec::{IntoIter, PushError, RemoveError, Vec};

/// An allocation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocError;

/// How memory is allocated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    /// Returns the number.
    pub(crate) fn as_raw(self) -> bindings::gfp_t {
        self.0
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The flags.
pub mod flags {
    use super::{bindings, Flags};

    /// May sleep, and reclaim memory of all kinds.
    pub const GFP_KERNEL: Flags = Flags(bindings::FERROPROBE_GFP_KERNEL);
    /// The memory is zeroes.
    pub const __GFP_ZERO: Flags = Flags(bindings::FERROPROBE_GFP_ZERO);
}

/// A part of the kernel that gives memory.
///
/// # Safety
///
/// `realloc` returns memory of the layout, with the old content as far as that fits, which nothing
/// else uses until it is given back.
pub unsafe trait Allocator {
    /// Gets memory, or other memory for `old`; without a size, gives it back.
    ///
    /// # Errors
    ///
    /// [`AllocError`]; then the old memory stays.
    ///
    /// # Safety
    ///
    /// `old` is from here, with a layout of that alignment, and is not used any more if this
    /// succeeds.
    unsafe fn realloc(
        old: Option<NonNull<u8>>,
        layout: Layout,
        flags: Flags,
    ) -> Result<NonNull<u8>, AllocError>;

    /// Gives memory back.
    ///
    /// # Safety
    ///
    /// It is from here, and is not used any more.
    unsafe fn free(memory: NonNull<u8>);
}

/// The largest alignment that the kernel's allocators give for any size: a word's. They give
/// a size that is a power of two its own.
const WORD: usize = align_of::<u64>();

/// Returns the size to request for a layout, so that its alignment is given.
fn aligned_size(layout: Layout) -> usize {
    match layout.align() <= WORD {
        true => layout.size(),
        // Since 5.4, kmalloc() aligns powers of two to themselves.
        false => layout.size().max(layout.align()).next_power_of_two(),
    }
}

/// `kmalloc()`: memory without a gap, little of it.
pub struct Kmalloc;

/// `kvmalloc()`: much memory, which may be mapped page by page.
pub struct KVmalloc;

/// Implements [`Allocator`] by two functions of C.
macro_rules! allocator {
    ($name:ident, $realloc:ident, $free:ident) => {
        // SAFETY: The functions do what the trait says.
        unsafe impl Allocator for $name {
            /// # Safety
            ///
            /// The conditions of the trait hold.
            #[inline]
            unsafe fn realloc(
                old: Option<NonNull<u8>>,
                layout: Layout,
                flags: Flags,
            ) -> Result<NonNull<u8>, AllocError> {
                let pointer = old.map_or(core::ptr::null_mut(), NonNull::as_ptr);
                // SAFETY: By the promise of the caller.
                let memory = unsafe {
                    bindings::$realloc(pointer.cast(), aligned_size(layout), flags.as_raw())
                };
                NonNull::new(memory.cast::<u8>()).ok_or(AllocError)
            }

            /// # Safety
            ///
            /// The conditions of the trait hold.
            #[inline]
            unsafe fn free(memory: NonNull<u8>) {
                // SAFETY: By the promise of the caller.
                unsafe { bindings::$free(memory.as_ptr().cast::<c_void>()) };
            }
        }
    };
}
allocator!(Kmalloc, ferroprobe_krealloc, ferroprobe_kfree);
allocator!(KVmalloc, ferroprobe_kvrealloc, ferroprobe_kvfree);

/// An owned value in memory of [`Kmalloc`].
pub type KBox<T> = Box<T, Kmalloc>;
/// An array that grows, in memory of [`Kmalloc`].
pub type KVec<T> = Vec<T, Kmalloc>;
/// An array that grows, in memory of [`KVmalloc`].
pub type KVVec<T> = Vec<T, KVmalloc>;

/// Allocates for one `T`.
fn one<T, A: Allocator>(flags: Flags) -> Result<NonNull<T>, AllocError> {
    let layout = Layout::new::<T>();
    if layout.size() == 0 {
        return NonNull::new(dangling::<T>()).ok_or(AllocError);
    }
    // SAFETY: There is no old memory.
    Ok(unsafe { A::realloc(None, layout, flags) }?.cast())
}
