// SPDX-License-Identifier: GPL-2.0

//! The memory of sub-buffers.

use super::Storage;
use crate::sys::{AtomicU32, Pages};

// SAFETY: The facade promises of `Pages` what a storage must keep: pages of one
// size that neither move nor overlap, and that only their users write.
unsafe impl Storage for Pages {
    #[inline(always)]
    fn page(&self, id: u32) -> Option<&[AtomicU32]> {
        Pages::page(self, id)
    }
}
