// SPDX-License-Identifier: GPL-2.0

//! Memory written by one CPU only, including its interrupts.
//!
//! These types are atomic against interrupts and NMIs of the writing CPU, which costs a
//! fraction of an atomic between CPUs. Other CPUs may read.
//!
//! C header: [`include/asm-generic/local.h`](srctree/include/asm-generic/local.h)

use super::arch;
use core::cell::UnsafeCell;
use kernel::prelude::*;

/// A word that only one CPU changes.
///
/// If several CPUs change it, its value is unspecified.
#[repr(transparent)]
pub struct Word(UnsafeCell<u64>);

// SAFETY: A cell of a number has the layout of the number.
unsafe impl Zeroable for Word {}

// SAFETY: The word is aligned, and all accesses to it are free of tearing.
unsafe impl Sync for Word {}

impl Word {
    /// Creates a word that holds `value`.
    pub const fn new(value: u64) -> Self {
        Self(UnsafeCell::new(value))
    }

    #[inline(always)]
    fn as_ptr(&self) -> *mut u64 {
        self.0.get()
    }

    /// Returns the value, which may be stale on another CPU.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn load(&self) -> u64 {
        // SAFETY: The word is aligned, and a volatile read of an aligned word does not
        // tear.
        unsafe { self.as_ptr().read_volatile() }
    }

    /// Replaces the value by `new` if it is `old`, and returns whether it did. Orders
    /// nothing.
    ///
    /// Context: any, on the owning CPU.
    #[inline(always)]
    pub fn compare_exchange(&self, old: u64, new: u64) -> bool {
        // SAFETY: The cell is valid and aligned, and all accesses to it are free of
        // tearing.
        unsafe { arch::local_compare_exchange(self.as_ptr(), old, new) }
    }

    /// Adds 1, wrapping. Orders nothing.
    ///
    /// Context: any, on the owning CPU.
    #[inline(always)]
    pub fn increment(&self) {
        // SAFETY: As in `compare_exchange`.
        unsafe { arch::local_increment(self.as_ptr()) }
    }

    /// Adds `value`, wrapping. Orders nothing.
    ///
    /// Context: any, on the owning CPU.
    #[inline(always)]
    pub fn add(&self, value: u64) {
        // SAFETY: As in `compare_exchange`.
        unsafe { arch::local_add(self.as_ptr(), value) }
    }
}

/// A counter that one CPU increments. If several CPUs do, counts are lost.
#[repr(transparent)]
pub struct Counter(Word);

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

impl Counter {
    /// Creates a counter that starts at 0.
    pub const fn new() -> Self {
        Self(Word::new(0))
    }

    /// Adds 1, wrapping.
    ///
    /// Context: any, on the owning CPU.
    #[inline(always)]
    pub fn increment(&self) {
        self.0.increment();
    }

    /// Adds `value`, wrapping.
    ///
    /// Context: any, on the owning CPU.
    #[inline(always)]
    pub fn add(&self, value: u64) {
        self.0.add(value);
    }

    /// Returns the value, which may be stale on another CPU.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load()
    }
}
