// SPDX-License-Identifier: GPL-2.0

//! Values that are replaced while hits use them.
//!
//! C header: [`include/linux/rcupdate.h`](srctree/include/linux/rcupdate.h)

use super::{calls, context::OnCpu};
use core::{
    marker::PhantomData,
    sync::atomic::{AtomicPtr, Ordering},
};
use kernel::{
    alloc::KVVec,
    prelude::*,
    sync::{rcu, Arc, ArcBorrow},
};

/// Waits until all code that runs with preemption disabled at the time of the call has
/// enabled it, including on CPUs that are going offline or coming online.
///
/// Context: process, may sleep. The caller must not hold a lock that the kernel may wait
/// for while it takes a CPU offline, such as an mmap lock.
pub fn synchronize() {
    calls::synchronize_rcu();
    synchronize_hotplug();
}

/// Waits until no handler of a probe runs on a CPU that is going offline or coming online at the
/// time of the call. Called after an RCU grace period.
///
/// A CPU can hit probes after RCU has stopped waiting for it, and before RCU starts waiting for it.
/// Meanwhile another CPU holds the CPU hotplug lock on its behalf, until the CPU is reported dead
/// or online. After a report of its death it only stops: on x86 in `hlt_play_dead()` or cpuidle's
/// replacement of it, on arm64 in the firmware call, where the kernel cannot wait for probes.
///
/// Context: as for [`synchronize`].
pub(super) fn synchronize_hotplug() {
    calls::ferroprobe_wait_for_hotplug();
}

/// A reference-counted value that probes use without a lock or a reference, and that a
/// writer can replace.
///
/// # Invariants
///
/// The pointer comes from an [`Arc`] whose reference the cell owns.
pub struct RcuCell<T: Send + Sync> {
    pointer: AtomicPtr<T>,
    _owns: PhantomData<Arc<T>>,
}

impl<T: Send + Sync> RcuCell<T> {
    /// Creates a cell that holds `value`.
    pub fn new(value: Arc<T>) -> Self {
        // INVARIANT: The reference passes to the cell.
        Self {
            pointer: AtomicPtr::new(Arc::into_raw(value).cast_mut()),
            _owns: PhantomData,
        }
    }

    /// Returns the value, for as long as the caller stays on its CPU.
    ///
    /// Context: any, with preemption disabled.
    #[inline(always)]
    pub fn get<'a>(&'a self, _here: &'a OnCpu) -> &'a T {
        // As in rcu_dereference(), the address dependency orders accesses to the value
        // after the load, on every supported processor.
        let pointer = self.pointer.load(Ordering::Relaxed);
        // SAFETY: The pointer is valid by the type invariant; a replaced value is
        // released only after `synchronize`, which cannot return while the proof is
        // borrowed.
        unsafe { &*pointer }
    }

    /// Returns a new reference to the value.
    ///
    /// Context: process.
    pub fn load(&self) -> Arc<T> {
        let _guard = rcu::read_lock();
        let pointer = self.pointer.load(Ordering::Acquire);
        // SAFETY: By the type invariant the pointer comes from an `Arc`; its reference
        // cannot be dropped before the read-side critical section ends.
        unsafe { ArcBorrow::from_raw(pointer) }.into()
    }

    /// Stores `value` in the cell, and adds the old value to `replaced`.
    ///
    /// Context: as for [`synchronize`].
    pub fn replace_among(&self, value: Arc<T>, replaced: &mut Replaced<T>) {
        replaced.keep(self.exchange(value));
    }

    /// Stores `value` in the cell, and returns the old value when probes no longer use
    /// it.
    ///
    /// Context: as for [`synchronize`].
    pub fn replace(&self, value: Arc<T>) -> Arc<T> {
        self.swap(value).wait()
    }

    /// Stores `value` in the cell, and returns the old value, which probes may still use: for
    /// callers that hold a lock under which they must not wait for the probes.
    pub fn swap(&self, value: Arc<T>) -> Used<T> {
        Used(self.exchange(value))
    }

    /// Stores `value` in the cell, and returns the old value, which must be kept for a
    /// grace period.
    fn exchange(&self, value: Arc<T>) -> Arc<T> {
        let old = self
            .pointer
            .swap(Arc::into_raw(value).cast_mut(), Ordering::AcqRel);
        // SAFETY: By the type invariant the pointer comes from an `Arc`; the cell owned
        // its reference, which now has no other owner. It is dropped after a grace
        // period.
        unsafe { Arc::from_raw(old) }
    }
}

/// A value that was in a cell and that probes may still use. Its drop waits for them.
///
/// Context of the drop: as for [`synchronize`].
pub struct Used<T: Send + Sync>(Arc<T>);

impl<T: Send + Sync> Used<T> {
    /// Returns the value when probes no longer use it.
    ///
    /// Context: as for [`synchronize`].
    pub fn wait(self) -> Arc<T> {
        // The drop of `self` waits for the probes, then drops the other reference.
        self.0.clone()
    }
}

impl<T: Send + Sync> Drop for Used<T> {
    fn drop(&mut self) {
        // Runs before the reference is dropped.
        synchronize();
    }
}

/// Values that were replaced in cells and that probes may still use. The drop waits for
/// one grace period for all of them.
///
/// Context of the drop: as for [`synchronize`].
pub struct Replaced<T: Send + Sync>(KVVec<Arc<T>>);

impl<T: Send + Sync> Replaced<T> {
    /// Creates an empty list with room for `count` values.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn with_room(count: usize) -> Result<Self> {
        Ok(Self(KVVec::with_capacity(count, GFP_KERNEL)?))
    }

    /// Keeps `value`. If there is no room, waits until probes no longer use it, and drops
    /// it.
    fn keep(&mut self, value: Arc<T>) {
        if let Err(error) = self.0.push_within_capacity(value) {
            synchronize();
            drop(error);
        }
    }
}

impl<T: Send + Sync> Drop for Replaced<T> {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            synchronize();
        }
    }
}

impl<T: Send + Sync> Drop for RcuCell<T> {
    fn drop(&mut self) {
        // SAFETY: The cell owns the reference by the type invariant, and is no longer
        // shared.
        drop(unsafe { Arc::from_raw(*self.pointer.get_mut()) });
    }
}
