// SPDX-License-Identifier: GPL-2.0

//! Handing sub-buffers out as they lie in memory, to those who have mapped it.
//!
//! They read the reader's page up to its commit, and nobody writes there: writers,
//! if they still are on it, write behind. The commit is stored when the sub-buffer is
//! handed out, and stays; what is added later is read as anything else is, by
//! copying.

use super::layout::{self, HEADER_WORDS};
use super::{Note, Reader, Ring, Storage};

/// A sub-buffer that was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed {
    /// Its page.
    pub page: u32,
    /// Bytes of data on it that may be read, all of which count as consumed.
    pub bytes: u32,
}

impl<S: Storage> Ring<S> {
    /// A number that changes whenever the reader takes a sub-buffer. The page that
    /// was handed out when it was the same is the reader's still.
    pub fn taken(&self) -> u64 {
        self.reader.0.taken.load_relaxed()
    }
}

impl<S: Storage> Reader<'_, S> {
    /// Takes the next sub-buffer, consumes what is on it now, and leaves it on the
    /// reader's page until the next is taken. Shows `each` the tasks of its events.
    ///
    /// `None` where there is none, while something can come or be read of the one
    /// that was taken before, and for one before which events were lost, which
    /// readers know to tell only of one that begins with an event, not with a
    /// note. All these are for [`Reader::read_page`].
    pub fn hand_out(&mut self, each: impl FnMut(&Note)) -> Option<Handed> {
        if self.holds {
            let (end, left) = self.committed();
            if self.cursor.offset < end || !left {
                return None;
            }
            self.release();
        }
        if !self.take() || self.pending_lost != 0 {
            return None;
        }
        let (end, _) = self.committed();
        let behind = self.pass_all(end, each);
        self.skip_to(behind);
        let bytes = layout::bytes_of(end.saturating_sub(HEADER_WORDS));
        layout::set_commit(self.words(), bytes);
        Some(Handed {
            page: self.page,
            bytes,
        })
    }
}
