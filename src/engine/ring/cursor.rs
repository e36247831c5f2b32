// SPDX-License-Identifier: GPL-2.0

//! The position of a reader on a sub-buffer.

use core::ops::Range;

use super::layout::{self, Item, HEADER_WORDS};
use super::names::RingNames;
use crate::sys::AtomicU32;

/// A reader's position on a sub-buffer.
#[derive(Clone, Copy, Default)]
pub(super) struct Cursor {
    /// Offset of the next item, in words.
    pub(super) offset: usize,
    /// Time from which its delta counts.
    pub(super) ts: u64,
}

/// The next event on a page.
#[derive(Clone)]
pub(super) struct FoundEvent {
    pub(super) ts: u64,
    pub(super) payload: Range<usize>,
}

impl Cursor {
    /// Returns a cursor at the start of `page`.
    pub(super) fn start(page: &[AtomicU32]) -> Self {
        Self {
            offset: HEADER_WORDS,
            ts: layout::time(page),
        }
    }

    /// Finds the next event before `limit`; skips items that are not events.
    ///
    /// Adds the comm notes it passes to `names`.
    pub(super) fn find(
        &mut self,
        page: &[AtomicU32],
        limit: usize,
        names: &mut RingNames,
    ) -> Option<FoundEvent> {
        if self.offset == HEADER_WORDS && limit > HEADER_WORDS {
            // The reader may have taken the page before its first event was written.
            self.ts = layout::time(page);
        }
        while self.offset < limit {
            match layout::decode(page, self.offset, limit, self.ts) {
                Some(Item::Data { ts, start, end }) => {
                    return Some(FoundEvent {
                        ts,
                        payload: start..end,
                    })
                }
                Some(Item::Note { note, ts, end }) => {
                    names.add(self.offset, &note);
                    self.ts = ts;
                    self.offset = end;
                }
                Some(Item::Skip { ts, end }) => {
                    self.ts = ts;
                    self.offset = end;
                }
                // Cannot happen: published data was written by a writer.
                None => self.offset = limit,
            }
        }
        None
    }

    /// Moves past `found`, which `find` has just returned.
    pub(super) fn pass(&mut self, found: &FoundEvent) {
        self.ts = found.ts;
        self.offset = found.payload.end;
    }
}
