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
mod cpu;
mod pages;
mod percpu;
mod zeroed;

pub use alloc::{fail_allocation_after, AllocError, Arc, Box, Vec};
pub use atomic::{
    barrier, fence_acquire, fence_full, fence_release, set_hook, words_as_bytes,
    words_as_bytes_mut, AtomicU32, AtomicU64, LocalWord, PublishedWord,
};
pub use cpu::{cond_resched, has_cgroups, is_being_killed, kill_after, set_cgroups, OnCpu};
pub use pages::{Pages, View};
pub use percpu::PerCpu;
pub use zeroed::{Zeroable, Zeroed};

impl Zeroable for AtomicU64 {
    fn zeroed() -> Self {
        Self::new(0)
    }
}

impl Zeroable for LocalWord {
    fn zeroed() -> Self {
        Self::new(0)
    }
}

/// Stores `from` at `to`; in the kernel that can be quicker than `*to = from`.
#[inline(always)]
pub fn store<const N: usize>(to: &mut [u8; N], from: [u8; N]) {
    *to = from;
}

/// Stores `from` at the offset `at` of `to`; in the kernel that can be quicker. Returns false
/// if it does not fit.
#[inline(always)]
pub fn store_at<const N: usize>(to: &mut [u8], at: usize, from: [u8; N]) -> bool {
    let place = to.get_mut(at..at.wrapping_add(N));
    match place.and_then(|place| place.first_chunk_mut()) {
        Some(place) => *place = from,
        None => return false,
    }
    true
}

/// Copies `from` to `to`, as many bytes as both have.
pub fn copy_slice(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

/// Moves the `length` bytes at `from` to the beginning of `bytes`; nothing if there are fewer.
pub fn move_down(bytes: &mut [u8], from: usize, length: usize) {
    if from
        .checked_add(length)
        .is_some_and(|end| end <= bytes.len())
    {
        bytes.copy_within(from..from + length, 0);
    }
}

/// Copies `from` to `to`; in the kernel that can be quicker than `*to = *from`.
#[inline(always)]
pub fn copy<const N: usize>(to: &mut [u8; N], from: &[u8; N]) {
    *to = *from;
}
