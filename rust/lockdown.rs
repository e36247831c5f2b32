// SPDX-License-Identifier: GPL-2.0

//! Kernel lockdown: what even root may not do any more.
//!
//! Header: [`include/linux/security.h`](srctree/include/linux/security.h)

use super::calls;
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
    to_result(calls::ferroprobe_kprobes_locked_down())
}
