// SPDX-License-Identifier: GPL-2.0

//! The model checker's side of the facade: loom's atomics, and faults.
//!
//! A [`Fault`] weakens one kind of operation everywhere. Tests inject each of
//! them to see that the model finds it: that shows both that the model can
//! fail and that the ring needs the order it asks for.

#[path = "../../host/src/sys/alloc.rs"]
mod alloc;
#[path = "../../host/src/sys/cpu.rs"]
mod cpu;
#[path = "../../host/src/sys/pages.rs"]
mod pages;
#[path = "../../host/src/sys/percpu.rs"]
mod percpu;
#[path = "../../host/src/sys/zeroed.rs"]
mod zeroed;

use std::sync::atomic::{AtomicU8, Ordering as StdOrdering};

use loom::sync::atomic::{self, Ordering};

pub use alloc::{fail_allocation_after, AllocError, Arc, Box, Vec};
pub use cpu::{cond_resched, has_cgroups, is_being_killed, kill_after, set_cgroups, OnCpu};
pub use pages::{Pages, View};
pub use percpu::PerCpu;
pub use zeroed::{Zeroable, Zeroed};

impl Zeroable for AtomicU64 {
    fn zeroed() -> Self {
        Self::new(0)
    }
}

impl Zeroable for PublishedWord {
    fn zeroed() -> Self {
        Self::new(0)
    }
}

/// An order that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// All is as it should be.
    None,
    /// `store_release` orders nothing: the commit is seen before the event.
    Release,
    /// `load_acquire` orders nothing: the event is read before the commit.
    Acquire,
    /// `cmpxchg_full` orders nothing: a page is written before it is claimed.
    Exchange,
    /// `fence_acquire` does nothing: the second look comes before the copy.
    Fence,
}

static FAULT: AtomicU8 = AtomicU8::new(Fault::None as u8);

/// Leaves out one order from now on, in all threads.
pub fn inject(fault: Fault) {
    FAULT.store(fault as u8, StdOrdering::SeqCst);
}

fn is(fault: Fault) -> bool {
    FAULT.load(StdOrdering::SeqCst) == fault as u8
}

fn unless(fault: Fault, order: Ordering) -> Ordering {
    if is(fault) {
        Ordering::Relaxed
    } else {
        order
    }
}

/// Orders what the compiler may reorder; a model has none.
pub fn barrier() {}

/// Orders earlier loads before later accesses.
pub fn fence_acquire() {
    if !is(Fault::Fence) {
        atomic::fence(Ordering::Acquire);
    }
}

/// Orders earlier accesses before later stores.
pub fn fence_release() {
    if !is(Fault::Release) {
        atomic::fence(Ordering::Release);
    }
}

/// Orders earlier accesses before later ones.
pub fn fence_full() {
    atomic::fence(Ordering::SeqCst);
}

macro_rules! atomic_type {
    ($name:ident, $value:ty) => {
        /// An integer whose every possible value is explored.
        #[derive(Debug)]
        pub struct $name(atomic::$name);

        impl $name {
            /// An atomic holding `value`.
            pub fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            /// Loads the value; orders nothing.
            pub fn load_relaxed(&self) -> $value {
                self.0.load(Ordering::Relaxed)
            }

            /// Loads the value before all later accesses.
            pub fn load_acquire(&self) -> $value {
                self.0.load(unless(Fault::Acquire, Ordering::Acquire))
            }

            /// Stores `value`; orders nothing.
            pub fn store_relaxed(&self, value: $value) {
                self.0.store(value, Ordering::Relaxed);
            }

            /// Stores `value` after all earlier accesses.
            pub fn store_release(&self, value: $value) {
                self.0
                    .store(value, unless(Fault::Release, Ordering::Release));
            }

            /// Replaces `old` by `new`, fully ordered when it succeeds.
            ///
            /// # Errors
            ///
            /// The value found, when it is not `old`.
            pub fn cmpxchg_full(&self, old: $value, new: $value) -> Result<$value, $value> {
                if is(Fault::Exchange) {
                    return self
                        .0
                        .compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed);
                }
                atomic::fence(Ordering::AcqRel);
                let found = self
                    .0
                    .compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed);
                atomic::fence(Ordering::AcqRel);
                found
            }

            /// Adds `value`, wrapping, and returns the value before; orders
            /// nothing.
            pub fn fetch_add_relaxed(&self, value: $value) -> $value {
                self.0.fetch_add(value, Ordering::Relaxed)
            }

            /// Replaces `old` by `new`, before all later accesses if it succeeds.
            ///
            /// # Errors
            ///
            /// The value found, when it is not `old`.
            pub fn cmpxchg_acquire(&self, old: $value, new: $value) -> Result<$value, $value> {
                let order = unless(Fault::Exchange, Ordering::Acquire);
                self.0.compare_exchange(old, new, order, Ordering::Relaxed)
            }

            /// Adds `value`, wrapping, after all earlier accesses.
            pub fn add_release(&self, value: $value) {
                let order = unless(Fault::Release, Ordering::Release);
                self.0.fetch_add(value, order);
            }
        }
    };
}

