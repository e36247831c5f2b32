// SPDX-License-Identifier: GPL-2.0

//! What threads share.

mod arc;
mod mutex;
mod once;

pub use arc::{Arc, ArcBorrow, UniqueArc};
pub use mutex::{LockClassKey, Mutex, MutexGuard};
pub use once::SetOnce;

/// Read-copy-update.
///
/// C header: [`include/linux/rcupdate.h`](srctree/include/linux/rcupdate.h)
pub mod rcu {
    use crate::bindings;
    use core::marker::PhantomData;

    /// A read-side critical section, up to its drop.
    pub struct Guard(PhantomData<*mut ()>);

    /// Begins one.
    ///
    /// Context: any.
    pub fn read_lock() -> Guard {
        // SAFETY: The guard ends it.
        unsafe { bindings::ferroprobe_rcu_read_lock() };
        Guard(PhantomData)
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            // SAFETY: It was begun by the guard's maker, on this thread.
            unsafe { bindings::ferroprobe_rcu_read_unlock() };
        }
    }
}
