// SPDX-License-Identifier: GPL-2.0

//! Migrating the events of another ring: how a ring gets another size without losing
//! events.
//!
//! The new ring is created first, and the writers switch to it. Its sequences begin with
//! the second lap. What the old ring holds is copied to the slots of the lap before, the
//! newest sub-buffer to the last slot. The writers may come round meanwhile: a slot that
//! they have claimed stays theirs, and the sub-buffer that was meant for it is overrun. The
//! sub-buffer that the old reader holds, which may be partly read, goes to the new reader.
//!
//! Events, bytes and losses of the new ring count from 0 where its writers began; migrated
//! ones count from below 0, modulo 2^64.

use super::cursor::Cursor;
use super::layout::HEADER_WORDS;
use super::names::RingNames;
use super::position::{Position, Seq, Slot};
use super::reader::{Passed, Reader};
use super::state::{Page, Ring, Storage};
use crate::sys::{self, AllocError, AtomicU32};

/// A sub-buffer of the old ring.
struct MigratedPiece {
    page: u32,
    /// The end of its events.
    fill: Position,
    /// The position from which it is unread.
    cursor: Cursor,
    /// Events on it, without the discarded ones.
    kept: u64,
    /// Unread events on it.
    unread: u64,
}

impl MigratedPiece {
    /// Returns the number of unread bytes.
    fn bytes(&self) -> u64 {
        let all = self.fill.data_bytes();
        let read = self.fill.at(self.cursor.offset).data_bytes();
        all.wrapping_sub(read)
    }
}

/// Preallocated room for the list of sub-buffers to migrate.
pub struct Pieces(sys::Vec<MigratedPiece>);

impl Pieces {
    /// Allocates room for the sub-buffers of any of `rings`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn of<'a, S: Storage + 'a>(
        rings: impl Iterator<Item = &'a Ring<S>>,
    ) -> Result<Self, AllocError> {
        let most = rings.map(|ring| ring.capacity()).max().unwrap_or(0);
        // CAST: u32 to usize widens. The reader has one more sub-buffer.
        sys::Vec::with_capacity((most as usize).saturating_add(1)).map(Self)
    }
}

impl<S: Storage> Ring<S> {
    /// Migrates the unread events of `old`, a ring of the same CPU: they precede everything
    /// in this ring, and the counters continue from those of `old`. Events that do not fit
    /// are counted as overrun, the oldest first.
    ///
    /// No writer may use `old` any more; `old` stays unchanged, for snapshots of it. This
    /// ring may be written to, and must not have been read. Returns false, with nothing
    /// migrated, if the sub-buffers differ in size, a reader of either ring lives, or
    /// `room` is too small.
    pub fn take_over(&self, old: &Self, room: &mut Pieces) -> bool {
        let (Some(from), Some(mut to)) = (old.reader(), self.reader()) else {
            return false;
        };
        if old.page_words != self.page_words || to.holds || to.seq != self.first {
            return false;
        }
        if old.pieces(&from, &mut room.0).is_err() {
            return false;
        }
        let pieces = room.0.get(..).unwrap_or_default();
        let before = old.stats();
        // The slot in which the writers begin is not available.
        let slots = self.capacity().saturating_sub(1);
        let held = |piece: &MigratedPiece| from.holds && from.page == piece.page;
        let most = if pieces.first().is_some_and(held) {
            self.capacity()
        } else {
            slots
        };
        // CAST: u32 to usize widens.
        let skipped = pieces.len().saturating_sub(most as usize);
        let pieces = pieces.get(skipped..).unwrap_or_default();
        // The writers of this ring began where those of the old ring ended.
        let end = Passed {
            events: old.reached().0.events,
            losses: old.losses(),
        };

        let mut passed = from.passed;
        to.pending_lost = from.pending_lost;
        if let Some(oldest) = pieces.first() {
            if !held(oldest) {
                let page = old.page(oldest.page).map(Page::before);
                let lost = passed.go_to(page.unwrap_or_default());
                let lost = lost.wrapping_sub(old.read_on_page(&from));
                to.pending_lost = to.pending_lost.wrapping_add(lost);
            }
        }
        to.passed.losses = passed.losses.wrapping_sub(end.losses);

        let mut events = 0u64;
        let mut bytes = 0u64;
        // The newest first: the writers reach its slot last.
        for (index, piece) in pieces.iter().enumerate().rev() {
            // CAST: Below the number of slots.
            let behind = pieces.len().saturating_sub(index) as u32;
            let before = self.geometry().lap_before(self.first);
            let slot = self.capacity().saturating_sub(behind);
            let seq = Seq(before.0.wrapping_add(slot));
            let ahead = old.page(piece.page).map(Page::before).unwrap_or_default();
            let earlier = Passed {
                events: ahead.events.wrapping_sub(end.events),
                losses: ahead.losses.wrapping_sub(end.losses),
            };
            self.put(old, piece, to.page, seq, earlier);
            if index == 0 {
                to.passed.events = earlier.events;
                to.seq = seq;
            }
            if held(piece) {
                to.holds = true;
                to.cursor = piece.cursor;
            } else if !self.give(&mut to, seq) {
                continue;
            }
            events = events.wrapping_add(piece.unread);
            bytes = bytes.wrapping_add(piece.bytes());
        }
        let state = &self.reader.0;
        state.carried_events.store_relaxed(events);
        state.carried_bytes.store_relaxed(bytes);
        self.go_on_from(&before, before.entries.wrapping_sub(events));
        true
    }

