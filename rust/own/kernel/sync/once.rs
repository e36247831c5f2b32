// SPDX-License-Identifier: GPL-2.0

//! A value that is set once.

use core::{
    cell::UnsafeCell,
    mem::MaybeUninit,
    sync::atomic::{AtomicU32, Ordering},
};

/// The states.
const EMPTY: u32 = 0;
const BEING_SET: u32 = 1;
const SET: u32 = 2;

/// A value that is set once, by whoever comes first.
///
/// # Invariants
///
/// In the state [`SET`] the value is initialised, and does not change. In [`BEING_SET`] only the
/// thread that has changed the state to that uses the value.
pub struct SetOnce<T> {
    state: AtomicU32,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: It owns the value.
unsafe impl<T: Send> Send for SetOnce<T> {}
// SAFETY: The value is shared, and may be set by another thread than drops it.
unsafe impl<T: Send + Sync> Sync for SetOnce<T> {}

impl<T> SetOnce<T> {
    /// Makes it without a value.
    pub const fn new() -> Self {
        Self {
            state: AtomicU32::new(EMPTY),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Returns the value, once there is one.
    #[inline]
    pub fn as_ref(&self) -> Option<&T> {
        (self.state.load(Ordering::Acquire) == SET)
            // SAFETY: By the type invariant.
            .then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }

    /// Sets the value, if there is none. Returns whether it has.
    pub fn populate(&self, value: T) -> bool {
        let begun =
            (self.state).compare_exchange(EMPTY, BEING_SET, Ordering::Relaxed, Ordering::Relaxed);
        if begun.is_err() {
            return false;
        }
        // SAFETY: By the type invariant, nothing else uses the value now.
        unsafe { (*self.value.get()).write(value) };
        // INVARIANT: Written above.
        self.state.store(SET, Ordering::Release);
        true
    }
}

impl<T> Default for SetOnce<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for SetOnce<T> {
    fn drop(&mut self) {
        if *self.state.get_mut() == SET {
            // SAFETY: By the type invariant; this is its last use.
            unsafe { self.value.get_mut().assume_init_drop() };
        }
    }
}
