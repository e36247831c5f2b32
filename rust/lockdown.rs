// SPDX-License-Identifier: GPL-2.0

//! Kernel lockdown: restrictions that apply to root, too.
//!
//! Header: [`include/linux/security.h`](srctree/include/linux/security.h)

use super::calls;
use kernel::{error::to_result, prelude::*};

/// Checks whether probes may be placed and armed.
///
/// # Errors
///
/// `EPERM` if lockdown forbids it; the kernel then logs a message.
///
/// Context: process.
pub fn kprobes() -> Result {
    to_result(calls::ferroprobe_kprobes_locked_down())
}

/// Checks whether files in debugfs that can be written may be opened.
///
/// # Errors
///
/// As for [`kprobes`].
///
/// Context: process.
pub fn debugfs() -> Result {
    to_result(calls::ferroprobe_debugfs_locked_down())
}
