// SPDX-License-Identifier: GPL-2.0

//! Tracepoints of kernels that check the type of each function that they call by a pointer (CFI).
//!
//! A probe must have the type of its tracepoint there, and ours have one type for all. So what is
//! registered is the tracepoint's own stub, an empty function that has its type, with a pointer
//! of ours as the first argument. ftrace reports that the stub begins; what it saves of the
//! registers has the arguments. Others register the same stub, so a handler serves a hit only if
//! the first argument is its pointer. Such hits begin in a stage that serves any arguments. The
//! kernel's own events of tracepoints work in this way in all kernels.

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

/// The kernel checks the types.
pub(super) const IS_TYPED: bool = true;

/// A value in kernels that check the types, if there is one.
pub(super) struct IfTyped<T>(Option<T>);

impl<T> IfTyped<T> {
    /// There is no value.
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

/// The stubs that are reported.
pub(super) type Stubs = Functions<StubHandler>;

/// What a hit of a stub calls, with the pointer that was registered.
///
/// Context: any, with preemption disabled.
pub(super) type Serve = unsafe fn(*const c_void, PointArguments<'_>, &OnCpu);

/// What serves the hits of a stub.
pub(super) struct StubHandler {
    /// The pointer that was registered, once it is.
    data: AtomicPtr<c_void>,
    serve: Serve,
}

impl StubHandler {
    fn serve(&self, entry: Entry<'_>, here: &OnCpu) {
        let data = self.data.load(Ordering::Relaxed);
        // Others register the same stub, with pointers of their own.
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

/// Returns where ftrace patches `function`.
///
/// # Errors
///
/// `ENOMEM`.
fn site_of(function: u64) -> Result<Option<Site>> {
    let is_site = |offset| {
        let site = function.wrapping_add(offset);
        functions::are_sites(&[Site { function, site }])
    };
    // Behind a landing pad on either architecture, and an instruction that it keeps on arm64. ftrace
    // takes each byte of the instruction that it patches for its site, and so the first of the
    // function.
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

/// A stub that is reported to a registration.
pub(super) struct Stub(Pin<KBox<FunctionRegistration<StubHandler>>>);

impl Stub {
    /// Makes what reports the stub at the address `function`, disarmed. `serve` is called with the
    /// pointer to be set.
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

    /// Sets the pointer.
    pub(super) fn set_data(&self, data: *mut c_void) {
        self.0.handler().data.store(data, Ordering::Relaxed);
    }

    /// Arms or disarms it. It may still run on another CPU when it is disarmed.
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
