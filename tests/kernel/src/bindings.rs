// SPDX-License-Identifier: GPL-2.0

//! The functions of C that the sources call, on the host: memory is from the [`heap`](crate::heap)
//! of the calling thread, which also counts warnings and keeps what is printed.

#![allow(
    non_camel_case_types,
    missing_docs,
    clippy::missing_safety_doc,
    reason = "the names are those of C, and rust/own/helpers.c has what they do"
)]

use crate::{
    ffi::{c_char, c_void},
    heap::{self, Kind},
};
use core::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

pub type gfp_t = u32;
pub const FERROPROBE_GFP_KERNEL: gfp_t = 0xcc0;
pub const FERROPROBE_GFP_ZERO: gfp_t = 0x100;

/// As `krealloc()`.
pub unsafe fn ferroprobe_krealloc(old: *mut c_void, size: usize, flags: gfp_t) -> *mut c_void {
    // SAFETY: By the promise of the caller.
    unsafe { heap::realloc(Kind::Kmalloc, old.cast(), size, flags).cast() }
}

/// As `kfree()`.
pub unsafe fn ferroprobe_kfree(memory: *mut c_void) {
    // SAFETY: By the promise of the caller.
    unsafe { heap::free(Kind::Kmalloc, memory.cast()) };
}

/// As `kvrealloc()`.
pub unsafe fn ferroprobe_kvrealloc(old: *mut c_void, size: usize, flags: gfp_t) -> *mut c_void {
    // SAFETY: By the promise of the caller.
    unsafe { heap::realloc(Kind::KVmalloc, old.cast(), size, flags).cast() }
}

/// As `kvfree()`.
pub unsafe fn ferroprobe_kvfree(memory: *mut c_void) {
    // SAFETY: By the promise of the caller.
    unsafe { heap::free(Kind::KVmalloc, memory.cast()) };
}

/// Counts a warning.
pub unsafe fn ferroprobe_warn_refcount() {
    heap::warn();
}

/// As `_printk()` of a format with two `%s`.
pub unsafe fn _printk(format: *const c_char, prefix: *const core::ffi::c_char, text: *const u8) {
    // SAFETY: All three end with a NUL, by the promise of the caller.
    let [format, prefix, text] =
        unsafe { [format.cast(), prefix, text.cast()].map(|text| CStr::from_ptr(text).to_bytes()) };
    heap::log([format, prefix, text].map(<[u8]>::to_vec));
}

/// A key of lockdep.
pub struct lock_class_key;

/// A lock.
pub struct mutex {
    is_held: AtomicBool,
    name: AtomicPtr<core::ffi::c_char>,
}

/// As `__mutex_init()`.
pub unsafe fn ferroprobe_mutex_init(
    lock: *mut mutex,
    name: *const core::ffi::c_char,
    key: *mut lock_class_key,
) {
    assert!(!key.is_null());
    let made = mutex {
        is_held: AtomicBool::new(false),
        name: AtomicPtr::new(name.cast_mut()),
    };
    // SAFETY: The place is valid by the promise of the caller.
    unsafe { lock.write(made) };
}

/// As `mutex_lock()`.
pub unsafe fn ferroprobe_mutex_lock(lock: *mut mutex) {
    // SAFETY: By the promise of the caller.
    while !unsafe { ferroprobe_mutex_trylock(lock) } {
        std::thread::yield_now();
    }
}

/// As `mutex_trylock()`.
pub unsafe fn ferroprobe_mutex_trylock(lock: *mut mutex) -> bool {
    // SAFETY: The lock was made by the promise of the caller.
    let lock = unsafe { &*lock };
    let name = lock.name.load(Ordering::Relaxed);
    // SAFETY: The name is static, and ends with a NUL.
    assert!(!unsafe { CStr::from_ptr(name) }.is_empty());
    !lock.is_held.swap(true, Ordering::Acquire)
}

/// As `mutex_unlock()`.
pub unsafe fn ferroprobe_mutex_unlock(lock: *mut mutex) {
    // SAFETY: The lock was made by the promise of the caller.
    let was_held = unsafe { &*lock }.is_held.swap(false, Ordering::Release);
    assert!(was_held, "the lock was not held");
}

/// As `rcu_read_lock()`.
pub unsafe fn ferroprobe_rcu_read_lock() {
    heap::rcu(1);
}

/// As `rcu_read_unlock()`.
pub unsafe fn ferroprobe_rcu_read_unlock() {
    heap::rcu(-1);
}

/// The first addresses cannot be read, as in user space.
const MAPPED: usize = 4096;

/// As `copy_from_user()`: returns how many bytes were not copied.
pub unsafe fn ferroprobe_copy_from_user(
    to: *mut c_void,
    from: *const c_void,
    count: usize,
) -> usize {
    if from.addr() < MAPPED {
        return count;
    }
    // SAFETY: `to` has that many bytes; other addresses of user space are memory of the test.
    unsafe { core::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast(), count) };
    0
}

/// As `copy_to_user()`: returns how many bytes were not copied.
pub unsafe fn ferroprobe_copy_to_user(to: *mut c_void, from: *const c_void, count: usize) -> usize {
    if to.addr() < MAPPED {
        return count;
    }
    // SAFETY: `from` has that many bytes; other addresses of user space are memory of the test.
    unsafe { core::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast(), count) };
    0
}
