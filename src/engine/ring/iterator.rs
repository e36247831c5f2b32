// SPDX-License-Identifier: GPL-2.0

//! Reading without consuming, for the `trace` file.
//!
//! An [`Iter`] extends from the reader's position to what was published when it was
//! created. It copies one sub-buffer at a time to memory of its own and checks afterwards
//! whether the slot still holds that sub-buffer, as the reader of a seqlock does. What
//! writers claimed meanwhile is counted as lost.

use super::cursor::{Cursor, FoundEvent};
use super::layout::WORD;
use super::names::RingNames;
use super::position::{Position, Seq, Slot};
use super::reader::Reader;
use super::reader::{EventRef, Passed, ReadPosition};
use super::state::{Ring, Storage};
use crate::sys::{self, AllocError, AtomicU32};
use core::ops::Deref;

/// The unread events of a ring at one moment; they stay unread.
///
/// `R` keeps the ring: a reference, or a counted reference for a long-lived iterator.
pub struct Iter<R> {
    ring: R,
    copy: sys::Vec<AtomicU32>,
    /// Number of words of `copy` that are committed data; 0 if it has no sub-buffer.
    limit: usize,
    cursor: Cursor,
    names: RingNames,
    /// The sub-buffer to copy next, when everything in `copy` has been read.
    next: Seq,
    /// How many sub-buffers are left to copy.
    left: u32,
    /// What was published when the iterator was created.
    end: Position,
    /// An upper bound of the events in the ring at that time, since the ring was created.
    events: u64,
    passed: Passed,
    lost: u64,
    /// The event at the cursor, once it has been looked up.
    found: Option<FoundEvent>,
}

impl<R: Deref<Target = Ring<S>>, S: Storage> Iter<R> {
    /// Creates an iterator of what `reader`, a reader of `ring`, has not consumed.
    ///
    /// The reader may then be dropped or used. A sub-buffer that it consumes before the
    /// iterator reaches it is missing from the iterator and counted there as lost.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if there is no memory for the copy of a sub-buffer.
    pub fn new(ring: R, reader: &Reader<'_, S>) -> Result<Self, AllocError> {
        let mut copy = sys::Vec::with_capacity(ring.page_bytes() / WORD)?;
        for _ in 0..ring.page_bytes() / WORD {
            copy.push(AtomicU32::new(0))?;
        }
        let place = reader.place();
        let end = ring.published();
        // Overrun sub-buffers cannot be copied: the first one found gives the number of
        // events lost.
        let (next, left) = ring.next_untaken(place.last, end.seq());
        let events = ring.reached().0.events;
        let mut iterator = Self {
            ring,
            copy,
            limit: 0,
            cursor: place.cursor,
            names: place.names,
            next,
            left,
            end,
            events,
            passed: place.passed,
            lost: place.pending_lost,
            found: None,
        };
        if place.holds {
            // The reader's own page, which no writer can take away now.
            let (limit, kept) = iterator.ring.extent_of_held(&place, end);
            iterator.copy_from(place.words, limit);
            iterator.limit = limit;
            iterator.passed.events = iterator.passed.events.wrapping_add(kept);
        }
        Ok(iterator)
    }

