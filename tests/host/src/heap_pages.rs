// SPDX-License-Identifier: GPL-2.0

//! Sub-buffers in ordinary memory.

use crate::engine::ring::{Storage, WORD};
use crate::sys::{self, AllocError, AtomicU32};

/// Sub-buffers of one size in ordinary memory.
pub struct HeapPages(sys::Vec<sys::Vec<AtomicU32>>);

impl HeapPages {
    /// `pages` sub-buffers of `bytes` each, filled with ones: nothing may
    /// depend on fresh memory being zero.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when a test has let allocations fail.
    pub fn new(pages: u32, bytes: usize) -> Result<Self, AllocError> {
        let mut all = sys::Vec::new();
        for _ in 0..pages {
            let mut page = sys::Vec::with_capacity(bytes / WORD)?;
            for _ in 0..bytes / WORD {
                page.push(AtomicU32::new(u32::MAX))?;
            }
            all.push(page)?;
        }
        Ok(Self(all))
    }
}

// SAFETY: each page is a vector of its own, which is private and never grown,
// and of which only shared references are given out.
unsafe impl Storage for HeapPages {
    fn page(&self, id: u32) -> Option<&[AtomicU32]> {
        self.0.get(id as usize).map(|page| &**page)
    }
}
