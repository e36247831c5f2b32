// SPDX-License-Identifier: GPL-2.0

//! The consuming reader: takes sub-buffers out of the ring and walks them.
//!
//! One at a time per ring, on any CPU, in process context. The reader always
//! owns one page: the one it reads, or a spare. It takes the oldest unread
//! sub-buffer by putting its spare in the slot; that may be the one on which
//! the writers are, which then is read up to what is published, and kept until
//! the writers have left it and everything on it has been read.

use core::ops::Range;

use super::layout::{self, Item, HEADER_WORDS};
use super::note::{Names, Note, NAME};
use super::position::{Position, Seq, Slot};
use super::{Ring, Storage};
use crate::sys::{self, AtomicU32, AtomicU64};

/// How often a reader begins again when writers overrun what it is about to
/// take; then it says that there is nothing.
const ATTEMPTS: u32 = 8;

/// One event, as long as the reader stays on it.
#[derive(Clone, Copy)]
pub struct EventRef<'a> {
    /// Its time.
    pub ts: u64,
    /// Events that were lost just before it.
    pub lost: u64,
    words: &'a [AtomicU32],
    names: &'a Names,
}

impl<'a> EventRef<'a> {
    /// The payload: whole words, the last ones zero where the event was
    /// recorded with less.
    pub fn payload(&self) -> &'a [u8] {
        // SAFETY: the words are committed and on the reader's own page or in
        // the private copy of a snapshot; by the invariants of `Ring` nobody
        // stores to them while the borrow of either lasts.
        unsafe { sys::words_as_bytes(self.words) }
    }

    /// The payload word by word.
    pub fn words(&self) -> &'a [AtomicU32] {
        self.words
    }

    /// The event's task, which the record says is `pid`.
    pub fn task(&self, pid: i32) -> Note {
        // A writer notes the name before the record, so it is known.
        let unknown = || Note::new(pid, *b"<...>\0\0\0\0\0\0\0\0\0\0\0");
        self.names.task(pid).copied().unwrap_or_else(unknown)
    }

    /// The name of that task, padded with zeros.
    pub fn comm(&self, pid: i32) -> [u8; NAME] {
        self.task(pid).name()
    }

    pub(super) fn new(ts: u64, lost: u64, words: &'a [AtomicU32], names: &'a Names) -> Self {
        Self {
            ts,
            lost,
            words,
            names,
        }
    }
}

/// Where a reader is on a sub-buffer.
#[derive(Clone, Copy, Default)]
pub(super) struct Cursor {
    /// Offset of the next item, in words.
    pub(super) offset: usize,
    /// Time from which its delta counts.
    pub(super) ts: u64,
}

/// The next event on a page.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) ts: u64,
    pub(super) payload: Range<usize>,
}

impl Cursor {
    /// At the start of `page`.
    pub(super) fn start(page: &[AtomicU32]) -> Self {
        Self {
            offset: HEADER_WORDS,
            ts: layout::time(page),
        }
    }

    /// The next event before `limit`; moves over what is no event.
    ///
    /// Adds what is noted there to `names`.
    pub(super) fn find(
        &mut self,
        page: &[AtomicU32],
        limit: usize,
        names: &mut Names,
    ) -> Option<Found> {
        if self.offset == HEADER_WORDS && limit > HEADER_WORDS {
            // The reader may have come to the page before its first writer.
            self.ts = layout::time(page);
        }
        while self.offset < limit {
            match layout::decode(page, self.offset, limit, self.ts) {
                Some(Item::Data { ts, start, end }) => {
                    return Some(Found {
                        ts,
                        payload: start..end,
                    })
                }
                Some(Item::Note { note, ts, end }) => {
                    names.add(note);
                    self.ts = ts;
                    self.offset = end;
                }
                Some(Item::Skip { ts, end }) => {
                    self.ts = ts;
                    self.offset = end;
                }
                // Cannot be: what is published was written by a writer.
                None => self.offset = limit,
            }
        }
        None
    }

    /// Moves over `found`, which `find` has just found.
    pub(super) fn pass(&mut self, found: &Found) {
        self.ts = found.ts;
        self.offset = found.payload.end;
    }
}

/// What a reader knows of what came before the sub-buffer it expects next.
#[derive(Clone, Copy, Default)]
pub(super) struct Passed {
    pub(super) events: u64,
    pub(super) losses: u64,
}

