// SPDX-License-Identifier: GPL-2.0

//! The kernel's view of a registration.

use super::stub::{IfTyped, Stub};
use crate::kapi::bindings as extra;
use core::{
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, Ordering},
};
use kernel::{bindings, error::to_result, ffi::c_void, prelude::*};

/// The part of a registration that is known to the kernel.
pub(super) struct PointLink {
    pub(super) point: *mut bindings::tracepoint,
    /// The number of its module, see [`Module`](super::Module).
    pub(super) module: Option<u64>,
    /// Whether its probes may sleep.
    pub(super) is_faultable: bool,
    probe: AtomicPtr<c_void>,
    /// The registration that contains the link.
    data: AtomicPtr<c_void>,
    pub(super) armed: AtomicBool,
    /// Whether the module has been unloaded.
    pub(super) gone: AtomicBool,
    /// Whether the probe was armed after the last wait for its hits.
    pub(super) used: AtomicBool,
    /// Reports the hits, if the registered probe is the tracepoint's stub.
    stub: IfTyped<Stub>,
}

impl PointLink {
    /// Makes the link of a disarmed registration.
    pub(super) fn new(
        point: *mut bindings::tracepoint,
        module: Option<u64>,
        stub: IfTyped<Stub>,
    ) -> Self {
        // Modules have no faultable tracepoints.
        let is_faultable = module.is_none() && {
            // SAFETY: The caller has found the tracepoint, and the kernel's exist for good.
            unsafe { extra::ferroprobe_tracepoint_is_faultable(point) }
        };
        Self {
            point,
            module,
            is_faultable,
            probe: AtomicPtr::new(ptr::null_mut()),
            data: AtomicPtr::new(ptr::null_mut()),
            armed: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            used: AtomicBool::new(false),
            stub,
        }
    }

    /// Sets the probe, and the pointer that is passed to it.
    pub(super) fn set_probe(&self, probe: *mut c_void, data: *mut c_void) {
        self.probe.store(probe, Ordering::Relaxed);
        self.data.store(data, Ordering::Relaxed);
        if let Some(stub) = self.stub.get() {
            stub.set_data(data);
        }
    }

    /// Registers the probe.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of ftrace.
    ///
    /// # Safety
    ///
    /// The tracepoint must exist. What the pointer of [`PointLink::set_probe`] points to must be
    /// what the probe expects until the probe was unregistered and waited for.
    pub(super) unsafe fn register(&self) -> Result {
        if let Some(stub) = self.stub.get() {
            stub.set_enabled(true)?;
        }
        let data = self.data.load(Ordering::Relaxed);
        // SAFETY: By the requirements of this function.
        let result = to_result(unsafe {
            extra::ferroprobe_tracepoint_register(
                self.point,
                self.probe.load(Ordering::Relaxed),
                data,
            )
        });
        match self.stub.get() {
            Some(stub) if result.is_err() => {
                // Disabling does not fail.
                let _ = stub.set_enabled(false);
            }
            _ => self.armed.store(result.is_ok(), Ordering::Relaxed),
        }
        result
    }

    /// Ends the reports of hits, after the probe was unregistered. Returns whether an RCU grace
    /// period must follow.
    pub(super) fn end_stub(&self) -> bool {
        self.stub.get().is_some_and(Stub::end)
    }

    /// Unregisters the probe. It may still run.
    pub(super) fn unregister(&self) {
        if self.armed.swap(false, Ordering::Relaxed) {
            let data = self.data.load(Ordering::Relaxed);
            // SAFETY: The probe was registered with this data, when `armed` became true. The
            // tracepoint exists: its module is going at most.
            unsafe {
                extra::ferroprobe_tracepoint_unregister(
                    self.point,
                    self.probe.load(Ordering::Relaxed),
                    data,
                )
            };
            if let Some(stub) = self.stub.get() {
                // Disabling does not fail.
                let _ = stub.set_enabled(false);
            }
        }
    }
}
