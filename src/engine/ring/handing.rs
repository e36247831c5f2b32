// SPDX-License-Identifier: GPL-2.0

//! Handing sub-buffers to mmap readers, without copying.
//!
//! An mmap reader reads the reader's page up to its commit, and no writer stores there:
//! writers still on the sub-buffer store behind the commit. The commit is stored when the
//! sub-buffer is handed out and then stays. Events added later are read by copying.

use super::layout::{self, HEADER_WORDS};
use super::note::Note;
use super::reader::Reader;
use super::state::{Ring, Storage};

/// A sub-buffer that was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed {
    /// Its page.
    pub page: u32,
    /// Number of bytes of data on it that may be read; all of them count as consumed.
    pub bytes: u32,
}

impl<S: Storage> Ring<S> {
    /// Returns a number that changes whenever the reader takes a sub-buffer. While it is
    /// unchanged, a page that was handed out is still the reader's.
    pub fn taken(&self) -> u64 {
        self.reader.0.taken.load_relaxed()
    }
}

impl<S: Storage> Reader<'_, S> {
    /// Takes the next sub-buffer, consumes what is on it now, and leaves it on the reader's
    /// page until the next is taken. Calls `each` for the tasks of its events.
    ///
    /// Returns `None` if no sub-buffer is ready, if the previous one may still grow or is
    /// unread, or if events were lost before it: mmap readers report losses only for a
    /// sub-buffer that begins with an event, not with a comm note. Use
    /// [`Reader::read_page`] then.
    pub fn hand_out(&mut self, each: impl FnMut(&Note)) -> Option<Handed> {
        if self.holds {
            let (end, left) = self.committed();
            if self.cursor.offset < end.offset() || !left {
                return None;
            }
            self.release();
        }
        if !self.take() || self.pending_lost != 0 {
            return None;
        }
        let end = self.committed().0.offset();
        self.each_note(end, each);
        let behind = self.pass_all(end);
        self.skip_to(behind);
        let bytes = layout::bytes_of(end.saturating_sub(HEADER_WORDS));
        layout::set_commit(self.words(), bytes);
        Some(Handed {
            page: self.page,
            bytes,
        })
    }
}
