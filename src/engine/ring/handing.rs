// SPDX-License-Identifier: GPL-2.0

//! Handing sub-buffers out as they lie in memory, to those who have mapped it.
//!
//! They read the reader's page, where nobody writes but behind its commit, and
//! ask for more when they have come to that. So the commit of the reader's page
//! always says what the reader has consumed of it: there the writers store none.

use super::layout::{self, COMMIT_LENGTH, HEADER_WORDS, MISSED_EVENTS, MISSED_STORED};
use super::{Note, Reader, Ring, Storage};

/// What has been handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed {
    /// The reader's page.
    pub page: u32,
    /// Bytes of data on it that may be read, all of which count as consumed.
    pub bytes: u32,
    /// Events that were lost just before its first.
    pub lost: u64,
}

impl<S: Storage> Ring<S> {
    /// What the reader's page has for those who have mapped it. While somebody
    /// reads it may be a mixture.
    pub fn handed(&self) -> Handed {
        let state = &self.reader.0;
        let page = state.page.load_relaxed();
        let words = self.storage.page(page).unwrap_or_default();
        Handed {
            page,
            bytes: layout::commit(words) & COMMIT_LENGTH,
            lost: state.handed_lost.load_relaxed(),
        }
    }
}

impl<S: Storage> Reader<'_, S> {
    /// Hands out what was added to the reader's page or, where that is nothing,
    /// the next sub-buffer, which then is on the reader's page; consumes it.
    /// Shows `each` the tasks of its events.
    pub fn hand_out(&mut self, each: impl FnMut(&Note)) {
        if self.holds {
            let (end, left) = self.committed();
            if self.cursor.offset < end {
                self.consume_to(end, each);
                return;
            }
            if !left {
                return;
            }
            self.release();
        }
        if self.take() {
            let (end, _) = self.committed();
            self.consume_to(end, each);
        }
    }

    fn consume_to(&mut self, end: usize, mut each: impl FnMut(&Note)) {
        if self.pending_lost != 0 {
            self.handed_lost = self.pending_lost;
            self.pending_lost = 0;
        }
        let words = self.words();
        let mut ahead = self.cursor;
        while let Some(found) = ahead.find(words, end, &mut self.names) {
            self.skip_to(ahead);
            self.pass(&found);
            ahead = self.cursor;
            if let Some(note) = self.names.take_latest() {
                each(&note);
            }
        }
        self.skip_to(ahead);
    }

    /// Stores to the reader's page, which it holds, what was consumed of it.
    pub(super) fn mark(&self) {
        let words = self.words();
        let (end, left) = self.committed();
        let at = self.cursor.offset;
        let mut commit = layout::bytes_of(at.saturating_sub(HEADER_WORDS));
        if self.handed_lost != 0 {
            commit |= MISSED_EVENTS;
            // Where writers are nothing can stand behind the data.
            if left && at >= end && layout::put_lost(words, at, self.handed_lost) {
                commit |= MISSED_STORED;
            }
        }
        layout::set_commit(words, commit);
    }
}
