// SPDX-License-Identifier: GPL-2.0

//! Permissions of files.

/// Read and written.
pub(super) const READ_WRITE: u16 = 0o600;
/// Only written.
pub(super) const WRITE: u16 = 0o200;
/// Only read.
pub(super) const READ: u16 = 0o400;
