// SPDX-License-Identifier: GPL-2.0

//! Reading whole sub-buffers in binary, in place: the usual case for a reader that keeps up.
//!
//! A sub-buffer that the writers have left, and of which nothing was read, already has the layout
//! that binary readers expect, except for its commit and the bytes behind its data. The reader,
//! which owns the page, stores these. It does not walk over the events: their number is known, and
//! the comm notes are linked. If events were lost before the sub-buffer, a copy is needed: clients
//! report the loss only if the data begins with an event, not with a comm note.

use super::cursor::Cursor;
use super::layout::{self, HEADER_WORDS};
use super::note::Note;
use super::notes;
use super::reader::Reader;
use super::state::{Page, Storage};
use crate::sys::{self, AtomicU32};

/// A sub-buffer on the reader's page that can be read as a whole.
pub(super) struct Whole<'r> {
    words: &'r [AtomicU32],
    page: &'r Page,
    /// The first word behind its data.
    end: usize,
    /// The number of its events.
    events: u64,
}

impl Whole<'_> {
    /// Completes it for binary readers.
    pub(super) fn complete(&self) {
        layout::complete(self.words, self.end);
    }
}

impl<'r, S: Storage> Reader<'r, S> {
    /// Consumes a whole sub-buffer that the writers have left and of which nothing was
    /// read, by passing its bytes to `put`: header, events, zeros. Then calls `each` for the
    /// tasks of the events, and possibly for others, and returns the number of bytes.
    ///
    /// Returns `None` if there is no such sub-buffer, if events were lost before it, if
    /// `room` bytes are too few for it, or if `put` returns false: then nothing is consumed.
    /// [`Reader::read_page`] reads everything.
    pub fn read_whole(
        &mut self,
        room: usize,
        each: impl FnMut(&Note),
        put: impl FnOnce(&[u8]) -> bool,
    ) -> Option<usize> {
        if room < self.ring.page_bytes() {
            return None;
        }
        let whole = self.next_whole().filter(|_| self.pending_lost == 0)?;
        whole.complete();
        // SAFETY: By the invariants of `Ring` no context stores to a sub-buffer that the
        // writers have left, on the reader's page, for as long as the reader owns it.
        let bytes = unsafe { sys::words_as_bytes(whole.words) };
        if !put(bytes) {
            return None;
        }
        self.pass_whole(&whole, each);
        Some(bytes.len())
    }

    /// Returns whether the oldest unread event is on a sub-buffer that the writers have left.
    pub fn has_whole(&mut self) -> bool {
        if self.next_whole().is_some() {
            return true;
        }
        // A sub-buffer that the writers are on is left as it is, for `read_whole`.
        if self.holds && !self.committed().1 {
            return false;
        }
        self.find().is_some() && self.committed().1
    }

    /// Returns the next whole sub-buffer, taking it if needed.
    #[inline]
    pub(super) fn next_whole(&mut self) -> Option<Whole<'r>> {
        if self.holds && self.cursor.offset != HEADER_WORDS {
            let (end, left) = self.committed();
            if !left || self.cursor.offset < end.offset() {
                return None;
            }
            self.release();
        }
        if !self.holds && !self.take() {
            return None;
        }
        let (end, left) = self.committed();
        let page = self.ring.page(self.page)?;
        let events = page.kept(end);
        (left && events != 0).then(|| Whole {
            words: self.words(),
            page,
            end: end.offset(),
            events,
        })
    }

    /// Consumes `whole`, and calls `each` for the tasks on it. Its page becomes the reader's spare.
    pub(super) fn pass_whole(&mut self, whole: &Whole<'_>, mut each: impl FnMut(&Note)) {
        let Whole {
            words,
            page,
            end,
            events,
        } = *whole;
        let last = page.tally.last_note(self.seq);
        notes::each_note(words, (last, end), |_, note| each(note));
        // The time is not used any more.
        let ts = self.cursor.ts;
        self.skip_to(Cursor { offset: end, ts });
        self.count_read(events);
        self.give_up(events);
    }
}
