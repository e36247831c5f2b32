// SPDX-License-Identifier: GPL-2.0

//! What takes the place of `stub.rs` in kernels that do not check the types of probes: nothing.

use super::handler::PointArguments;
use crate::kapi::{context::OnCpu, errno::eopnotsupp};
use core::marker::PhantomData;
use kernel::{ffi::c_void, prelude::*, sync::Arc};

/// The kernel checks the types.
pub(super) const IS_TYPED: bool = false;

/// A value in kernels that check the types: here there is none.
pub(super) struct IfTyped<T>(PhantomData<T>);

impl<T> IfTyped<T> {
    /// There is no value.
    pub(super) const NONE: Self = Self(PhantomData);

    /// Makes nothing.
    ///
    /// # Errors
    ///
    /// None.
    pub(super) fn new(_make: impl FnOnce() -> Result<T>) -> Result<Self> {
        Ok(Self::NONE)
    }

    /// Returns that there is no value.
    #[inline(always)]
    pub(super) fn get(&self) -> Option<&T> {
        None
    }
}

/// Returns that nothing has to be reported.
pub(super) fn is_reported(_function: u64) -> Result<bool> {
    Ok(true)
}

/// The stubs that are reported: there are none.
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

/// A stub that is reported to a registration: there is none.
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
