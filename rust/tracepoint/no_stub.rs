// SPDX-License-Identifier: GPL-2.0

//! Replaces `stub.rs` on kernels that do not check the types of probes.

use super::handler::PointArguments;
use crate::kapi::{context::OnCpu, errno::eopnotsupp};
use core::marker::PhantomData;
use kernel::{ffi::c_void, prelude::*, sync::Arc};

/// Whether the kernel checks the types.
pub(super) const IS_TYPED: bool = false;

/// A value that only exists if the kernel checks the types; here never.
pub(super) struct IfTyped<T>(PhantomData<T>);

impl<T> IfTyped<T> {
    /// The absent value.
    pub(super) const NONE: Self = Self(PhantomData);

    /// Does nothing.
    ///
    /// # Errors
    ///
    /// None.
    pub(super) fn new(_make: impl FnOnce() -> Result<T>) -> Result<Self> {
        Ok(Self::NONE)
    }

    /// Returns `None`.
    #[inline(always)]
    pub(super) fn get(&self) -> Option<&T> {
        None
    }
}

/// Returns true: nothing has to be reported.
pub(super) fn is_reported(_function: u64) -> Result<bool> {
    Ok(true)
}

/// The reported stubs; here none.
pub(super) enum Stubs {}

impl Stubs {
    pub(super) fn of_stubs() -> Result<Arc<Self>> {
        Err(eopnotsupp())
    }

    pub(super) fn hold(&self) {
        match *self {}
    }

    pub(super) fn apply(this: &Arc<Self>) -> Result {
        match **this {}
    }

    pub(super) fn apply_after(this: &Arc<Self>, _so_far: Result, _undo: impl Fn()) -> Result {
        match **this {}
    }
}

/// The stub of a registration; here none.
pub(super) enum Stub {}

impl Stub {
    pub(super) fn new(
        _stubs: &Arc<Stubs>,
        _function: u64,
        _serve: unsafe fn(*const c_void, PointArguments<'_>, &OnCpu),
    ) -> Result<Self> {
        Err(eopnotsupp())
    }

    pub(super) fn set_data(&self, _data: *mut c_void) {
        match *self {}
    }

    pub(super) fn set_enabled(&self, _enabled: bool) -> Result {
        match *self {}
    }

    pub(super) fn end(&self) -> bool {
        match *self {}
    }
}
