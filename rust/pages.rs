// SPDX-License-Identifier: GPL-2.0

//! Memory in pages of equal size, for buffers that are written by word.
//!
//! C header: [`include/linux/vmalloc.h`](srctree/include/linux/vmalloc.h)

use super::{atomic::AtomicU32, bindings as extra};
use core::ptr::NonNull;
pub use kernel::page::PAGE_SIZE;
use kernel::prelude::*;

/// Bytes in a word.
const WORD: usize = 4;

/// A number of pages, zeroed at first, each aligned to 4096 bytes.
///
/// # Invariants
///
/// `memory` holds `count` times `page_words` words, all of them initialised, and is
/// nobody else's.
pub struct Pages {
    memory: NonNull<AtomicU32>,
    page_words: usize,
    count: usize,
}

// SAFETY: The memory belongs to no thread, and holds atomics only.
unsafe impl Send for Pages {}
// SAFETY: As above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Allocates `count` pages of `page_bytes`, a multiple of 4096.
    ///
    /// # Errors
    ///
    /// `EINVAL` for another size, or none; `ENOMEM`, for which no task is ended to
    /// make room.
    ///
    /// Context: process, may sleep.
    pub fn new(count: usize, page_bytes: usize) -> Result<Self> {
        if page_bytes == 0 || page_bytes % 4096 != 0 {
            return Err(EINVAL);
        }
        let page_words = page_bytes / WORD;
        let bytes = count.checked_mul(page_bytes).ok_or(ENOMEM)?;
        if bytes == 0 {
            return Err(EINVAL);
        }
        // SAFETY: Has no requirements but the context, and the size is not 0.
        let memory = unsafe { extra::ferroprobe_alloc_pages(bytes) };
        // INVARIANT: vmalloc aligns to pages; all words are zero.
        Ok(Self {
            memory: NonNull::new(memory.cast()).ok_or(ENOMEM)?,
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
        // SAFETY: By the type invariant within the memory; nobody forms a
        // reference to the words in another way.
        Some(unsafe {
            core::slice::from_raw_parts(self.memory.as_ptr().add(from), self.page_words)
        })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: By the type invariant allocated in `new`, and used no more.
        unsafe { extra::ferroprobe_free_pages(self.memory.as_ptr().cast()) };
    }
}
