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

/// Two words that change together.
///
/// # Invariants
///
/// Only one CPU, with preemption disabled, calls
/// [`compare_exchange`](Self::compare_exchange) at a time; that it is so, the
/// caller of [`new`](Self::new) promised.
#[repr(C, align(16))]
pub struct Pair(UnsafeCell<[u64; 2]>);

// SAFETY: Words are read and written by accesses that cannot tear, and the type
// invariant keeps writers apart.
unsafe impl Sync for Pair {}

impl Pair {
    /// A pair of the given words.
    ///
    /// # Safety
    ///
    /// Only one CPU at a time may call the methods that write, and only with
    /// preemption disabled, and only where [`has_pair`] is true.
    pub const unsafe fn new(first: u64, second: u64) -> Self {
        // INVARIANT: By the function's safety requirements.
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

    /// Replaces the pair by `new` if it equals `old`, and says whether it did.
    ///
    /// Orders nothing. Contexts: any, on the owning CPU.
    #[inline(always)]
    pub fn compare_exchange(&self, old: (u64, u64), new: (u64, u64)) -> bool {
        // SAFETY: The cell is valid and aligned to 16 bytes; by the type
        // invariant no other CPU writes.
        unsafe { arch::compare_exchange_pair(self.0.get().cast(), old, new) }
    }
}

/// A counter that one CPU increments.
///
/// # Invariants
///
/// Only one CPU, with preemption disabled, adds at a time.
#[repr(transparent)]
pub struct Counter(UnsafeCell<u64>);

// SAFETY: As for `Pair`.
unsafe impl Sync for Counter {}

impl Counter {
    /// A counter that starts at 0.
    ///
    /// # Safety
    ///
    /// Only one CPU at a time may call [`add`](Self::add), with preemption
    /// disabled.
    pub const unsafe fn new() -> Self {
        // INVARIANT: By the function's safety requirements.
        Self(UnsafeCell::new(0))
    }

    /// Adds `value`, wrapping.
    ///
    /// Contexts: any, on the owning CPU.
    #[inline(always)]
    pub fn add(&self, value: u64) {
        // SAFETY: The cell is valid and aligned; by the type invariant no other
        // CPU writes.
        unsafe { arch::local_add(self.0.get(), value) }
    }

    /// The value; on another CPU it may be behind.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        // SAFETY: An aligned word, and a volatile read of one does not tear.
        unsafe { self.0.get().read_volatile() }
    }
}
