// SPDX-License-Identifier: GPL-2.0

//! What the kernel knows of a registration.

use crate::kapi::bindings as extra;
use core::{
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, Ordering},
};
use kernel::{bindings, ffi::c_void};

/// What the kernel knows of a registration.
pub(super) struct PointLink {
    pub(super) point: *mut bindings::tracepoint,
    /// The number of its module.
    pub(super) module: Option<u64>,
    /// Its probes may sleep.
    pub(super) is_faultable: bool,
    pub(super) probe: *mut c_void,
    /// The registration that the link is part of.
    pub(super) data: AtomicPtr<c_void>,
    pub(super) armed: AtomicBool,
    /// The module has gone.
    pub(super) gone: AtomicBool,
    /// It was armed, and nothing has waited for its hits since.
    pub(super) used: AtomicBool,
}

impl PointLink {
    /// Returns what the kernel is to know of a registration, which is not armed.
    pub(super) fn new(
        point: *mut bindings::tracepoint,
        module: Option<u64>,
        probe: *mut c_void,
    ) -> Self {
        // The modules' are not faultable.
        let is_faultable = module.is_none() && {
            // SAFETY: The caller has found the tracepoint, and the kernel's exist for good.
            unsafe { extra::ferroprobe_tracepoint_is_faultable(point) }
        };
        Self {
            point,
            module,
            is_faultable,
            probe,
            data: AtomicPtr::new(ptr::null_mut()),
            armed: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            used: AtomicBool::new(false),
        }
    }

    /// Unregisters the probe. It may still run.
    pub(super) fn unregister(&self) {
        if self.armed.swap(false, Ordering::Relaxed) {
            let data = self.data.load(Ordering::Relaxed);
            // SAFETY: The probe was registered with this data, when `armed` became true. The
            // tracepoint exists: its module is going at most.
            unsafe { extra::ferroprobe_tracepoint_unregister(self.point, self.probe, data) };
        }
    }
}