impl Passed {
    /// Goes on to `before`, where a page begins, and returns how many events
    /// were lost between.
    pub(super) fn go_to(&mut self, before: Self) -> u64 {
        let overrun = before.events.wrapping_sub(self.events);
        // A reset may have passed losses that were counted after the page
        // began.
        // CAST: Modulo 2^64, as what was taken over counts from below 0.
        let dropped = before.losses.wrapping_sub(self.losses) as i64;
        self.events = before.events;
        if dropped <= 0 {
            return overrun;
        }
        self.losses = before.losses;
        // CAST: Not negative.
        overrun.wrapping_add(dropped as u64)
    }
}

impl super::Page {
    /// What came before this page.
    pub(super) fn before(&self) -> Passed {
        Passed {
            events: self.events_before.load_relaxed(),
            losses: self.losses_before.load_relaxed(),
        }
    }
}

/// The reader's state between two readers.
///
/// Each field is written by whoever holds `busy`, whose cmpxchg and release
/// order them; others may look, for statistics.
pub(super) struct State {
    busy: AtomicU32,
    /// The page the reader owns.
    page: AtomicU32,
    /// Whether the sub-buffer in `place` is on that page; else it is the one
    /// to take next.
    holds: AtomicU32,
    /// The [`Position`] of the next item. One word, so that
    /// [`State::unread`] never sees one half of a change.
    place: AtomicU64,
    ts: AtomicU64,
    passed_events: AtomicU64,
    passed_losses: AtomicU64,
    pending_lost: AtomicU64,
    /// How many sub-buffers it has taken.
    pub(super) taken: AtomicU64,
    pub(super) read_events: AtomicU64,
    pub(super) read_bytes: AtomicU64,
    /// Events and bytes that were taken over from another ring.
    pub(super) carried_events: AtomicU64,
    pub(super) carried_bytes: AtomicU64,
    /// What the counters were when the ring was last reset.
    pub(super) base: super::stats::Base,
}

impl State {
    /// A reader with `spare` as its page, before the sub-buffer `first`.
    pub(super) fn new(spare: u32, first: Seq) -> Self {
        Self {
            busy: AtomicU32::new(0),
            page: AtomicU32::new(spare),
            holds: AtomicU32::new(0),
            place: AtomicU64::new(Position::start(first).0),
            ts: AtomicU64::new(0),
            passed_events: AtomicU64::new(0),
            passed_losses: AtomicU64::new(0),
            pending_lost: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            read_events: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            carried_events: AtomicU64::new(0),
            carried_bytes: AtomicU64::new(0),
            base: super::stats::Base::new(),
        }
    }

    /// Where the reader is, or was last.
    pub(super) fn place(&self) -> Position {
        Position(self.place.load_relaxed())
    }

    /// Whether a whole sub-buffer before `published` may be unread.
    pub(super) fn whole_unread(&self, published: Position) -> bool {
        published.crossed(self.place())
    }

    /// Whether something before `published` may be unread.
    pub(super) fn unread(&self, published: Position) -> bool {
        let place = self.place();
        published.crossed(place) || published.offset() > place.offset()
    }
}

/// The consuming reader of a ring; there is one at a time.
pub struct Reader<'r, S: Storage> {
    pub(super) ring: &'r Ring<S>,
    pub(super) page: u32,
    pub(super) holds: bool,
    pub(super) seq: Seq,
    pub(super) cursor: Cursor,
    pub(super) names: Names,
    pub(super) passed: Passed,
    pub(super) pending_lost: u64,
    /// How far the sub-buffer was committed when that was last looked at; 0 when
    /// there is none, or nobody looked.
    known: usize,
    /// The event at the cursor, once it was looked for.
    next: Option<Found>,
}

impl<S: Storage> Ring<S> {
    /// The consuming reader; `None` while another one lives.
    ///
    /// Two contexts that both want to read need a lock around this, which they
    /// can sleep on.
    pub fn reader(&self) -> Option<Reader<'_, S>> {
        let state = &self.reader.0;
        state.busy.cmpxchg_full(0, 1).ok()?;
        let place = Position(state.place.load_relaxed());
        let mut reader = Reader {
            ring: self,
            page: state.page.load_relaxed(),
            holds: state.holds.load_relaxed() != 0,
            seq: place.seq(),
            cursor: Cursor {
                offset: place.offset(),
                ts: state.ts.load_relaxed(),
            },
            passed: Passed {
                events: state.passed_events.load_relaxed(),
                losses: state.passed_losses.load_relaxed(),
            },
            names: Names::new(),
            pending_lost: state.pending_lost.load_relaxed(),
            known: 0,
            next: None,
        };
        if reader.holds {
            reader.collect_names();
        }
        Some(reader)
    }
}

