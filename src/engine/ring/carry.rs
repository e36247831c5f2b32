// SPDX-License-Identifier: GPL-2.0

//! Taking over what another ring holds: how a ring gets another size without
//! losing events.
//!
//! The new ring is made first, and the writers go there. Its sequences begin with
//! the second lap; what the old ring holds is copied to the slots of the lap before,
//! the newest to the last slot, while the writers may already come round: a slot
//! that they have claimed is theirs, and what was to go there is overrun. The
//! sub-buffer that the old reader holds, which may be read in part, goes to the
//! reader.
//!
//! Events, bytes and losses of the new ring count from 0 where its writers
//! began; what comes before counts from below, modulo 2^64.

use super::layout::HEADER_WORDS;
use super::note::Names;
use super::position::{Position, Seq, Slot};
use super::reader::{Cursor, Passed, Reader};
use super::{place, Page, Ring, Storage};
use crate::sys::{self, AllocError, AtomicU32};

/// A sub-buffer of the old ring.
struct Piece {
    page: u32,
    /// The end of its events.
    fill: Position,
    /// Where reading it goes on.
    cursor: Cursor,
    /// Events on it, without the discarded ones.
    kept: u64,
    /// Those that are unread.
    unread: u64,
}

impl Piece {
    /// Bytes of it that are unread.
    fn bytes(&self) -> u64 {
        let all = place::data_bytes(self.fill);
        let read = place::data_bytes(self.fill.at(self.cursor.offset));
        all.wrapping_sub(read)
    }
}

/// Room to note what there is to take over.
pub struct Pieces(sys::Vec<Piece>);

impl Pieces {
    /// Room for what any of `rings` may hold.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn of<'a, S: Storage + 'a>(
        rings: impl Iterator<Item = &'a Ring<S>>,
    ) -> Result<Self, AllocError> {
        let most = rings.map(|ring| ring.capacity()).max().unwrap_or(0);
        // CAST: u32 to usize widens.  The reader has one besides.
        sys::Vec::with_capacity((most as usize).saturating_add(1)).map(Self)
    }
}

impl<S: Storage> Ring<S> {
    /// Takes over what `old`, a ring with the same CPU, holds unread, as what was
    /// recorded before everything in this ring, and lets the counters go on
    /// from those of `old`. What this ring has no room for is counted as overrun,
    /// the oldest first.
    ///
    /// Nothing writes to `old` any more; `old` stays as it is, for snapshots of
    /// it. This ring may be written to, and has not been read. With pages of
    /// another size, readers about, or no `room` for what there is, nothing is taken
    /// over; says whether it was.
    pub fn take_over(&self, old: &Self, room: &mut Pieces) -> bool {
        let (Some(from), Some(mut to)) = (old.reader(), self.reader()) else {
            return false;
        };
        let first = self.geometry().lap_after(Seq(0));
        if old.page_words != self.page_words || to.holds || to.seq != first {
            return false;
        }
        if old.pieces(&from, &mut room.0).is_err() {
            return false;
        }
        let pieces = room.0.get(..).unwrap_or_default();
        let before = old.stats();
        // The slot where the writers begin has no room.
        let slots = self.capacity().saturating_sub(1);
        let held = |piece: &Piece| from.holds && from.page == piece.page;
        let most = if pieces.first().is_some_and(held) {
            self.capacity()
        } else {
            slots
        };
        // CAST: u32 to usize widens.
        let skipped = pieces.len().saturating_sub(most as usize);
        let pieces = pieces.get(skipped..).unwrap_or_default();
        // Where the writers of the old ring ended those of this one began.
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
        // The newest first: the writers come to its slot last.
        for (index, piece) in pieces.iter().enumerate().rev() {
            // CAST: Below the number of slots.
            let behind = pieces.len().saturating_sub(index) as u32;
            let seq = Seq(self.capacity().saturating_sub(behind));
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

    /// What `from`, the reader of this ring, would read, oldest first.
    ///
    /// # Errors
    ///
    /// [`AllocError`] where `pieces` has not room enough, and there is none.
    fn pieces(&self, from: &Reader<'_, S>, pieces: &mut sys::Vec<Piece>) -> Result<(), AllocError> {
        let geometry = self.geometry();
        let published = self.published();
        pieces.clear();
        let mut seq = from.seq;
        if from.holds {
            let piece = self.piece(seq, from.page, Some(from.cursor));
            if piece.unread > 0 {
                pieces.push(piece)?;
            }
            seq = geometry.next(seq);
        }
        if published == Position::start(seq) {
            return Ok(());
        }
        let most = i64::from(geometry.slots()).saturating_sub(1);
        if geometry.distance(seq, published.seq()) > most {
            seq = geometry.next(geometry.lap_before(published.seq()));
        }
        while geometry.distance(seq, published.seq()) >= 0 {
            let slot = self.slot(seq).map(|slot| Slot(slot.load_acquire()));
            if let Some(slot) = slot.filter(|slot| slot.seq() == Some(seq)) {
                let piece = self.piece(seq, slot.page(), None);
                if piece.unread > 0 {
                    pieces.push(piece)?;
                }
            }
            seq = geometry.next(seq);
        }
        Ok(())
    }

    /// The sub-buffer `seq` on `page`, of which all before the cursor was read.
    fn piece(&self, seq: Seq, page: u32, cursor: Option<Cursor>) -> Piece {
        let published = self.published();
        let fill = if published.seq() == seq {
            published
        } else {
            let fill = self.page(page).map(|page| page.fill.load_relaxed());
            let fill = fill.map(Position).filter(|fill| fill.seq() == seq);
            fill.unwrap_or(Position::start(seq))
        };
        let words = self.storage.page(page).unwrap_or_default();
        let kept = self.page(page).map_or(0, |page| page.kept(fill));
        let mut unread = kept;
        if let Some(mut cursor) = cursor {
            let mut names = Names::new();
            unread = 0;
            while let Some(found) = cursor.find(words, fill.offset(), &mut names) {
                cursor.pass(&found);
                unread = unread.wrapping_add(1);
            }
        }
        Piece {
            page,
            fill,
            cursor: cursor.unwrap_or(Cursor::start(words)),
            kept,
            unread,
        }
    }

    /// Events that `from` has read of the sub-buffer that it holds.
    fn read_on_page(&self, from: &Reader<'_, S>) -> u64 {
        if !from.holds {
            return 0;
        }
        let piece = self.piece(from.seq, from.page, Some(from.cursor));
        piece.kept.wrapping_sub(piece.unread)
    }

    /// Copies `piece` of `old` to `page`, which nobody else has, as `seq` after
    /// `earlier`.
    fn put(&self, old: &Self, piece: &Piece, page: u32, seq: Seq, earlier: Passed) {
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
        page.discarded
            .store_relaxed((u64::from(seq.0) << 32) | (discarded & 0xffff_ffff));
        page.events_before.store_relaxed(earlier.events);
        page.losses_before.store_relaxed(earlier.losses);
    }

    /// Gives the page of `to` to the empty slot of `seq`, for the slot's;
    /// false when the writers were there before.
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
