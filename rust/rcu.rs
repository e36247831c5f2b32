// SPDX-License-Identifier: GPL-2.0

//! Values that are replaced while probes use them.
//!
//! C header: [`include/linux/rcupdate.h`](srctree/include/linux/rcupdate.h)

use core::{
    marker::PhantomData,
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};
use kernel::{bindings, prelude::*};

/// Proof that preemption is disabled for as long as it is borrowed.
///
/// An RCU grace period does not end before that.
pub struct Atomic(PhantomData<*const ()>);

impl Atomic {
    /// A proof for the caller's context.
    ///
    /// # Safety
    ///
    /// Preemption must stay disabled for as long as the value lives.
    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        Self(PhantomData)
    }
}

/// Waits until all code that now runs with preemption disabled has ended that.
///
/// Context: process, may sleep.
pub fn synchronize() {
    // SAFETY: Has no requirements but the context.
    unsafe { bindings::synchronize_rcu() };
}

/// An owned value, or none, which readers use without a lock and a writer can
/// replace.
///
/// # Invariants
///
/// The pointer is null, or comes from a [`KBox`] that the cell owns.
pub struct RcuCell<T: Send + Sync> {
    pointer: AtomicPtr<T>,
    _owns: PhantomData<KBox<T>>,
}

impl<T: Send + Sync> RcuCell<T> {
    /// A cell that holds `value`.
    pub fn new(value: Option<KBox<T>>) -> Self {
        // INVARIANT: The box's ownership passes to the cell.
        Self {
            pointer: AtomicPtr::new(into_raw(value)),
            _owns: PhantomData,
        }
    }

    /// The value.
    ///
    /// Contexts: any in which preemption is disabled.
    #[inline(always)]
    pub fn get<'a>(&'a self, _proof: &'a Atomic) -> Option<&'a T> {
        let pointer = self.pointer.load(Ordering::Acquire);
        // SAFETY: By the type invariant null or valid; whoever replaces the
        // value frees it only after a grace period, which the proof outlasts.
        unsafe { pointer.as_ref() }
    }

    /// Puts `value` in the cell and returns the old one when nobody uses it any
    /// more.
    ///
    /// Context: process, may sleep.
    pub fn replace(&self, value: Option<KBox<T>>) -> Option<KBox<T>> {
        let old = self.pointer.swap(into_raw(value), Ordering::AcqRel);
        if old.is_null() {
            return None;
        }
        synchronize();
        // SAFETY: By the type invariant from a box; nobody else takes it, as it
        // was swapped out, and after the grace period nobody uses it.
        Some(unsafe { KBox::from_raw(old) })
    }
}

impl<T: Send + Sync> Drop for RcuCell<T> {
    fn drop(&mut self) {
        let pointer = *self.pointer.get_mut();
        if !pointer.is_null() {
            // SAFETY: By the type invariant from a box; the cell is not shared
            // any more.
            drop(unsafe { KBox::from_raw(pointer) });
        }
    }
}

fn into_raw<T>(value: Option<KBox<T>>) -> *mut T {
    value.map_or(ptr::null_mut(), KBox::into_raw)
}
