// SPDX-License-Identifier: GPL-2.0

//! Memory in pages of equal size, for buffers that are written by word.

use crate::sys::{AllocError, AtomicU32, Vec};

/// Bytes in a word.
const WORD: usize = 4;

/// A number of pages.
///
/// # Invariants
///
/// Each page is a vector of its own, which is never grown and of which only
/// shared references are given out; all have the same length.
pub struct Pages(Vec<Vec<AtomicU32>>);

impl Pages {
    /// `count` pages of `bytes` each, filled with ones: nothing may depend on
    /// fresh memory being zero.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when a test has let allocations fail.
    pub fn new(count: usize, bytes: usize) -> Result<Self, AllocError> {
        let mut all = Vec::new();
        for _ in 0..count {
            let mut page = Vec::with_capacity(bytes / WORD)?;
            for _ in 0..bytes / WORD {
                page.push(AtomicU32::new(u32::MAX))?;
            }
            all.push(page)?;
        }
        Ok(Self(all))
    }

    /// The number of pages.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The words of the page `index`; `None` if there is no such page.
    ///
    /// Each call with the same index returns the same memory, which no other
    /// index shares and which nothing but its users writes.
    #[inline]
    pub fn page(&self, index: u32) -> Option<&[AtomicU32]> {
        self.0.get(index as usize).map(|page| &**page)
    }
}

/// Pages that are looked at, and not stored to.
#[derive(Clone, Copy)]
pub struct View<'a>(&'a Pages);

impl Pages {
    /// The pages, for those who only look.
    pub fn view(&self) -> View<'_> {
        View(self)
    }
}

impl<'a> View<'a> {
    /// The words of the page `index`; none if there is no such page.
    pub fn words(self, index: u32) -> impl Iterator<Item = u32> + 'a {
        let page = self.0.page(index).unwrap_or_default();
        page.iter().map(AtomicU32::load_relaxed)
    }
}
