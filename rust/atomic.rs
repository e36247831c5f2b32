// SPDX-License-Identifier: GPL-2.0

//! Atomic integers with the orderings of the kernel's memory model.
//!
//! They wrap the atomics of `core`, not of the kernel crate: kernels built by GCC do not
//! inline the helpers behind `kernel::sync::atomic`, so each load would be a call, and a
//! hit has about ten loads. On the supported architectures the relaxed, acquire and
//! release accesses of `core` compile to the same instructions as READ_ONCE(),
//! smp_load_acquire() and smp_store_release(). The fully ordered compare-exchange has
//! explicit fences around it, as the kernel's has on arm64.

use core::sync::atomic::{self, fence, Ordering};
use kernel::prelude::*;

/// Prevents reordering by the compiler, as seen by an interrupt on this CPU.
#[inline(always)]
pub fn barrier() {
    atomic::compiler_fence(Ordering::SeqCst);
}

/// Orders earlier loads before later accesses.
#[inline(always)]
pub fn fence_acquire() {
    fence(Ordering::Acquire);
}

/// Orders earlier accesses before later stores.
#[inline(always)]
pub fn fence_release() {
    fence(Ordering::Release);
}

/// Orders all earlier accesses before all later ones: smp_mb().
#[inline(always)]
pub fn fence_full() {
    fence(Ordering::SeqCst);
}

macro_rules! atomic_type {
    ($name:ident, $inner:ident, $value:ty) => {
        /// An integer that several contexts or CPUs access at once.
        #[repr(transparent)]
        pub struct $name(atomic::$inner);

        impl $name {
            /// Creates an atomic that holds `value`.
            pub const fn new(value: $value) -> Self {
                Self(atomic::$inner::new(value))
            }

            /// Loads the value; orders nothing.
            #[inline(always)]
            pub fn load_relaxed(&self) -> $value {
                self.0.load(Ordering::Relaxed)
            }

            /// Loads the value before all later accesses.
            #[inline(always)]
            pub fn load_acquire(&self) -> $value {
                self.0.load(Ordering::Acquire)
            }

            /// Stores `value`; orders nothing.
            #[inline(always)]
            pub fn store_relaxed(&self, value: $value) {
                self.0.store(value, Ordering::Relaxed);
            }

            /// Stores `value` after all earlier accesses.
            #[inline(always)]
            pub fn store_release(&self, value: $value) {
                self.0.store(value, Ordering::Release);
            }

            /// Replaces `old` by `new`; fully ordered if it succeeds.
            ///
            /// # Errors
            ///
            /// The value found, if it is not `old`.
            #[inline]
            pub fn cmpxchg_full(&self, old: $value, new: $value) -> Result<$value, $value> {
                fence(Ordering::SeqCst);
                let result = self
                    .0
                    .compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                result
            }

            /// Adds `value`, wrapping, and returns the previous value; orders nothing.
            #[inline]
            pub fn fetch_add_relaxed(&self, value: $value) -> $value {
                self.0.fetch_add(value, Ordering::Relaxed)
            }

            /// Replaces `old` by `new`, before all later accesses if it succeeds.
            ///
            /// # Errors
            ///
            /// The value found, if it is not `old`.
            #[inline(always)]
            pub fn cmpxchg_acquire(&self, old: $value, new: $value) -> Result<$value, $value> {
                self.0
                    .compare_exchange(old, new, Ordering::Acquire, Ordering::Relaxed)
            }

            /// Adds `value`, wrapping, after all earlier accesses.
            #[inline(always)]
            pub fn add_release(&self, value: $value) {
                self.0.fetch_add(value, Ordering::Release);
            }
        }
    };
}

atomic_type!(AtomicU32, AtomicU32, u32);
atomic_type!(AtomicU64, AtomicU64, u64);

// SAFETY: An atomic number has the layout of the number.
unsafe impl Zeroable for AtomicU64 {}

/// Returns the bytes of `words`.
///
/// # Safety
///
/// `words` must not be stored to while the result lives.
#[inline(always)]
pub unsafe fn words_as_bytes(words: &[AtomicU32]) -> &[u8] {
    // SAFETY: A word is four initialised bytes, the result borrows `words`, and the
    // caller guarantees that they do not change.
    unsafe { core::slice::from_raw_parts(words.as_ptr().cast::<u8>(), size_of_val(words)) }
}

/// Returns the bytes of `words` for writing.
///
/// # Safety
///
/// `words` must not be accessed in another way while the result lives, except by a reader
/// that discards what it read.
#[inline(always)]
#[expect(clippy::mut_from_ref, reason = "the words are interior mutable")]
pub unsafe fn words_as_bytes_mut(words: &[AtomicU32]) -> &mut [u8] {
    // SAFETY: A word is four initialised bytes that may change behind a shared reference,
    // and the caller guarantees exclusive access.
    unsafe {
        core::slice::from_raw_parts_mut(words.as_ptr().cast_mut().cast::<u8>(), size_of_val(words))
    }
}
