// SPDX-License-Identifier: GPL-2.0

//! Module parameters that are strings, which the `module!` macro does not support, and the kernel's
//! release.
//!
//! C header: [`include/linux/moduleparam.h`](srctree/include/linux/moduleparam.h)

use super::calls;

/// Returns the bytes of the name of the kernel's release.
pub fn release() -> impl Iterator<Item = u8> {
    // `__NEW_UTS_LEN`.
    let bytes = (0..64).map(calls::ferroprobe_release);
    bytes.map_while(|byte| u8::try_from(byte).ok())
}

/// Returns the bytes of the parameter `define`; none if it was not given.
pub fn define() -> impl Iterator<Item = u8> {
    // The kernel takes at most 1023.
    let bytes = (0..1024).map(calls::ferroprobe_define);
    bytes.map_while(|byte| u8::try_from(byte).ok())
}
