// SPDX-License-Identifier: GPL-2.0

//! Memory in pages of equal size, for buffers that are written by word.
//!
//! C header: [`include/linux/vmalloc.h`](srctree/include/linux/vmalloc.h)

use super::atomic::AtomicU32;
pub use kernel::page::PAGE_SIZE;
use kernel::prelude::*;

/// Bytes in a word.
const WORD: usize = 4;

/// A number of pages, zeroed at first, each aligned to 4096 bytes.
///
/// # Invariants
///
/// `memory` holds `count` times `page_words` words, and does not move or shrink.
pub struct Pages {
    memory: VVec<u32>,
    page_words: usize,
    count: usize,
}

impl Pages {
    /// Allocates `count` pages of `page_bytes`, a multiple of 4096.
    ///
    /// # Errors
    ///
    /// `EINVAL` for another size, `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new(count: usize, page_bytes: usize) -> Result<Self> {
        if page_bytes == 0 || page_bytes % 4096 != 0 {
            return Err(EINVAL);
        }
        let page_words = page_bytes / WORD;
        let words = count.checked_mul(page_words).ok_or(ENOMEM)?;
        // INVARIANT: vmalloc aligns to pages; all words are filled.
        Ok(Self {
            memory: VVec::from_elem(0, words, GFP_KERNEL)?,
            page_words,
            count,
        })
    }

    /// The number of pages.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The words of the page `index`; `None` if there is no such page.
    ///
    /// Each call with the same index returns the same memory, which no other
    /// index shares and which nothing but its users writes.
    #[inline(always)]
    pub fn page(&self, index: u32) -> Option<&[AtomicU32]> {
        let from = (index as usize).wrapping_mul(self.page_words);
        if (index as usize) >= self.count {
            return None;
        }
        // SAFETY: By the type invariant within the memory; the type is
        // transparent over a u32 and nobody forms a reference to the words in
        // another way.
        Some(unsafe {
            core::slice::from_raw_parts(
                self.memory.as_ptr().cast::<AtomicU32>().add(from),
                self.page_words,
            )
        })
    }
}
