// SPDX-License-Identifier: GPL-2.0

//! Lending sub-buffers to other readers, such as pipes, without copying.
//!
//! A page that is lent is in no slot and is not the reader's. A spare page takes its place;
//! the lent one is a spare from then on, and is used again once it is free. So a ring has
//! as many spares as pages can be lent at a time; if none is free, the reader copies.

use super::note::Note;
use super::reader::Reader;
use super::state::{Ring, Storage};
use crate::sys::AtomicU32;

/// The result of [`Reader::lend`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lent {
    /// A sub-buffer was lent and counts as consumed.
    Lent,
    /// There is a sub-buffer, but it must be copied: part of it has been read, events were lost
    /// before it, no spare is free, or `put` refused it.
    Copy,
    /// The writers have not left any unread sub-buffer.
    Nothing,
}

impl<S: Storage> Ring<S> {
    /// Returns the number of pages, including spares.
    pub fn page_count(&self) -> usize {
        self.pages.len()
    }

    /// Returns the next spare if its page is free.
    fn free_spare(&self, is_free: impl FnOnce(u32) -> bool) -> Option<&AtomicU32> {
        let next = &self.reader.0.next_spare;
        // CAST: u32 to usize widens.
        let at = next.load_relaxed() as usize;
        let after = if at.wrapping_add(1) < self.spares.len() {
            at.wrapping_add(1)
        } else {
            0
        };
        // CAST: Below the number of pages. A page that stays lent delays no other.
        next.store_relaxed(after as u32);
        let spare = self.spares.get(at)?;
        is_free(spare.load_relaxed()).then_some(spare)
    }
}

impl<S: Storage> Reader<'_, S> {
    /// Lends the next sub-buffer, which the writers have left and of which nothing was read,
    /// to `put`, by the number of its page, and calls `each` for the tasks of its events.
    /// The page is not stored to before `is_free` returns true for it.
    ///
    /// If `put` returns false the sub-buffer is not lent, and nothing is consumed.
    pub fn lend(
        &mut self,
        is_free: impl FnOnce(u32) -> bool,
        each: impl FnMut(&Note),
        put: impl FnOnce(u32) -> bool,
    ) -> Lent {
        let Some(whole) = self.next_whole() else {
            return if self.has_whole() {
                Lent::Copy
            } else {
                Lent::Nothing
            };
        };
        if self.pending_lost != 0 {
            return Lent::Copy;
        }
        let Some(spare) = self.ring.free_spare(is_free) else {
            return Lent::Copy;
        };
        whole.complete();
        if !put(self.page) {
            return Lent::Copy;
        }
        self.pass_whole(&whole, each);
        let lent = self.page;
        self.page = spare.load_relaxed();
        spare.store_relaxed(lent);
        Lent::Lent
    }
}
