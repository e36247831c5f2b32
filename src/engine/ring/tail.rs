// SPDX-License-Identifier: GPL-2.0

//! The pages that the writers are on.

use crate::sys::AtomicU32;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The page that the writers use in a slot, with its address, which saves each reservation
/// the lookup in the storage.
///
/// Written by the owning CPU only, before the writers enter the page. The address needs no
/// hook for tests and no model: it changes with the number.
///
/// # Invariants
///
/// `words` points to the words of a page of the ring's storage, which do not
/// move as long as that lives.
pub(super) struct Tail {
    page: AtomicU32,
    words: AtomicPtr<AtomicU32>,
}

impl Tail {
    /// Creates a tail on `page`, whose words are `words`.
    pub(super) fn new(page: u32, words: &[AtomicU32]) -> Self {
        Self {
            page: AtomicU32::new(page),
            words: AtomicPtr::new(words.as_ptr().cast_mut()),
        }
    }

    /// Changes it to `page`, whose words are `words`.
    pub(super) fn set(&self, page: u32, words: &[AtomicU32]) {
        self.words
            .store(words.as_ptr().cast_mut(), Ordering::Relaxed);
        self.page.store_relaxed(page);
    }

    /// Changes it to the page of `other`.
    pub(super) fn follow(&self, other: &Self) {
        let words = other.words.load(Ordering::Relaxed);
        self.words.store(words, Ordering::Relaxed);
        self.page.store_relaxed(other.page());
    }

    pub(super) fn page(&self) -> u32 {
        self.page.load_relaxed()
    }

    /// Returns `count` of its words from `start`.
    ///
    /// # Safety
    ///
    /// The page has that many words, the storage lives as long as the result, and the
    /// caller's sub-buffer is on the page.
    #[inline(always)]
    pub(super) unsafe fn words<'r>(&self, start: usize, count: usize) -> &'r [AtomicU32] {
        let words = self.words.load(Ordering::Relaxed);
        // SAFETY: By the type invariant these are the words of a page, and the caller
        // guarantees that it has that many.
        unsafe { core::slice::from_raw_parts(words.add(start), count) }
    }
}
