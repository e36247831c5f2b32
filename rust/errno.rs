// SPDX-License-Identifier: GPL-2.0

//! Error numbers that the kernel crate has in some series only.

use kernel::{bindings, error::Error, ffi::c_int};

/// Returns `EOPNOTSUPP`.
///
/// Context: any.
pub fn eopnotsupp() -> Error {
    // CAST: The number is small.
    Error::from_errno(-(bindings::EOPNOTSUPP as c_int))
}
