// SPDX-License-Identifier: GPL-2.0

//! Values of C, and pointers that C keeps.

use crate::ffi::c_void;
use core::{cell::UnsafeCell, marker::PhantomPinned, mem::MaybeUninit, ptr};
use pin_init::{PinInit, Zeroable};

/// A value that only C looks at: it may be uninitialised, may change at any time, and stays where
/// it is.
#[repr(transparent)]
pub struct Opaque<T> {
    value: UnsafeCell<MaybeUninit<T>>,
    _pin: PhantomPinned,
}

// SAFETY: Any bytes are valid.
unsafe impl<T> Zeroable for Opaque<T> {}

impl<T> Opaque<T> {
    /// Makes it of a value.
    pub const fn new(value: T) -> Self {
        Self {
            value: UnsafeCell::new(MaybeUninit::new(value)),
            _pin: PhantomPinned,
        }
    }

    /// Makes it without a value.
    pub const fn uninit() -> Self {
        Self {
            value: UnsafeCell::new(MaybeUninit::uninit()),
            _pin: PhantomPinned,
        }
    }

    /// Returns an initializer that calls `init` with the place; it must be a valid one for
    /// what is done with the value later.
    pub fn ffi_init(init: impl FnOnce(*mut T)) -> impl PinInit<Self> {
        // SAFETY: Any bytes are valid, so it does not matter what is written.
        unsafe {
            pin_init::pin_init_from_closure::<_, core::convert::Infallible>(
                move |slot: *mut Self| {
                    init(Self::cast_into(slot));
                    Ok(())
                },
            )
        }
    }

    /// Returns a pointer to the value.
    #[inline(always)]
    pub const fn get(&self) -> *mut T {
        UnsafeCell::get(&self.value).cast::<T>()
    }

    /// Returns the pointer to the value of what `this` points to.
    #[inline(always)]
    pub const fn cast_into(this: *const Self) -> *mut T {
        UnsafeCell::raw_get(this.cast::<UnsafeCell<MaybeUninit<T>>>()).cast::<T>()
    }

    /// Does the opposite of [`cast_into`](Self::cast_into).
    #[inline(always)]
    pub const fn cast_from(this: *const T) -> *const Self {
        this.cast()
    }
}

/// Owners that C can keep as a pointer.
///
/// # Safety
///
/// `into_foreign` returns a pointer that is not null, and is valid until `from_foreign`.
pub unsafe trait ForeignOwnable: Sized {
    /// What a borrower gets.
    type Borrowed<'a>;

    /// Gives the value away.
    fn into_foreign(self) -> *mut c_void;

    /// Takes it back.
    ///
    /// # Safety
    ///
    /// `pointer` was returned by `into_foreign`, and was not taken back.
    unsafe fn from_foreign(pointer: *mut c_void) -> Self;

    /// Borrows it.
    ///
    /// # Safety
    ///
    /// `pointer` was returned by `into_foreign`, and is not taken back while it is borrowed.
    unsafe fn borrow<'a>(pointer: *mut c_void) -> Self::Borrowed<'a>;
}

/// Returns a pointer to nothing, for values without a size.
pub(crate) const fn dangling<T>() -> *mut T {
    ptr::without_provenance_mut(align_of::<T>())
}
