// SPDX-License-Identifier: GPL-2.0

//! Times.
//!
//! C header: [`include/linux/jiffies.h`](srctree/include/linux/jiffies.h)

use crate::{bindings, ffi::c_uint, ffi::c_ulong};

/// Converts milliseconds to ticks.
pub fn msecs_to_jiffies(milliseconds: c_uint) -> c_ulong {
    // SAFETY: The function only computes.
    unsafe { bindings::ferroprobe_jiffies_of(milliseconds) }
}
