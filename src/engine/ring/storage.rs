// SPDX-License-Identifier: GPL-2.0

//! The memory of sub-buffers.

use super::state::{Ring, Storage};
use crate::sys::{AtomicU32, Pages, View};

// SAFETY: The facade guarantees for `Pages` what a storage must keep: pages of one size
// that neither move nor overlap, and that only their users write. The creator of a ring
// gives them up to the ring, and the ring gives out none.
unsafe impl Storage for Pages {
    #[inline(always)]
    fn page(&self, id: u32) -> Option<&[AtomicU32]> {
        Pages::page(self, id)
    }
}

impl Ring<Pages> {
    /// Returns a read-only view of the memory of the sub-buffers.
    pub fn view(&self) -> View<'_> {
        self.storage.view()
    }
}
