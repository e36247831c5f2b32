// SPDX-License-Identifier: GPL-2.0

//! The words of a table, of one CPU or shared.

use crate::sys::{self, AtomicU64, PublishedWord, Zeroable};

/// A word that writers change and readers on any CPU read. All operations are relaxed; only
/// [`HistWord::fence_key`] orders.
pub trait HistWord: Zeroable {
    /// Returns the value.
    ///
    /// Context: any.
    fn load(&self) -> u64;

    /// Replaces the value by `new` if it is `old`, and returns whether it did.
    ///
    /// Context: any, where the table is written.
    fn compare_exchange(&self, old: u64, new: u64) -> bool;

    /// Adds `value`, wrapping.
    ///
    /// Context: any, where the table is written.
    fn add(&self, value: u64);

    /// Adds 1, wrapping.
    ///
    /// Context: any, where the table is written.
    #[inline(always)]
    fn increment(&self) {
        self.add(1);
    }

    /// Orders the reads of a key behind the read of the claim that says it is complete.
    ///
    /// Context: any.
    fn fence_key();
}

/// Written by one CPU.
impl HistWord for PublishedWord {
    #[inline(always)]
    fn load(&self) -> u64 {
        PublishedWord::load(self)
    }

    #[inline(always)]
    fn compare_exchange(&self, old: u64, new: u64) -> bool {
        PublishedWord::compare_exchange(self, old, new)
    }

    #[inline(always)]
    fn add(&self, value: u64) {
        PublishedWord::add(self, value);
    }

    #[inline(always)]
    fn increment(&self) {
        PublishedWord::increment(self);
    }

    // The same CPU wrote the key.
    #[inline(always)]
    fn fence_key() {}
}

/// Written by all CPUs, like the kernel's `atomic64_t`.
impl HistWord for AtomicU64 {
    #[inline]
    fn load(&self) -> u64 {
        self.load_relaxed()
    }

    #[inline]
    fn compare_exchange(&self, old: u64, new: u64) -> bool {
        self.cmpxchg_full(old, new).is_ok()
    }

    #[inline]
    fn add(&self, value: u64) {
        self.fetch_add_relaxed(value);
    }

    #[inline]
    fn fence_key() {
        sys::fence_acquire();
    }
}
