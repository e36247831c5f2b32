// SPDX-License-Identifier: GPL-2.0

//! Tracepoints on kernels that check the type of indirectly called functions (CFI).
//!
//! A probe must have its tracepoint's type there, while ours have one type for all. So the
//! tracepoint's own stub is registered, an empty function of the right type, with a pointer of ours
//! as the first argument. ftrace reports the entry of the stub, and the registers that it saves
//! have the arguments. Others may register the same stub, so a handler serves a hit only if the
//! first argument is its own pointer. Such hits begin in a stage for any arguments. The kernel's
//! own tracepoint events work in this way on all kernels.

use super::handler::{PointArguments, MAX_ARGUMENTS};
use crate::kapi::{
    context::OnCpu,
    errno::eopnotsupp,
    functions::{
        self, Entry, Function, FunctionRegistration, Functions, ProbedFunctions, Site, SitesOwner,
    },
    handler::{Handler, Hits, Next, SHORT},
};
use core::{
    pin::Pin,
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};
use kernel::{ffi::c_void, prelude::*, sync::Arc};

/// Whether the kernel checks the types.
pub(super) const IS_TYPED: bool = true;

/// A value that only exists if the kernel checks the types.
pub(super) struct IfTyped<T>(Option<T>);

impl<T> IfTyped<T> {
    /// The absent value.
    pub(super) const NONE: Self = Self(None);

    /// Makes the value.
    ///
    /// # Errors
    ///
    /// The errors of `make`.
    pub(super) fn new(make: impl FnOnce() -> Result<T>) -> Result<Self> {
        Ok(Self(Some(make()?)))
    }

    /// Returns the value.
    pub(super) fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }
}

/// The reported stubs.
pub(super) type Stubs = Functions<StubHandler>;

/// Serves a hit of a stub, with the registered pointer.
///
/// Context: any, with preemption disabled.
pub(super) type Serve = unsafe fn(*const c_void, PointArguments<'_>, &OnCpu);

/// The handler of a stub's entry.
pub(super) struct StubHandler {
    /// The registered pointer, once there is one.
    data: AtomicPtr<c_void>,
    serve: Serve,
}

impl StubHandler {
    fn serve(&self, entry: Entry<'_>, here: &OnCpu) {
        let data = self.data.load(Ordering::Relaxed);
        // Others may register the same stub, with pointers of their own.
        if data.is_null() || entry.argument(0) != data as u64 {
            return;
        }
        let mut arguments = [0; MAX_ARGUMENTS];
        for (to, index) in arguments.iter_mut().zip(1..) {
            *to = entry.argument(index);
        }
        // SAFETY: `data` points to a registration, which is freed only after a wait for ftrace.
        unsafe { (self.serve)(data, PointArguments(&arguments), here) };
    }
}

impl Handler<Function> for StubHandler {
    fn first(&self) -> u8 {
        SHORT
    }

    fn run<const STAGE: u8>(&self, entry: <Function as Hits>::Hit<'_>, here: &OnCpu) -> Next {
        self.serve(entry, here);
        Next::Done
    }

    fn count_missed(&self, _here: &OnCpu) {}
}

/// Returns the place where ftrace patches `function`.
///
/// # Errors
///
/// `ENOMEM`.
fn site_of(function: u64) -> Result<Option<Site>> {
    let is_site = |offset| {
        let site = function.wrapping_add(offset);
        functions::are_sites(&[Site { function, site }])
    };
    // Behind a landing pad on either architecture, and an instruction that arm64 keeps. ftrace
    // accepts any byte of the patched instruction as its site, so the first byte of the function
    // needs no check.
    for offset in [4, 8] {
        if is_site(offset)? && !is_site(offset.wrapping_sub(1))? {
            let site = function.wrapping_add(offset);
            return Ok(Some(Site { function, site }));
        }
    }
    let site = function;
    Ok(is_site(0)?.then_some(Site { function, site }))
}

/// Returns whether ftrace reports `function`.
///
/// # Errors
///
/// `ENOMEM`.
///
/// Context: process, may sleep.
pub(super) fn is_reported(function: u64) -> Result<bool> {
    Ok(site_of(function)?.is_some())
}

/// A stub whose entry is reported to a registration.
pub(super) struct Stub(Pin<KBox<FunctionRegistration<StubHandler>>>);

impl Stub {
    /// Registers, disarmed, for the entry of the stub at the address `function`. `serve` is called
    /// with the pointer of [`Stub::set_data`].
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EOPNOTSUPP` if ftrace does not report it.
    ///
    /// Context: process, may sleep.
    pub(super) fn new(stubs: &Arc<Stubs>, function: u64, serve: Serve) -> Result<Self> {
        let site = site_of(function)?.ok_or_else(eopnotsupp)?;
        let handler = StubHandler {
            data: AtomicPtr::new(ptr::null_mut()),
            serve,
        };
        let registration = FunctionRegistration::new(stubs.clone(), false, handler)?;
        registration.add(SitesOwner::KERNEL, &[site])?;
        Ok(Self(registration))
    }

    /// Sets the pointer for `serve`.
    pub(super) fn set_data(&self, data: *mut c_void) {
        self.0.handler().data.store(data, Ordering::Relaxed);
    }

    /// Arms or disarms it. After disarming it may still run on another CPU.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of ftrace.
    pub(super) fn set_enabled(&self, enabled: bool) -> Result {
        self.0.set_enabled(enabled)
    }

    /// Disarms it. Returns whether its hits must be waited for.
    pub(super) fn end(&self) -> bool {
        self.0.end()
    }
}
