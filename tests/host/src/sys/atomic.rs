// SPDX-License-Identifier: GPL-2.0

//! Atomics named as the kernel's memory model names them, with a place for a
//! test to interrupt them.
//!
//! With the feature `hooks`, each operation first calls the hook that
//! [`set_hook`] gave the thread. A test runs a complete nested writer there,
//! which is what an interrupt at that instruction would do.

use core::sync::atomic::{self, Ordering};

#[cfg(feature = "hooks")]
mod hook {
    use std::boxed::Box;
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    type Hook = Rc<dyn Fn()>;

    thread_local! {
        static ARMED: Cell<bool> = const { Cell::new(false) };
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    pub(super) fn set(hook: Option<Box<dyn Fn()>>) {
        ARMED.with(|armed| armed.set(hook.is_some()));
        HOOK.with(|slot| *slot.borrow_mut() = hook.map(Rc::from));
    }

    #[inline]
    pub(super) fn call() {
        if ARMED.with(Cell::get) {
            // The clone lets the hook itself use atomics and set hooks.
            let hook = HOOK.with(|slot| slot.borrow().clone());
            if let Some(hook) = hook {
                hook();
            }
        }
    }
}

#[cfg(not(feature = "hooks"))]
mod hook {
    pub(super) fn set(_hook: Option<std::boxed::Box<dyn Fn()>>) {}

    #[inline(always)]
    pub(super) fn call() {}
}

/// Calls `hook` before each atomic operation of this thread from now on;
/// `None` ends that. The hook is called for the operations inside itself too
/// and has to end its own recursion. Without the feature `hooks` nothing is
/// ever called.
pub fn set_hook(hook: Option<std::boxed::Box<dyn Fn()>>) {
    hook::set(hook);
}

/// Orders what the compiler may reorder, as seen by an interrupt on this CPU.
#[inline(always)]
pub fn barrier() {
    atomic::compiler_fence(Ordering::SeqCst);
}

/// Orders earlier loads before later accesses.
#[inline]
pub fn fence_acquire() {
    hook::call();
    atomic::fence(Ordering::Acquire);
}

/// Orders earlier accesses before later stores.
#[inline]
pub fn fence_release() {
    hook::call();
    atomic::fence(Ordering::Release);
}

/// Orders all earlier accesses before all later ones.
#[inline]
pub fn fence_full() {
    hook::call();
    atomic::fence(Ordering::SeqCst);
}

macro_rules! atomic_type {
    ($name:ident, $inner:ident, $value:ty) => {
        /// An integer that several contexts or CPUs access at once.
        #[derive(Debug, Default)]
        #[repr(transparent)]
        pub struct $name(atomic::$inner);

        impl $name {
            /// An atomic holding `value`.
            pub const fn new(value: $value) -> Self {
                Self(atomic::$inner::new(value))
            }

            /// Loads the value; orders nothing.
            #[inline]
            pub fn load_relaxed(&self) -> $value {
                hook::call();
                self.0.load(Ordering::Relaxed)
            }

            /// Loads the value before all later accesses.
            #[inline]
            pub fn load_acquire(&self) -> $value {
                hook::call();
                self.0.load(Ordering::Acquire)
            }

            /// Stores `value`; orders nothing.
            #[inline]
            pub fn store_relaxed(&self, value: $value) {
                hook::call();
                self.0.store(value, Ordering::Relaxed);
            }

            /// Stores `value` after all earlier accesses.
            #[inline]
            pub fn store_release(&self, value: $value) {
                hook::call();
                self.0.store(value, Ordering::Release);
            }

            /// Replaces `old` by `new`, fully ordered when it succeeds.
            ///
            /// # Errors
            ///
            /// The value found, when it is not `old`.
            #[inline]
            pub fn cmpxchg_full(&self, old: $value, new: $value) -> Result<$value, $value> {
                hook::call();
                // The kernel's is a full barrier on both sides for all other
                // accesses, which the language's `SeqCst` alone is not.
                atomic::fence(Ordering::SeqCst);
                let found = self
                    .0
                    .compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed);
                atomic::fence(Ordering::SeqCst);
                found
            }

            /// Adds `value`, wrapping, and returns the value before; orders
            /// nothing.
            #[inline]
            pub fn fetch_add_relaxed(&self, value: $value) -> $value {
                hook::call();
                self.0.fetch_add(value, Ordering::Relaxed)
            }

            /// Replaces `old` by `new`, before all later accesses when it succeeds.
            ///
            /// # Errors
            ///
            /// The value found, when it is not `old`.
            #[inline]
            pub fn cmpxchg_acquire(&self, old: $value, new: $value) -> Result<$value, $value> {
                hook::call();
                self.0
                    .compare_exchange(old, new, Ordering::Acquire, Ordering::Relaxed)
            }

            /// Adds `value`, wrapping, after all earlier accesses.
            #[inline]
            pub fn add_release(&self, value: $value) {
                hook::call();
                self.0.fetch_add(value, Ordering::Release);
            }
        }
    };
}

atomic_type!(AtomicU32, AtomicU32, u32);
atomic_type!(AtomicU64, AtomicU64, u64);

/// A word that only one CPU changes.
///
/// Only one thread may write, as only the owning CPU does in the kernel; its
/// "interrupts" are hooks, and no hook is called between the comparison and
/// the store.
#[derive(Debug)]
#[repr(transparent)]
pub struct LocalWord(atomic::AtomicU64);

impl LocalWord {
    /// A word that holds `value`.
    pub const fn new(value: u64) -> Self {
        Self(atomic::AtomicU64::new(value))
    }

    /// Loads the value.
    #[inline]
    pub fn load(&self) -> u64 {
        hook::call();
        self.0.load(Ordering::Relaxed)
    }

    /// Replaces the value if it is `old`, and says whether it did.
    #[inline]
    pub fn compare_exchange(&self, old: u64, new: u64) -> bool {
        hook::call();
        let same = self.0.load(Ordering::Relaxed) == old;
        if same {
            self.0.store(new, Ordering::Relaxed);
        }
        same
    }
}

/// A word that only one CPU changes and that others read; see [`LocalWord`].
pub type PublishedWord = LocalWord;

impl LocalWord {
    /// Adds 1, wrapping.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// Adds `value`, wrapping; no hook is called between the load and the store.
    #[inline]
    pub fn add(&self, value: u64) {
        hook::call();
        let sum = self.0.load(Ordering::Relaxed).wrapping_add(value);
        self.0.store(sum, Ordering::Relaxed);
    }
}

/// The bytes of `words`.
///
/// # Safety
///
/// Nobody stores to `words` while the result lives.
#[inline]
pub unsafe fn words_as_bytes(words: &[AtomicU32]) -> &[u8] {
    // SAFETY: an `AtomicU32` is four initialised bytes, the result borrows
    // `words`, and the caller promises that they do not change.
    unsafe { core::slice::from_raw_parts(words.as_ptr().cast::<u8>(), size_of_val(words)) }
}

/// The bytes of `words`, to be written.
///
/// # Safety
///
/// Nobody else accesses `words` while the result lives, except a reader that
/// throws away what it read.
#[inline]
#[expect(clippy::mut_from_ref, reason = "the words are interior mutable")]
pub unsafe fn words_as_bytes_mut(words: &[AtomicU32]) -> &mut [u8] {
    // SAFETY: an `AtomicU32` is four initialised bytes that may change behind
    // a shared reference, and the caller promises to be alone.
    unsafe {
        core::slice::from_raw_parts_mut(words.as_ptr().cast_mut().cast::<u8>(), size_of_val(words))
    }
}