atomic_type!(AtomicU32, u32);
atomic_type!(AtomicU64, u64);

/// A word that only one CPU changes.
///
/// No interrupts here, and no other CPU looks at it: an ordinary atomic, which
/// spares the model what cannot differ.
#[derive(Debug)]
pub struct LocalWord(std::sync::atomic::AtomicU64);

impl LocalWord {
    /// A word that holds `value`.
    pub const fn new(value: u64) -> Self {
        Self(std::sync::atomic::AtomicU64::new(value))
    }

    /// Loads the value.
    pub fn load(&self) -> u64 {
        self.0.load(StdOrdering::Relaxed)
    }

    /// Replaces the value if it is `old`, and says whether it did.
    pub fn compare_exchange(&self, old: u64, new: u64) -> bool {
        let same = self.load() == old;
        if same {
            self.0.store(new, StdOrdering::Relaxed);
        }
        same
    }
}

/// A word that one CPU changes and that others read.
///
/// Interrupts are not modelled: a test calls the steps of a nested writer between the
/// steps of the interrupted one.
#[derive(Debug)]
pub struct PublishedWord(atomic::AtomicU64);

impl PublishedWord {
    /// A word that holds `value`.
    pub fn new(value: u64) -> Self {
        Self(atomic::AtomicU64::new(value))
    }

    /// Loads the value.
    pub fn load(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Replaces the value if it is `old`, and says whether it did.
    pub fn compare_exchange(&self, old: u64, new: u64) -> bool {
        // Of one CPU: what it stored last is what it loads.
        let same = self.load() == old;
        if same {
            self.0.store(new, Ordering::Relaxed);
        }
        same
    }

    /// Adds 1, wrapping.
    pub fn increment(&self) {
        self.add(1);
    }

    /// Adds `value`, wrapping.
    pub fn add(&self, value: u64) {
        self.0
            .store(self.load().wrapping_add(value), Ordering::Relaxed);
    }
}

/// The bytes of `words`, which a model's atomics do not have.
///
/// # Safety
///
/// None is needed: it panics.
pub unsafe fn words_as_bytes(_words: &[AtomicU32]) -> &[u8] {
    panic!("the model reads words")
}

/// The bytes of `words`, which a model's atomics do not have.
///
/// # Safety
///
/// None is needed: it panics.
#[expect(clippy::mut_from_ref, reason = "the words are interior mutable")]
pub unsafe fn words_as_bytes_mut(_words: &[AtomicU32]) -> &mut [u8] {
    panic!("the model writes words")
}

/// Stores `from` at `to`; in the kernel that can be quicker than `*to = from`.
#[inline(always)]
pub fn store<const N: usize>(to: &mut [u8; N], from: [u8; N]) {
    *to = from;
}

/// Stores `from` at the offset `at` of `to`. Returns false if it does not fit.
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

/// Copies `from` to `to`.
#[inline(always)]
pub fn copy<const N: usize>(to: &mut [u8; N], from: &[u8; N]) {
    *to = *from;
}
