// SPDX-License-Identifier: GPL-2.0

//! Values that are replaced while probes use them.
//!
//! C header: [`include/linux/rcupdate.h`](srctree/include/linux/rcupdate.h)

use super::{calls, context::OnCpu};
use core::{
    marker::PhantomData,
    sync::atomic::{AtomicPtr, Ordering},
};
use kernel::sync::{rcu, Arc, ArcBorrow};

/// Waits until all code that now runs with preemption disabled has ended that.
///
/// Context: process, may sleep.
pub fn synchronize() {
    calls::synchronize_rcu();
}

/// A counted value which probes use without a lock or a count, and which a
/// writer can replace.
///
/// # Invariants
///
/// The pointer comes from an [`Arc`] whose count the cell owns.
pub struct RcuCell<T: Send + Sync> {
    pointer: AtomicPtr<T>,
    _owns: PhantomData<Arc<T>>,
}

impl<T: Send + Sync> RcuCell<T> {
    /// A cell that holds `value`.
    pub fn new(value: Arc<T>) -> Self {
        // INVARIANT: The count passes to the cell.
        Self {
            pointer: AtomicPtr::new(Arc::into_raw(value).cast_mut()),
            _owns: PhantomData,
        }
    }

    /// The value, for as long as the caller stays on its CPU.
    ///
    /// Contexts: any in which preemption is disabled.
    #[inline(always)]
    pub fn get<'a>(&'a self, _here: &'a OnCpu) -> &'a T {
        // As in rcu_dereference(), that the value is reached through the pointer
        // orders it after the load on every processor that this is for.
        let pointer = self.pointer.load(Ordering::Relaxed);
        // SAFETY: By the type invariant valid; whoever replaces the value lets
        // it go only after a grace period, which cannot end while the proof is
        // borrowed.
        unsafe { &*pointer }
    }

    /// The value, kept by another count.
    ///
    /// Context: process.
    pub fn load(&self) -> Arc<T> {
        let _guard = rcu::read_lock();
        let pointer = self.pointer.load(Ordering::Acquire);
        // SAFETY: By the type invariant from an `Arc`, whose count cannot be
        // let go before the read-side critical section ends.
        unsafe { ArcBorrow::from_raw(pointer) }.into()
    }

    /// Puts `value` in the cell and returns the old one when no probe uses it
    /// any more.
    ///
    /// Context: process, may sleep.
    pub fn replace(&self, value: Arc<T>) -> Arc<T> {
        let old = self
            .pointer
            .swap(Arc::into_raw(value).cast_mut(), Ordering::AcqRel);
        synchronize();
        // SAFETY: By the type invariant from an `Arc`; its count was the cell's
        // and is nobody else's now.
        unsafe { Arc::from_raw(old) }
    }
}

impl<T: Send + Sync> Drop for RcuCell<T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; the cell is not shared any more.
        drop(unsafe { Arc::from_raw(*self.pointer.get_mut()) });
    }
}
