// SPDX-License-Identifier: GPL-2.0

//! Memory that one CPU writes and interrupts on that CPU may write too.
//!
//! These types are atomic against interrupts and NMIs of the writing CPU, which
//! costs a fraction of an atomic between CPUs. Other CPUs may read.
//!
//! C header: [`include/asm-generic/local.h`](srctree/include/asm-generic/local.h)

use super::arch;
use core::cell::UnsafeCell;

/// Whether [`Pair`] works on this machine.
pub fn has_pair() -> bool {
    arch::has_compare_exchange_pair()
}

/// Two words that change together, where only one CPU changes them.
///
/// Where several do, nothing is promised of the values.
#[repr(C, align(16))]
pub struct Pair(UnsafeCell<[u64; 2]>);

// SAFETY: Words are read and written by accesses that do not tear only.
unsafe impl Sync for Pair {}

impl Pair {
    /// A pair of the given words; of use only where [`has_pair`] is true.
    pub const fn new(first: u64, second: u64) -> Self {
        Self(UnsafeCell::new([first, second]))
    }

    /// The two words, read one after the other.
    ///
    /// They need not belong together when an interrupt or, on another CPU, the
    /// writer comes between; a compare_exchange with such a pair fails.
    #[inline(always)]
    pub fn load(&self) -> (u64, u64) {
        let words = self.0.get().cast::<u64>();
        // SAFETY: The cell holds two aligned words; a volatile read of an
        // aligned word does not tear.
        unsafe { (words.read_volatile(), words.add(1).read_volatile()) }
    }

    /// The first of the two words.
    #[inline(always)]
    pub fn load_first(&self) -> u64 {
        // SAFETY: As in `load`.
        unsafe { self.0.get().cast::<u64>().read_volatile() }
    }

    /// Replaces the pair by `new` if it equals `old`, and says whether it did.
    ///
    /// Orders nothing. Contexts: any, on the owning CPU.
    #[inline(always)]
    pub fn compare_exchange(&self, old: (u64, u64), new: (u64, u64)) -> bool {
        // SAFETY: The cell is valid and aligned to 16 bytes.
        unsafe { arch::compare_exchange_pair(self.0.get().cast(), old, new) }
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
