// SPDX-License-Identifier: GPL-2.0

//! Locks that sleep.
//!
//! C header: [`include/linux/mutex.h`](srctree/include/linux/mutex.h)

use crate::{bindings, types::Opaque};
use core::{
    cell::UnsafeCell,
    ffi::CStr,
    marker::PhantomData,
    ops::{Deref, DerefMut},
};
use pin_init::{pin_data, pin_init, PinInit};

/// What lockdep knows locks by: all locks that one place in the code makes.
pub struct LockClassKey(Opaque<bindings::lock_class_key>);

// SAFETY: Only lockdep uses it.
unsafe impl Sync for LockClassKey {}

impl LockClassKey {
    /// Makes one, for a static variable.
    #[doc(hidden)]
    pub const fn new() -> Self {
        Self(Opaque::uninit())
    }
}

impl Default for LockClassKey {
    fn default() -> Self {
        Self::new()
    }
}

/// A value behind a lock that sleeps.
#[pin_data]
pub struct Mutex<T> {
    #[pin]
    lock: Opaque<bindings::mutex>,
    #[pin]
    value: UnsafeCell<T>,
}

// SAFETY: It owns the value.
unsafe impl<T: Send> Send for Mutex<T> {}
// SAFETY: The lock lets one thread at a time use the value.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// Makes one; [`new_mutex!`](crate::new_mutex) gives it name and key.
    pub fn new(value: T, name: &'static CStr, key: &'static LockClassKey) -> impl PinInit<Self> {
        pin_init!(Self {
            lock <- Opaque::ffi_init(|lock| {
                // SAFETY: The place is valid; name and key are static.
                unsafe {
                    bindings::ferroprobe_mutex_init(lock, name.as_ptr().cast(), key.0.get());
                }
            }),
            value: UnsafeCell::new(value),
        })
    }

    /// Waits for the lock.
    ///
    /// Context: process, may sleep.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        // SAFETY: The lock was initialised by `new`.
        unsafe { bindings::ferroprobe_mutex_lock(self.lock.get()) };
        MutexGuard {
            mutex: self,
            _same_thread: PhantomData,
        }
    }

    /// Takes the lock, if it is free.
    ///
    /// Context: process.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        // SAFETY: The lock was initialised by `new`.
        let is_held = unsafe { bindings::ferroprobe_mutex_trylock(self.lock.get()) };
        // A guard that is made in vain would release the lock of whoever holds it.
        is_held.then(|| MutexGuard {
            mutex: self,
            _same_thread: PhantomData,
        })
    }
}

/// The use of a value whose lock is held, up to the drop.
///
/// # Invariants
///
/// The current thread holds the lock.
#[must_use = "the lock is released at once"]
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    _same_thread: PhantomData<*mut ()>,
}

// SAFETY: What is shared is the value.
unsafe impl<T: Sync> Sync for MutexGuard<'_, T> {}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: The lock is held by the type invariant.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: The lock is held by the type invariant.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: The lock is held by the type invariant.
        unsafe { bindings::ferroprobe_mutex_unlock(self.mutex.lock.get()) };
    }
}

/// Makes a [`Mutex`] with a value, for `<-`.
#[macro_export]
macro_rules! new_mutex {
    ($value:expr $(, $name:literal)?) => {{
        static KEY: $crate::sync::LockClassKey = $crate::sync::LockClassKey::new();
        const NAME: &::core::ffi::CStr = match ::core::ffi::CStr::from_bytes_with_nul(
            ::core::concat!(::core::file!(), ":", ::core::line!(), "\0").as_bytes(),
        ) {
            Ok(name) => name,
            Err(_) => c"lock",
        };
        $crate::sync::Mutex::new($value, NAME, &KEY)
    }};
}
