// SPDX-License-Identifier: GPL-2.0

//! Strings.

use crate::{
    alloc::{flags::GFP_KERNEL, AllocError, KVec},
    error::{code::EINVAL, Error},
    ffi::c_char,
};
pub use core::ffi::CStr;
use core::ops::Deref;

/// Makes arguments for what formats.
#[macro_export]
macro_rules! fmt {
    ($($arg:tt)*) => { ::core::format_args!($($arg)*) };
}

/// What the kernel's crate adds to strings of C.
pub trait CStrExt {
    /// Makes it of a pointer.
    ///
    /// # Safety
    ///
    /// The pointer is to bytes with a NUL behind them, which do not change for the lifetime.
    unsafe fn from_char_ptr<'a>(pointer: *const c_char) -> &'a Self;

    /// Returns the pointer.
    fn as_char_ptr(&self) -> *const c_char;
}

impl CStrExt for CStr {
    /// # Safety
    ///
    /// The conditions of the trait hold.
    #[inline]
    unsafe fn from_char_ptr<'a>(pointer: *const c_char) -> &'a Self {
        // SAFETY: By the promise of the caller.
        unsafe { CStr::from_ptr(pointer.cast()) }
    }

    #[inline]
    fn as_char_ptr(&self) -> *const c_char {
        self.as_ptr().cast()
    }
}

/// A string of C on the heap.
///
/// # Invariants
///
/// The last byte is NUL, and no other is.
pub struct CString(KVec<u8>);

impl CString {
    /// Formats a string.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` if it has a NUL.
    pub fn try_from_fmt(args: core::fmt::Arguments<'_>) -> Result<Self, Error> {
        let mut text = Text(KVec::new());
        core::fmt::write(&mut text, args).map_err(|_| crate::error::code::ENOMEM)?;
        Self::with_nul(text.0)
    }

    fn with_nul(mut bytes: KVec<u8>) -> Result<Self, Error> {
        if bytes.contains(&0) {
            return Err(EINVAL);
        }
        bytes.push(0, GFP_KERNEL)?;
        // INVARIANT: Checked and pushed above.
        Ok(Self(bytes))
    }
}

impl Deref for CString {
    type Target = CStr;

    fn deref(&self) -> &CStr {
        // SAFETY: By the type invariant.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.0) }
    }
}

impl TryFrom<&CStr> for CString {
    type Error = AllocError;

    fn try_from(from: &CStr) -> Result<Self, AllocError> {
        let mut bytes = KVec::new();
        bytes.extend_from_slice(from.to_bytes_with_nul(), GFP_KERNEL)?;
        // INVARIANT: A `CStr` ends with its only NUL.
        Ok(Self(bytes))
    }
}

impl core::fmt::Debug for CString {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Debug::fmt(&**self, f)
    }
}

/// A text that grows.
struct Text(KVec<u8>);

impl core::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let added = self.0.extend_from_slice(text.as_bytes(), GFP_KERNEL);
        added.map_err(|_| core::fmt::Error)
    }
}