    /// Lists what `from`, the reader of this ring, would read, oldest first.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if `pieces` has too little room and it cannot be extended.
    fn pieces(
        &self,
        from: &Reader<'_, S>,
        pieces: &mut sys::Vec<MigratedPiece>,
    ) -> Result<(), AllocError> {
        let published = self.published();
        pieces.clear();
        if from.holds {
            let piece = self.held_piece(from);
            if piece.unread > 0 {
                pieces.push(piece)?;
            }
        }
        let (mut seq, count) = self.next_untaken(from.last(), published.seq());
        if published == Position::start(seq) {
            return Ok(());
        }
        for _ in 0..count {
            let slot = self.slot(seq).map(|slot| Slot(slot.load_acquire()));
            if let Some(slot) = slot.filter(|slot| slot.seq() == Some(seq)) {
                let fill = if published.seq() == seq {
                    published
                } else {
                    self.fill_of(seq, slot.page())
                };
                let piece = self.piece(slot.page(), fill, None);
                if piece.unread > 0 {
                    pieces.push(piece)?;
                }
            }
            seq = self.geometry().next(seq);
        }
        Ok(())
    }

    /// Returns the sub-buffer that `from` holds.
    fn held_piece(&self, from: &Reader<'_, S>) -> MigratedPiece {
        let (end, _) = from.committed();
        self.piece(from.page, end, Some(from.cursor))
    }

    /// Returns the sub-buffer on `page` up to `fill`, which has been read up to the cursor.
    fn piece(&self, page: u32, fill: Position, cursor: Option<Cursor>) -> MigratedPiece {
        let words = self.storage.page(page).unwrap_or_default();
        let kept = self.page(page).map_or(0, |page| page.kept(fill));
        let mut unread = kept;
        if let Some(mut cursor) = cursor {
            let mut names = RingNames::new();
            unread = 0;
            while let Some(found) = cursor.find(words, fill.offset(), &mut names) {
                cursor.pass(&found);
                unread = unread.wrapping_add(1);
            }
        }
        MigratedPiece {
            page,
            fill,
            cursor: cursor.unwrap_or(Cursor::start(words)),
            kept,
            unread,
        }
    }

    /// Returns the number of events that `from` has read from the sub-buffer that it holds.
    fn read_on_page(&self, from: &Reader<'_, S>) -> u64 {
        if !from.holds {
            return 0;
        }
        let piece = self.held_piece(from);
        piece.kept.wrapping_sub(piece.unread)
    }

    /// Copies `piece` of `old` to `page`, which the caller owns, as `seq` after `earlier`.
    fn put(&self, old: &Self, piece: &MigratedPiece, page: u32, seq: Seq, earlier: Passed) {
        let end = piece.fill.offset().max(HEADER_WORDS);
        let from = old.storage.page(piece.page).unwrap_or_default();
        let to: &[AtomicU32] = self.storage.page(page).unwrap_or_default();
        for (from, to) in from.iter().zip(to).take(end) {
            to.store_relaxed(from.load_relaxed());
        }
        let Some(page) = self.page(page) else {
            return;
        };
        let discarded = piece.fill.entries().wrapping_sub(piece.kept);
        page.fill.store_relaxed(piece.fill.on(seq).0);
        // The links between notes are offsets in the sub-buffer, so they stay valid.
        let last_note =
            (old.page(piece.page)).map_or(0, |page| page.tally.last_note(piece.fill.seq()));
        page.tally.set(seq, discarded, last_note);
        page.events_before.store_relaxed(earlier.events);
        page.losses_before.store_relaxed(earlier.losses);
    }

    /// Exchanges the page of `to` with that in the empty slot of `seq`; returns false if
    /// the writers have claimed the slot.
    fn give(&self, to: &mut Reader<'_, S>, seq: Seq) -> bool {
        let Some(slot) = self.slot(seq) else {
            return false;
        };
        let found = Slot(slot.load_acquire());
        let given = Slot::holding(seq, to.page);
        if found.seq().is_some() || slot.cmpxchg_full(found.0, given.0).is_err() {
            return false;
        }
        to.page = found.page();
        true
    }
}
