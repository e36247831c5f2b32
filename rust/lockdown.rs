// SPDX-License-Identifier: GPL-2.0

//! Kernel lockdown: what even root may not do any more.
//!
//! Header: [`include/linux/security.h`](srctree/include/linux/security.h)

use super::bindings as extra;
use kernel::{error::to_result, prelude::*};

/// Whether probes may be placed and armed.
///
/// # Errors
///
/// `EPERM` where the kernel is locked down so that they may not; it then says so
/// in its log.
///
/// Context: process.
pub fn kprobes() -> Result {
    // SAFETY: Has no requirements but the context.
    to_result(unsafe { extra::ferroprobe_kprobes_locked_down() })
}
