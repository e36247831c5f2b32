// SPDX-License-Identifier: GPL-2.0

//! The types of C that the sources name, as the kernel has them.

pub use core::ffi::c_void;

/// `char`, without a sign.
#[allow(non_camel_case_types, reason = "a name of C")]
pub type c_char = u8;
/// `int`.
#[allow(non_camel_case_types, reason = "a name of C")]
pub type c_int = i32;
