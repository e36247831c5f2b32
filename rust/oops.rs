// SPDX-License-Identifier: GPL-2.0

//! Notification of oopses and panics.
//!
//! C headers: [`include/linux/kdebug.h`](srctree/include/linux/kdebug.h),
//! [`include/linux/panic_notifier.h`](srctree/include/linux/panic_notifier.h)

use super::{bindings as extra, calls};
use kernel::{error::to_result, ffi::c_void, prelude::*, sync::Arc};

/// Callbacks for oopses and panics.
pub trait OnOops: Send + Sync + 'static {
    /// Called at an oops, while other CPUs run. The system may go on, or panic soon after.
    ///
    /// Context: any, NMI included: it must not sleep, lock or allocate.
    fn oops(&self);

    /// Called at a panic, after the kernel has stopped the other CPUs.
    ///
    /// Context: any, NMI included: it must not sleep, wait for a lock, allocate or free.
    fn panic(&self);
}

/// A handler that the kernel calls until the registration is dropped. At most one exists.
///
/// # Invariants
///
/// The kernel's lists have the module's blocks, whose data is `handler`, or registering them has
/// failed.
pub struct OopsWatch<T: OnOops> {
    handler: Arc<T>,
}

impl<T: OnOops> OopsWatch<T> {
    /// Registers `handler`. Called once, when the module is loaded.
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    ///
    /// Context: process, may sleep.
    pub fn new(handler: Arc<T>) -> Result<Self> {
        // INVARIANT: Registered below; if that fails, the drop has no effect.
        let this = Self { handler };
        let data = Arc::as_ptr(&this.handler).cast_mut().cast();
        // SAFETY: `notified` is called until the drop only, with a handler that lives until then.
        to_result(unsafe { extra::ferroprobe_oops_begin(Some(Self::notified), data) })?;
        Ok(this)
    }

    /// # Safety
    ///
    /// Called by the kernel only, with the handler that [`OopsWatch::new`] has registered.
    unsafe extern "C" fn notified(data: *mut c_void, panics: bool) {
        // SAFETY: By the function's contract.
        let handler = unsafe { &*data.cast::<T>() };
        match panics {
            true => handler.panic(),
            false => handler.oops(),
        }
    }
}

impl<T: OnOops> Drop for OopsWatch<T> {
    fn drop(&mut self) {
        // Waits until no notification runs; then nothing uses the handler.
        calls::ferroprobe_oops_end();
    }
}
