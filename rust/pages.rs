// SPDX-License-Identifier: GPL-2.0

//! Memory in pages of equal size, for buffers that are written in words.
//!
//! C header: [`include/linux/vmalloc.h`](srctree/include/linux/vmalloc.h)

use super::{atomic::AtomicU32, bindings as extra};
use core::ptr::NonNull;
pub use kernel::page::PAGE_SIZE;
use kernel::prelude::*;

/// Number of bytes in a word.
const WORD: usize = 4;

/// A number of pages, initially zeroed, each aligned to 4096 bytes.
///
/// # Invariants
///
/// `memory` was allocated by `ferroprobe_alloc_pages()`, that is by vmalloc. It holds
/// `count` times `page_words` words, all of them initialised, and belongs to this value
/// alone.
pub struct Pages {
    memory: NonNull<AtomicU32>,
    page_words: usize,
    count: usize,
}

// SAFETY: The memory is bound to no thread, and holds only atomics.
unsafe impl Send for Pages {}
// SAFETY: As above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Allocates `count` pages of `page_bytes`, a multiple of 4096.
    ///
    /// # Errors
    ///
    /// `EINVAL` if `page_bytes` is not such a multiple, or if the total is 0; `ENOMEM`,
    /// without invoking the OOM killer.
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
        // SAFETY: The function has no requirements but its context, and the size is not
        // 0.
        let memory = unsafe { extra::ferroprobe_alloc_pages(bytes) };
        // INVARIANT: vmalloc aligns to pages, and all words are zero.
        Ok(Self {
            memory: NonNull::new(memory.cast()).ok_or(ENOMEM)?,
            page_words,
            count,
        })
    }

    /// Returns the number of pages.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the words of the page `index`; `None` if there is no such page.
    ///
    /// Calls with the same index return the same memory. No other index shares it, and
    /// only its users write it.
    #[inline(always)]
    pub fn page(&self, index: u32) -> Option<&[AtomicU32]> {
        let from = (index as usize).wrapping_mul(self.page_words);
        if (index as usize) >= self.count {
            return None;
        }
        // SAFETY: The words are within the memory by the type invariant; no reference to
        // the words is formed in another way.
        Some(unsafe {
            core::slice::from_raw_parts(self.memory.as_ptr().add(from), self.page_words)
        })
    }
}

/// A read-only view of pages.
#[derive(Clone, Copy)]
pub struct View<'a>(&'a Pages);

impl Pages {
    /// Returns the pages for reading only.
    pub fn view(&self) -> View<'_> {
        View(self)
    }
}

impl<'a> View<'a> {
    /// Returns whether only the owner uses the memory of page `index`: it is neither mapped by a
    /// task nor in a pipe. False if there is no such page.
    pub fn is_unshared(self, index: u32) -> bool {
        let whole = |words: &&[AtomicU32]| size_of_val(*words) % PAGE_SIZE == 0;
        self.page(index).filter(whole).is_some_and(|words| {
            // SAFETY: The memory was allocated by vmalloc by the invariants of `Pages`.
            unsafe { extra::ferroprobe_pages_unshared(words.as_ptr().cast(), size_of_val(words)) }
        })
    }

    /// Returns the words of the page `index`, for mapping.
    pub(super) fn page(self, index: u32) -> Option<&'a [AtomicU32]> {
        self.0.page(index)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the memory was allocated in `new`; it has no more
        // users.
        unsafe { extra::ferroprobe_free(self.memory.as_ptr().cast()) };
    }
}
