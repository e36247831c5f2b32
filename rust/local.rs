// SPDX-License-Identifier: GPL-2.0

//! Memory that one CPU writes and interrupts on that CPU may write too.
//!
//! These types are atomic against interrupts and NMIs of the writing CPU, which
//! costs a fraction of an atomic between CPUs. Other CPUs may read.
//!
//! C header: [`include/asm-generic/local.h`](srctree/include/asm-generic/local.h)

use super::arch;
use core::cell::UnsafeCell;

/// A word that only one CPU changes.
///
/// Where several do, nothing is promised of its value.
#[repr(transparent)]
pub struct Word(UnsafeCell<u64>);

// SAFETY: An aligned word, accessed in ways that do not tear only.
unsafe impl Sync for Word {}

impl Word {
    /// A word that holds `value`.
    pub const fn new(value: u64) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// The value; on another CPU it may be behind.
    ///
    /// Contexts: any.
    #[inline(always)]
    pub fn load(&self) -> u64 {
        // SAFETY: An aligned word, and a volatile read of one does not tear.
        unsafe { self.0.get().read_volatile() }
    }

    /// Replaces the value by `new` if it is `old`, and says whether it did.
    ///
    /// Orders nothing. Contexts: any, on the owning CPU.
    #[inline(always)]
    pub fn compare_exchange(&self, old: u64, new: u64) -> bool {
        // SAFETY: The cell is valid and aligned, and accessed in ways that do
        // not tear only.
        unsafe { arch::local_compare_exchange(self.0.get(), old, new) }
    }
}

/// A counter that one CPU increments; where several do, counts are lost.
#[repr(transparent)]
pub struct Counter(UnsafeCell<u64>);

// SAFETY: An aligned word, accessed in ways that do not tear only.
unsafe impl Sync for Counter {}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

impl Counter {
    /// A counter that starts at 0.
    pub const fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    /// Adds 1, wrapping.
    ///
    /// Contexts: any, on the owning CPU.
    #[inline(always)]
    pub fn increment(&self) {
        // SAFETY: As in `add`.
        unsafe { arch::local_increment(self.0.get()) }
    }

    /// Adds `value`, wrapping.
    ///
    /// Contexts: any, on the owning CPU.
    #[inline(always)]
    pub fn add(&self, value: u64) {
        // SAFETY: The cell is valid and aligned, and accessed in ways that do
        // not tear only.
        unsafe { arch::local_add(self.0.get(), value) }
    }

    /// The value; on another CPU it may be behind.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        // SAFETY: An aligned word, and a volatile read of one does not tear.
        unsafe { self.0.get().read_volatile() }
    }
}