impl<S: Storage> Drop for Reader<'_, S> {
    fn drop(&mut self) {
        let state = &self.ring.reader.0;
        state.page.store_relaxed(self.page);
        state.holds.store_relaxed(u32::from(self.holds));
        let place = Position::start(self.seq);
        let place = if self.holds {
            place.at(self.cursor.offset)
        } else {
            place
        };
        state.place.store_relaxed(place.0);
        state.ts.store_relaxed(self.cursor.ts);
        state.passed_events.store_relaxed(self.passed.events);
        state.passed_losses.store_relaxed(self.passed.losses);
        state.pending_lost.store_relaxed(self.pending_lost);
        state.busy.store_release(0);
    }
}

impl<'r, S: Storage> Reader<'r, S> {
    /// The ring that is read.
    pub fn ring(&self) -> &'r Ring<S> {
        self.ring
    }

    /// The oldest event that has not been consumed.
    pub fn peek(&mut self) -> Option<EventRef<'_>> {
        let found = self.find()?;
        self.event(found)
    }

    /// As [`Reader::peek`], but only among the events that were there when that
    /// last looked for more.
    pub fn peek_known(&mut self) -> Option<EventRef<'_>> {
        let found = self.find_known()?;
        self.event(found)
    }

    #[inline]
    fn event(&self, found: Found) -> Option<EventRef<'_>> {
        let words = self.words().get(found.payload)?;
        Some(EventRef::new(
            found.ts,
            self.pending_lost,
            words,
            &self.names,
        ))
    }

    /// Consumes the oldest event; says whether there was one.
    pub fn consume(&mut self) -> bool {
        let Some(found) = self.find() else {
            return false;
        };
        self.pass(&found);
        self.pending_lost = 0;
        true
    }

    /// Whether the oldest unread event is on a sub-buffer that the writers have
    /// left.
    pub fn has_whole(&mut self) -> bool {
        self.find().is_some() && self.committed().1
    }

    /// Consumes everything that is published now, and lets the statistics
    /// begin anew. Writers may go on; what they record meanwhile stays.
    pub fn reset(&mut self) {
        let target = self.ring.published();
        let geometry = self.ring.geometry();
        // Each round consumes an event, and writers cannot add any before
        // `target`.
        while let Some(found) = self.find() {
            let ahead = geometry.distance(target.seq(), self.seq);
            if ahead > 0 || (ahead == 0 && self.cursor.offset >= target.offset()) {
                break;
            }
            self.pass(&found);
        }
        self.pending_lost = 0;
        self.passed.losses = self.ring.losses();
        self.ring.set_base();
    }

    /// The reader's place, for a snapshot: its page with its sub-buffer if it
    /// has one, where it is, and what it knows.
    pub(super) fn place(&self) -> Place<'r> {
        Place {
            words: if self.holds { self.words() } else { &[] },
            page: self.page,
            seq: self.seq,
            cursor: self.cursor,
            names: self.names,
            passed: self.passed,
            pending_lost: self.pending_lost,
        }
    }

    /// Learns again what was noted on the reader's page before its place, for the
    /// events behind it.
    fn collect_names(&mut self) {
        let (end, left) = self.committed();
        if left && self.cursor.offset >= end {
            return;
        }
        let words = self.words();
        let names = &mut self.names;
        Cursor::start(words).skim(words, self.cursor.offset, |note| names.add(note));
    }

    pub(super) fn words(&self) -> &'r [AtomicU32] {
        self.ring.storage.page(self.page).unwrap_or_default()
    }

    /// The next event, taking sub-buffers as needed.
    pub(super) fn find(&mut self) -> Option<Found> {
        loop {
            if let Some(found) = self.find_known() {
                return Some(found);
            }
            if !self.holds && !self.take() {
                return None;
            }
            let (end, left) = self.committed();
            self.known = end;
            let found = self.find_known();
            if found.is_some() {
                return found;
            }
            if !left {
                return None;
            }
            self.release();
        }
    }

    /// The next event on the sub-buffer, as far as that is known to be committed.
    fn find_known(&mut self) -> Option<Found> {
        if self.next.is_none() && self.cursor.offset < self.known {
            let mut ahead = self.cursor;
            let found = ahead.find(self.words(), self.known, &mut self.names);
            self.skip_to(ahead);
            self.next = found;
        }
        self.next.clone()
    }

    pub(super) fn pass(&mut self, found: &Found) {
        let mut ahead = self.cursor;
        ahead.pass(found);
        self.skip_to(ahead);
        self.count_read(1);
    }

    /// Counts events that were read.
    pub(super) fn count_read(&self, events: u64) {
        let read = &self.ring.reader.0.read_events;
        read.store_relaxed(read.load_relaxed().wrapping_add(events));
    }

    pub(super) fn skip_to(&mut self, ahead: Cursor) {
        let words = ahead.offset.saturating_sub(self.cursor.offset);
        let bytes = u64::from(layout::bytes_of(words));
        let read = &self.ring.reader.0.read_bytes;
        read.store_relaxed(read.load_relaxed().wrapping_add(bytes));
        self.cursor = ahead;
        self.next = None;
    }

    /// How far the reader's sub-buffer may be read, and whether the writers
    /// have left it.
    pub(super) fn committed(&self) -> (usize, bool) {
        let published = self.ring.published();
        if published.seq() == self.seq {
            return (published.offset(), false);
        }
        (self.fill().offset(), true)
    }

    /// The final position on the reader's sub-buffer, which writers have left.
    fn fill(&self) -> Position {
        let fill = self
            .ring
            .page(self.page)
            .map(|page| page.fill.load_relaxed());
        fill.map(Position)
            .filter(|fill| fill.seq() == self.seq)
            .unwrap_or(Position::start(self.seq))
    }

    /// Done with the sub-buffer: its page is the spare now.
    pub(super) fn release(&mut self) {
        let fill = self.fill();
        if let Some(page) = self.ring.page(self.page) {
            let kept = page.kept(fill);
            self.passed.events = self.passed.events.wrapping_add(kept);
        }
        self.holds = false;
        self.known = 0;
        self.seq = self.ring.geometry().next(self.seq);
    }

    /// Takes the oldest sub-buffer that is still there.
    pub(super) fn take(&mut self) -> bool {
        let geometry = self.ring.geometry();
        for _ in 0..ATTEMPTS {
            let published = self.ring.published();
            if published == Position::start(self.seq) {
                // The ring's first sub-buffer, before its first event: that
                // is yet to set the time on it.
                return false;
            }
            let published = published.seq();
            let mut behind = geometry.distance(self.seq, published);
            let most = i64::from(geometry.slots()).saturating_sub(1);
            if behind > most {
                // All but the last lap has been overrun for certain.
                self.seq = geometry.next(geometry.lap_before(published));
                behind = most;
            }
            // Writers may overrun it all while we look: then look again from
            // what is published by then.
            while behind >= 0 {
                match self.try_take() {
                    Taking::Taken => return true,
                    Taking::Again => {}
                    Taking::Gone => {
                        self.seq = geometry.next(self.seq);
                        behind = behind.saturating_sub(1);
                    }
                }
            }
            if geometry.distance(self.seq, self.ring.published().seq()) < 0 {
                return false;
            }
        }
        false
    }

    fn try_take(&mut self) -> Taking {
        let Some(slot) = self.ring.slot(self.seq) else {
            return Taking::Gone;
        };
        let found = Slot(slot.load_acquire());
        if found.seq() != Some(self.seq) {
            return Taking::Gone;
        }
        let spare = Slot::empty(self.page);
        if slot.cmpxchg_full(found.0, spare.0).is_err() {
            return Taking::Again;
        }
        self.page = found.page();
        self.holds = true;
        let taken = &self.ring.reader.0.taken;
        taken.store_relaxed(taken.load_relaxed().wrapping_add(1));
        self.cursor = Cursor::start(self.words());
        self.names = Names::new();
        if let Some(page) = self.ring.page(self.page) {
            let lost = self.passed.go_to(page.before());
            self.pending_lost = self.pending_lost.wrapping_add(lost);
        }
        Taking::Taken
    }
}

enum Taking {
    Taken,
    /// A writer claimed the slot just now.
    Again,
    /// The sub-buffer has been overrun.
    Gone,
}

/// See [`Reader::place`].
pub(super) struct Place<'r> {
    pub(super) words: &'r [AtomicU32],
    pub(super) page: u32,
    pub(super) seq: Seq,
    pub(super) cursor: Cursor,
    pub(super) names: Names,
    pub(super) passed: Passed,
    pub(super) pending_lost: u64,
}
