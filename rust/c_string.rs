// SPDX-License-Identifier: GPL-2.0

//! NUL-terminated strings.

use kernel::{prelude::*, str::CString};

/// Returns `text` with a NUL appended; `None` if it contains a NUL or is not UTF-8, or if
/// there is no memory.
pub fn c_string(text: &[u8]) -> Option<CString> {
    /// Enough for the name of an event or of a group.
    const SHORT: usize = 64;
    let utf8 = core::str::from_utf8(text).ok()?;
    if text.len() >= SHORT {
        return CString::try_from_fmt(fmt!("{utf8}")).ok();
    }
    // Formatting takes several times as long.
    let mut room = [0; SHORT];
    room.get_mut(..text.len())?.copy_from_slice(text);
    let with_nul = room.get(..text.len().wrapping_add(1))?;
    CString::try_from(CStr::from_bytes_with_nul(with_nul).ok()?).ok()
}
