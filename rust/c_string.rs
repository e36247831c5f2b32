// SPDX-License-Identifier: GPL-2.0

//! NUL-terminated strings.

use kernel::{prelude::*, str::CString};

/// Returns `text` with a NUL appended; `None` if it contains a NUL or is not UTF-8, or if
/// there is no memory.
pub fn c_string(text: &[u8]) -> Option<CString> {
    let text = core::str::from_utf8(text).ok()?;
    CString::try_from_fmt(fmt!("{text}")).ok()
}
