// SPDX-License-Identifier: GPL-2.0

//! The host's side of the facade on which the engine stands.
//!
//! The module's side is `src/sys.rs`; both offer the same names. Allocation is
//! fallible here as it is in the kernel: [`fail_allocation_after`] makes a
//! chosen allocation of the calling thread fail, so that tests can walk
//! through every one of them. Atomic operations can be interrupted: see
//! [`set_hook`].

mod alloc;
mod atomic;
mod pages;

pub use alloc::{fail_allocation_after, AllocError, Arc, Box, Vec};
pub use atomic::{
    barrier, fence_acquire, fence_full, fence_release, set_hook, words_as_bytes,
    words_as_bytes_mut, AtomicU32, AtomicU64, LocalPair,
};
pub use pages::Pages;

use core::marker::PhantomData;

/// Proof that the caller stays on its CPU for as long as it is borrowed.
///
/// On the host a "CPU" is what a test calls so: a thread that writes alone, and
/// the hooks inside it.
#[derive(Debug)]
pub struct OnCpu(u32, PhantomData<*const ()>);

impl OnCpu {
    /// A proof for a caller that takes the part of the CPU `number`.
    ///
    /// # Safety
    ///
    /// While the value lives nothing takes the part of that CPU but the calling
    /// thread, including its hooks.
    pub unsafe fn new(number: u32) -> Self {
        Self(number, PhantomData)
    }

    /// The number of the CPU.
    #[inline]
    pub fn number(&self) -> u32 {
        self.0
    }
}
