// SPDX-License-Identifier: GPL-2.0

//! The architectures whose kernels ferroprobe knows.

/// An architecture, of the running kernel or of a file under examination.
///
/// The engine serves either from either: an x86 host maps an arm64 kernel. The
/// callers choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// x86, 64-bit mode.
    X86_64,
    /// AArch64, little-endian instructions.
    Arm64,
}
