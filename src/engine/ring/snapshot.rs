// SPDX-License-Identifier: GPL-2.0

//! Reading without consuming, for the `trace` file.
//!
//! A [`Snapshot`] goes from where the reader is to what was published when it
//! was made. It copies one sub-buffer at a time to memory of its own and looks
//! afterwards whether the slot still holds that sub-buffer, as the reader of a
//! seqlock does; what writers claimed meanwhile is counted as lost.

use super::layout::{HEADER_WORDS, WORD};
use super::note::Names;
use super::position::{Position, Seq, Slot};
use super::reader::{Cursor, EventRef, Found, Passed};
use super::{Reader, Ring, Storage};
use crate::sys::{self, AllocError, AtomicU32};
use core::ops::Deref;

/// The unread events of a ring at one moment, which stay unread.
///
/// `R` keeps the ring: a reference, or a counted one for a snapshot that is
/// looked at over a longer time.
pub struct Snapshot<R> {
    ring: R,
    copy: sys::Vec<AtomicU32>,
    /// Words of `copy` that are committed data; 0 when there is no page in it.
    limit: usize,
    cursor: Cursor,
    names: Names,
    /// The sub-buffer to copy next, when everything in `copy` has been seen.
    next: Seq,
    /// What was published when the snapshot was made.
    end: Position,
    passed: Passed,
    lost: u64,
    /// The event at the cursor, once it was looked for.
    found: Option<Found>,
}

impl<R: Deref<Target = Ring<S>>, S: Storage> Snapshot<R> {
    /// A snapshot of what `reader`, which is that of `ring`, has not consumed.
    ///
    /// The reader may then be dropped, or used; a sub-buffer that it consumes
    /// before the snapshot has come to it is missing from the snapshot, and
    /// counted there as lost.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory for the copy of a sub-buffer.
    pub fn new(ring: R, reader: &Reader<'_, S>) -> Result<Self, AllocError> {
        let mut copy = sys::Vec::with_capacity(ring.page_bytes() / WORD)?;
        for _ in 0..ring.page_bytes() / WORD {
            copy.push(AtomicU32::new(0))?;
        }
        let place = reader.place();
        let end = ring.published();
        let next = ring.geometry().next(place.seq);
        let mut snapshot = Self {
            ring,
            copy,
            limit: 0,
            cursor: place.cursor,
            names: place.names,
            next: place.seq,
            end,
            passed: place.passed,
            lost: place.pending_lost,
            found: None,
        };
        if !place.words.is_empty() {
            // The reader's own page: nobody can take it away now.
            let (limit, kept) = snapshot.ring.extent(place.seq, place.page, end);
            snapshot.copy_from(place.words, limit);
            snapshot.limit = limit;
            snapshot.next = next;
            snapshot.passed.events = snapshot.passed.events.wrapping_add(kept);
        }
        Ok(snapshot)
    }

