// SPDX-License-Identifier: GPL-2.0

//! Notification of CPUs that come online, which may not have been present before.
//!
//! C header: [`include/linux/cpuhotplug.h`](srctree/include/linux/cpuhotplug.h)

use super::{bindings as extra, calls};
use kernel::{error::to_result, ffi::c_void, prelude::*, sync::Arc};

/// The callback for CPUs that have come online.
pub trait OnArrival: Send + Sync + 'static {
    /// Called on the new CPU, by the task that brings it up.
    ///
    /// Context: process. Must not take a lock whose holder may wait for the CPU.
    fn came(&self);
}

/// A handler that the kernel calls until the registration is dropped. At most one exists.
///
/// # Invariants
///
/// The kernel has a hotplug state whose callback uses `handler`, or its setup has failed.
pub struct ArrivalWatch<T: OnArrival> {
    handler: Arc<T>,
}

impl<T: OnArrival> ArrivalWatch<T> {
    /// Registers `handler`. Called once, when the module is loaded.
    ///
    /// # Errors
    ///
    /// The errors of `cpuhp_setup_state`.
    ///
    /// Context: process, may sleep.
    pub fn new(handler: Arc<T>) -> Result<Self> {
        // INVARIANT: Registered below; if that fails, the drop removes nothing.
        let this = Self { handler };
        let data = Arc::as_ptr(&this.handler).cast_mut().cast();
        // SAFETY: `came` is called until the drop only, with a handler that lives until then.
        to_result(unsafe { extra::ferroprobe_arrivals_begin(Some(Self::came), data) })?;
        Ok(this)
    }

    /// # Safety
    ///
    /// Called by the kernel only, with the handler that [`ArrivalWatch::new`] has registered.
    unsafe extern "C" fn came(data: *mut c_void) {
        // SAFETY: By the function's contract.
        unsafe { &*data.cast::<T>() }.came();
    }
}

impl<T: OnArrival> Drop for ArrivalWatch<T> {
    fn drop(&mut self) {
        // Waits until no CPU is coming; then nothing uses the handler.
        calls::ferroprobe_arrivals_end();
    }
}