    /// Returns the oldest event that the iterator has not passed.
    pub fn peek(&mut self) -> Option<EventRef<'_>> {
        let found = self.find()?;
        let words = self.copy.get(found.payload)?;
        Some(EventRef::new(
            (found.ts, self.lost),
            words,
            (&self.copy, &self.names),
        ))
    }

    /// Passes the oldest event; returns whether there was one.
    pub fn advance(&mut self) -> bool {
        let Some(found) = self.find() else {
            return false;
        };
        self.cursor.pass(&found);
        self.found = None;
        self.lost = 0;
        true
    }

    /// Returns the events lost after the last one that [`Iter::peek`] found, once it
    /// finds no more. Nonzero only if the end of the iterator was overrun; then it counts
    /// all events up to that moment.
    pub fn lost_at_end(&self) -> u64 {
        self.lost
    }

    fn find(&mut self) -> Option<FoundEvent> {
        loop {
            if self.found.is_none() {
                self.found = self.cursor.find(&self.copy, self.limit, &mut self.names);
            }
            if self.found.is_some() {
                return self.found.clone();
            }
            // Terminates, because one sub-buffer fewer is left.
            self.left = self.left.checked_sub(1)?;
            self.copy_next();
        }
    }

    /// Copies the sub-buffer `next`, or passes over it if it is gone.
    fn copy_next(&mut self) {
        let seq = self.next;
        self.next = self.ring.geometry().next(seq);
        self.limit = 0;
        let Some(slot) = self.ring.slot(seq) else {
            return;
        };
        let found = Slot(slot.load_acquire());
        if found.seq() != Some(seq) {
            self.pass_gone();
            return;
        }
        let id = found.page();
        let before = self.ring.page(id).map(super::state::Page::before);
        if before.is_some_and(|before| self.is_later(before)) {
            self.pass_gone();
            return;
        }
        let (limit, kept) = self.ring.extent(seq, id, self.end);
        let words = self.ring.storage.page(id).unwrap_or_default();
        self.copy_from(words, limit);
        // The copy comes before the second read of the slot. A writer stores to the page
        // only after it has claimed the slot, with full ordering.
        sys::fence_acquire();
        if slot.load_relaxed() != found.0 {
            self.pass_gone();
            return;
        }
        if let Some(before) = before {
            self.lost = self.lost.wrapping_add(self.passed.go_to(before));
        }
        self.passed.events = self.passed.events.wrapping_add(kept);
        self.limit = limit;
        self.cursor = Cursor::start(&self.copy);
        self.names = RingNames::new();
    }

    /// Returns whether a sub-buffer that begins after `before` was recorded after the
    /// iterator was created: the writers have reached its sequence again.
    fn is_later(&self, before: Passed) -> bool {
        // CAST: Modulo 2^64, because migrated events count from below 0.
        before.events.wrapping_sub(self.events) as i64 > 0
    }

    /// Handles an overrun sub-buffer. Its events are counted when the next sub-buffer is
    /// found, or here if it was the last.
    fn pass_gone(&mut self) {
        if self.left > 0 {
            return;
        }
        // No later sub-buffer gives the number, but what is published by now does.
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
    /// Returns the first word after the data of `seq`, which is in its slot with page `id`,
    /// and its number of events, when `end` was published.
    pub(super) fn extent(&self, seq: Seq, id: u32, end: Position) -> (usize, u64) {
        if seq == end.seq() {
            let kept = self.page(id).map_or(0, |page| page.kept(end));
            return (end.offset(), kept);
        }
        // If the page belongs to another sub-buffer by now, the second read of the slot
        // detects it.
        self.whole_extent(seq, id)
    }

    /// As [`Ring::extent`], for a sub-buffer that the writers have left.
    fn whole_extent(&self, seq: Seq, id: u32) -> (usize, u64) {
        let fill = self.fill_of(seq, id);
        let kept = self.page(id).map_or(0, |page| page.kept(fill));
        (fill.offset(), kept)
    }

    /// As [`Ring::extent`], for the sub-buffer that the reader at `place` holds.
    pub(super) fn extent_of_held(&self, place: &ReadPosition<'_>, end: Position) -> (usize, u64) {
        if self.is_written(place.seq, end) {
            self.extent(place.seq, place.page, end)
        } else {
            self.whole_extent(place.seq, place.page)
        }
    }

    /// Returns the time of the first event on `seq` before `end`, if the slot holds `seq`.
    fn first_on(&self, seq: Seq, end: Position) -> Option<u64> {
        let slot = self.slot(seq)?;
        let found = Slot(slot.load_acquire());
        if found.seq() != Some(seq) {
            return None;
        }
        let (limit, _) = self.extent(seq, found.page(), end);
        let words = self.storage.page(found.page())?;
        let first = Cursor::start(words).find(words, limit, &mut RingNames::new())?;
        // As in `Iter::copy_next`.
        sys::fence_acquire();
        (slot.load_relaxed() == found.0).then_some(first.ts)
    }
}

impl<S: Storage> Reader<'_, S> {
    /// Returns the time of the oldest event that has not been consumed.
    ///
    /// Unlike [`Reader::peek`] this takes no sub-buffer, so that it leaves the ring
    /// unchanged: writers cannot overrun a sub-buffer that the reader has taken.
    pub fn oldest(&self) -> Option<u64> {
        let place = self.place();
        let ring = self.ring();
        let end = ring.published();
        if place.holds {
            let (limit, _) = ring.extent_of_held(&place, end);
            let mut cursor = place.cursor;
            if let Some(found) = cursor.find(place.words, limit, &mut RingNames::new()) {
                return Some(found.ts);
            }
        }
        let (mut seq, count) = ring.next_untaken(place.last, end.seq());
        for _ in 0..count {
            if let Some(ts) = ring.first_on(seq, end) {
                return Some(ts);
            }
            seq = ring.geometry().next(seq);
        }
        None
    }
}