    /// The oldest event that the snapshot has not passed.
    pub fn peek(&mut self) -> Option<EventRef<'_>> {
        let found = self.find()?;
        let words = self.copy.get(found.payload)?;
        Some(EventRef::new(found.ts, self.lost, words, &self.names))
    }

    /// Passes the oldest event; says whether there was one.
    pub fn advance(&mut self) -> bool {
        let Some(found) = self.find() else {
            return false;
        };
        self.cursor.pass(&found);
        self.found = None;
        self.lost = 0;
        true
    }

    /// Events lost after the last one that [`Snapshot::peek`] found, once it
    /// finds no more: not 0 only when the end of the snapshot was overrun, and
    /// then all events up to that moment.
    pub fn lost_at_end(&self) -> u64 {
        self.lost
    }

    fn find(&mut self) -> Option<Found> {
        loop {
            if self.found.is_none() {
                self.found = self.cursor.find(&self.copy, self.limit, &mut self.names);
            }
            if self.found.is_some() {
                return self.found.clone();
            }
            if self.ring.geometry().distance(self.next, self.end.seq()) < 0 {
                return None;
            }
            self.copy_next();
        }
    }

    /// Copies the sub-buffer `next`, or passes over it when it is gone.
    fn copy_next(&mut self) {
        let seq = self.next;
        self.next = self.ring.geometry().next(seq);
        self.limit = 0;
        let Some(slot) = self.ring.slot(seq) else {
            return;
        };
        let found = Slot(slot.load_acquire());
        if found.seq() != Some(seq) {
            self.pass_gone(seq);
            return;
        }
        let id = found.page();
        let (limit, kept) = self.ring.extent(seq, id, self.end);
        let words = self.ring.storage.page(id).unwrap_or_default();
        let before = self.ring.page(id).map(super::Page::before);
        self.copy_from(words, limit);
        // The copy comes before the second look at the slot. A writer stores
        // to the page only after it has claimed the slot, with full order.
        sys::fence_acquire();
        if slot.load_relaxed() != found.0 {
            self.pass_gone(seq);
            return;
        }
        if let Some(before) = before {
            self.lost = self.lost.wrapping_add(self.passed.go_to(before));
        }
        self.passed.events = self.passed.events.wrapping_add(kept);
        self.limit = limit;
        self.cursor = Cursor::start(&self.copy);
        self.names = Names::new();
    }

    /// Notes that `seq` was overrun. Its events are counted when the next
    /// sub-buffer is found; after the last one they are counted here.
    fn pass_gone(&mut self, seq: Seq) {
        if seq != self.end.seq() {
            return;
        }
        // No later page will tell, but what is published by now does.
        let (reached, _) = self.ring.reached();
        self.lost = self.lost.wrapping_add(self.passed.go_to(reached));
    }

    fn copy_from(&self, words: &[AtomicU32], limit: usize) {
        for (from, to) in words.iter().zip(self.copy.iter()).take(limit) {
            to.store_relaxed(from.load_relaxed());
        }
    }
}

impl<S: Storage> Ring<S> {
    /// The first word after the data of `seq` on page `id`, and its events, when
    /// `end` was published.
    fn extent(&self, seq: Seq, id: u32, end: Position) -> (usize, u64) {
        let Some(page) = self.page(id) else {
            return (HEADER_WORDS, 0);
        };
        let fill = if seq == end.seq() {
            end
        } else {
            Position(page.fill.load_relaxed())
        };
        if fill.seq() == seq {
            (fill.offset(), page.kept(fill))
        } else {
            // Already another's: the second look at the slot will tell.
            (HEADER_WORDS, 0)
        }
    }

    /// The time of the first event on `seq`, as far as `end`, if the slot has it.
    fn first_on(&self, seq: Seq, end: Position) -> Option<u64> {
        let slot = self.slot(seq)?;
        let found = Slot(slot.load_acquire());
        if found.seq() != Some(seq) {
            return None;
        }
        let (limit, _) = self.extent(seq, found.page(), end);
        let words = self.storage.page(found.page())?;
        let first = Cursor::start(words).find(words, limit, &mut Names::new())?;
        // As in `Snapshot::copy_next`.
        sys::fence_acquire();
        (slot.load_relaxed() == found.0).then_some(first.ts)
    }
}

impl<S: Storage> Reader<'_, S> {
    /// The time of the oldest event that has not been consumed.
    ///
    /// Unlike [`Reader::peek`] it takes no sub-buffer, so that asking leaves the
    /// ring as it is: what the reader has taken writers cannot overrun.
    pub fn oldest(&self) -> Option<u64> {
        let place = self.place();
        let ring = self.ring();
        let end = ring.published();
        let geometry = ring.geometry();
        let mut seq = place.seq;
        if !place.words.is_empty() {
            let (limit, _) = ring.extent(seq, place.page, end);
            let mut cursor = place.cursor;
            if let Some(found) = cursor.find(place.words, limit, &mut Names::new()) {
                return Some(found.ts);
            }
            seq = geometry.next(seq);
        }
        let slots = i64::from(geometry.slots());
        if geometry.distance(seq, end.seq()) >= slots {
            // Only the last lap can be there.
            seq = geometry.next(geometry.lap_before(end.seq()));
        }
        while geometry.distance(seq, end.seq()) >= 0 {
            if let Some(ts) = ring.first_on(seq, end) {
                return Some(ts);
            }
            seq = geometry.next(seq);
        }
        None
    }
}
