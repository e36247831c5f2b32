// SPDX-License-Identifier: GPL-2.0

//! The consuming reader: takes sub-buffers out of the ring and walks them.
//!
//! There is one at a time per ring, on any CPU, in process context. The reader always owns
//! one page: the one it reads, or a spare. It takes the oldest unread sub-buffer by putting
//! its spare in the slot. This may be the sub-buffer that the writers are on; it is then
//! read up to what is published, and kept until the writers have left it and everything on
//! it has been read.

use super::cursor::{Cursor, FoundEvent};
use super::layout::{self, HEADER_WORDS};
use super::names::RingNames;
use super::note::{Note, NAME};
use super::notes;
use super::position::{Position, Seq, Slot};
use super::state::{Ring, Storage};
use crate::sys::{self, AtomicU32};

/// How often a reader retries if writers overrun the sub-buffer that it is about to take;
/// then it reports that there is nothing.
const ATTEMPTS: u32 = 8;

/// One event, valid as long as the reader stays on it.
#[derive(Clone, Copy)]
pub struct EventRef<'a> {
    /// Its time.
    pub ts: u64,
    /// Events that were lost just before it.
    pub lost: u64,
    words: &'a [AtomicU32],
    /// The sub-buffer, and the comm notes on it that precede the event.
    page: &'a [AtomicU32],
    names: &'a RingNames,
}

impl<'a> EventRef<'a> {
    /// Returns the payload: whole words, of which the last ends in zeros if the event was
    /// recorded with a shorter payload.
    pub fn payload(&self) -> &'a [u8] {
        // SAFETY: the words are committed and on the reader's own page, in the private copy of a
        // snapshot, or in that of a still event; by the invariants of `Ring` no context stores to
        // them while the borrow of either lasts.
        unsafe { sys::words_as_bytes(self.words) }
    }

    /// Returns the payload word by word.
    pub fn words(&self) -> impl ExactSizeIterator<Item = u32> + 'a {
        self.words.iter().map(AtomicU32::load_relaxed)
    }

    /// Returns the event's task; `pid` is the pid in the record.
    pub fn task(&self, pid: i32) -> Note {
        // A writer puts a comm note before the record, so the name is known.
        let unknown = || Note::new(pid, *b"<...>\0\0\0\0\0\0\0\0\0\0\0");
        self.names.task(self.page, pid).unwrap_or_else(unknown)
    }

    /// Returns the name of that task, padded with zeros.
    pub fn comm(&self, pid: i32) -> [u8; NAME] {
        self.task(pid).name()
    }

    pub(super) fn new(
        (ts, lost): (u64, u64),
        words: &'a [AtomicU32],
        (page, names): (&'a [AtomicU32], &'a RingNames),
    ) -> Self {
        Self {
            ts,
            lost,
            words,
            page,
            names,
        }
    }
}

/// What a reader knows about the events before the sub-buffer it expects next.
#[derive(Clone, Copy, Default)]
pub(super) struct Passed {
    pub(super) events: u64,
    pub(super) losses: u64,
}

impl Passed {
    /// Advances to `before`, the start of a sub-buffer, and returns how many events were
    /// lost in between.
    pub(super) fn go_to(&mut self, before: Self) -> u64 {
        let overrun = before.events.wrapping_sub(self.events);
        // A reset may have counted losses that occurred after the sub-buffer began.
        // CAST: Modulo 2^64, because migrated events count from below 0.
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

impl super::state::Page {
    /// Returns what came before this page.
    pub(super) fn before(&self) -> Passed {
        Passed {
            events: self.events_before.load_relaxed(),
            losses: self.losses_before.load_relaxed(),
        }
    }
}

/// The consuming reader of a ring; there is one at a time.
pub struct Reader<'r, S: Storage> {
    pub(super) ring: &'r Ring<S>,
    pub(super) page: u32,
    pub(super) holds: bool,
    pub(super) seq: Seq,
    pub(super) cursor: Cursor,
    pub(super) names: RingNames,
    pub(super) passed: Passed,
    pub(super) pending_lost: u64,
    /// How far the sub-buffer was committed when last checked; 0 without a sub-buffer, or
    /// before the first check.
    known: usize,
    /// The event at the cursor, once it has been looked up.
    next: Option<FoundEvent>,
}

impl<S: Storage> Ring<S> {
    /// Returns the consuming reader; `None` while another one lives.
    ///
    /// Contexts that contend for the reader need a sleeping lock around this.
    pub fn reader(&self) -> Option<Reader<'_, S>> {
        self.acquire_reader()?;
        let mut reader = self.acquired_reader();
        if reader.holds {
            reader.collect_names();
        }
        Some(reader)
    }

    /// As [`Ring::reader`], for a reader that is used in `work` alone, in binary: it does
    /// not know the names of tasks whose comm notes were passed before. It is not moved.
    #[inline]
    pub fn with_reader<R>(&self, work: impl FnOnce(&mut Reader<'_, S>) -> R) -> Option<R> {
        self.acquire_reader()?;
        let mut reader = self.acquired_reader();
        Some(work(&mut reader))
    }

    /// Claims the right to the reader; `None` while another one lives.
    #[inline]
    fn acquire_reader(&self) -> Option<()> {
        self.reader.0.busy.cmpxchg_full(0, 1).ok().map(|_| ())
    }

    /// Returns the reader, to which the caller has just acquired the right.
    #[inline(always)]
    fn acquired_reader(&self) -> Reader<'_, S> {
        let state = &self.reader.0;
        let place = Position(state.place.load_relaxed());
        Reader {
            ring: self,
            page: state.page.load_relaxed(),
            holds: place.is_held(),
            seq: place.seq(),
            cursor: Cursor {
                offset: place.offset(),
                ts: state.ts.load_relaxed(),
            },
            passed: Passed {
                events: state.passed_events.load_relaxed(),
                losses: state.passed_losses.load_relaxed(),
            },
            names: RingNames::new(),
            pending_lost: state.pending_lost.load_relaxed(),
            known: 0,
            next: None,
        }
    }
}

impl<S: Storage> Ring<S> {
    /// Returns the final position on `seq`, which writers have left and which is on `page`.
    pub(super) fn fill_of(&self, seq: Seq, page: u32) -> Position {
        let fill = self.page(page).map(|page| page.fill.load_relaxed());
        fill.map(Position)
            .filter(|fill| fill.seq() == seq)
            .unwrap_or(Position::start(seq))
    }
}

impl<S: Storage> Drop for Reader<'_, S> {
    fn drop(&mut self) {
        let state = &self.ring.reader.0;
        state.page.store_relaxed(self.page);
        let place = Position::start(self.seq);
        let place = if self.holds {
            place.at(self.cursor.offset).held()
        } else {
            place
        };
        state.place.store_release(place.0);
        state.ts.store_relaxed(self.cursor.ts);
        state.passed_events.store_relaxed(self.passed.events);
        state.passed_losses.store_relaxed(self.passed.losses);
        state.pending_lost.store_relaxed(self.pending_lost);
        state.busy.store_release(0);
    }
}

impl<'r, S: Storage> Reader<'r, S> {
    /// Returns the ring that is read.
    pub fn ring(&self) -> &'r Ring<S> {
        self.ring
    }

    /// Returns the oldest event that has not been consumed.
    pub fn peek(&mut self) -> Option<EventRef<'_>> {
        let found = self.find()?;
        self.event(found)
    }

    /// As [`Reader::peek`], but only among the events that were present when
    /// [`Reader::peek`] last looked for more.
    pub fn peek_known(&mut self) -> Option<EventRef<'_>> {
        let found = self.find_known()?;
        self.event(found)
    }

    #[inline]
    fn event(&self, found: FoundEvent) -> Option<EventRef<'_>> {
        let page = self.words();
        Some(EventRef::new(
            (found.ts, self.pending_lost),
            page.get(found.payload)?,
            (page, &self.names),
        ))
    }

    /// Consumes the oldest event; returns whether there was one.
    pub fn consume(&mut self) -> bool {
        let Some(found) = self.find() else {
            return false;
        };
        self.pass(&found);
        self.pending_lost = 0;
        true
    }

    /// Consumes everything that is published now, and restarts the statistics. Writers may
    /// run meanwhile; what they record stays.
    pub fn reset(&mut self) {
        let target = self.ring.published();
        let taken = self.ring.taken();
        // All events of a sub-buffer that the writers have left are before `target`.
        let old = self.holds && !self.ring.is_written(self.seq, target);
        // Each round consumes an event, and writers cannot add any before `target`.
        while let Some(found) = self.find() {
            let on_old = old && self.ring.taken() == taken;
            if !on_old && !self.is_before(target) {
                break;
            }
            self.pass(&found);
        }
        self.pending_lost = 0;
        self.passed.losses = self.ring.losses();
        self.ring.set_base();
    }

    /// Returns whether the reader is before `target`; its sub-buffer was still in a slot
    /// after `target` was published.
    fn is_before(&self, target: Position) -> bool {
        let geometry = self.ring.geometry();
        match geometry.ahead(self.seq, target.seq()) {
            0 => self.cursor.offset < target.offset(),
            ahead => ahead < geometry.slots(),
        }
    }

    /// Returns the reader's page, position and knowledge, for a snapshot.
    pub(super) fn place(&self) -> ReadPosition<'r> {
        ReadPosition {
            words: self.words(),
            page: self.page,
            holds: self.holds,
            seq: self.seq,
            last: self.last(),
            cursor: self.cursor,
            names: self.names,
            passed: self.passed,
            pending_lost: self.pending_lost,
        }
    }

    /// Returns the last sub-buffer that it has taken or passed.
    pub(super) fn last(&self) -> Seq {
        if self.holds {
            self.seq
        } else {
            self.ring.geometry().prev(self.seq)
        }
    }

    /// Reads the comm notes on the reader's page before its position again, for the events
    /// behind it.
    fn collect_names(&mut self) {
        let (end, left) = self.committed();
        let at = self.cursor.offset;
        if at == HEADER_WORDS || (left && at >= end.offset()) {
            return;
        }
        let words = self.words();
        let last = self.last_note();
        let names = &mut self.names;
        notes::each_note(words, (last, at), |offset, note| names.add(offset, note));
    }

    /// Calls `each` for the comm notes on the reader's sub-buffer before `end`, in their
    /// order.
    pub(super) fn each_note(&self, end: usize, mut each: impl FnMut(&Note)) {
        notes::each_note(self.words(), (self.last_note(), end), |_, note| each(note));
    }

    /// Returns the offset of the last comm note on the reader's sub-buffer, which may not
    /// be published yet.
    fn last_note(&self) -> usize {
        let page = self.ring.page(self.page);
        page.map_or(0, |page| page.tally.last_note(self.seq))
    }

    pub(super) fn words(&self) -> &'r [AtomicU32] {
        self.ring.storage.page(self.page).unwrap_or_default()
    }

    /// Returns the next event, taking sub-buffers as needed.
    pub(super) fn find(&mut self) -> Option<FoundEvent> {
        loop {
            if let Some(found) = self.find_known() {
                return Some(found);
            }
            if !self.holds && !self.take() {
                return None;
            }
            let (end, left) = self.committed();
            self.known = end.offset();
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

    /// Returns the next event on the sub-buffer, as far as that is known to be committed.
    fn find_known(&mut self) -> Option<FoundEvent> {
        if self.next.is_none() && self.cursor.offset < self.known {
            let mut ahead = self.cursor;
            let found = ahead.find(self.words(), self.known, &mut self.names);
            self.skip_to(ahead);
            self.next = found;
        }
        self.next.clone()
    }

    pub(super) fn pass(&mut self, found: &FoundEvent) {
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

    /// Returns how far the reader's sub-buffer may be read, and whether the writers have
    /// left it.
    pub(super) fn committed(&self) -> (Position, bool) {
        let published = self.ring.published();
        if self.ring.is_written(self.seq, published) {
            return (published, false);
        }
        (self.fill(), true)
    }

    /// Returns the final position on the reader's sub-buffer, which writers have left.
    fn fill(&self) -> Position {
        self.ring.fill_of(self.seq, self.page)
    }

    /// Finishes the sub-buffer: its page becomes the spare.
    pub(super) fn release(&mut self) {
        let fill = self.fill();
        let page = self.ring.page(self.page);
        self.give_up(page.map_or(0, |page| page.kept(fill)));
    }

    /// As [`Reader::release`], of a sub-buffer with `kept` events.
    pub(super) fn give_up(&mut self, kept: u64) {
        self.passed.events = self.passed.events.wrapping_add(kept);
        self.holds = false;
        self.known = 0;
        self.seq = self.ring.geometry().next(self.seq);
    }

    /// Takes the oldest sub-buffer that has not been overrun.
    pub(super) fn take(&mut self) -> bool {
        let geometry = self.ring.geometry();
        for _ in 0..ATTEMPTS {
            let published = self.ring.published();
            if published == Position::start(self.seq) {
                // The ring's first sub-buffer, before its first event, which is yet to set
                // the time on it.
                return false;
            }
            let (next, count) = self.ring.next_untaken(self.last(), published.seq());
            self.seq = next;
            for _ in 0..count {
                if self.try_take() {
                    return true;
                }
                self.seq = geometry.next(self.seq);
            }
            // Writers have overrun all of it meanwhile: retry from what is published by
            // now.
            if !self.ring.published().crossed(published) {
                return false;
            }
        }
        false
    }

    /// Takes the next sub-buffer; returns false if it has been overrun.
    fn try_take(&mut self) -> bool {
        let Some(slot) = self.ring.slot(self.seq) else {
            return false;
        };
        let found = Slot(slot.load_acquire());
        if found.seq() != Some(self.seq) {
            return false;
        }
        if let Some(page) = self.ring.page(self.page) {
            page.forget();
        }
        let spare = Slot::empty(self.page);
        // It fails only if a writer has claimed the slot.
        if slot.cmpxchg_full(found.0, spare.0).is_err() {
            return false;
        }
        self.page = found.page();
        self.holds = true;
        let taken = &self.ring.reader.0.taken;
        taken.store_relaxed(taken.load_relaxed().wrapping_add(1));
        self.cursor = Cursor::start(self.words());
        self.names = RingNames::new();
        if let Some(page) = self.ring.page(self.page) {
            let lost = self.passed.go_to(page.before());
            self.pending_lost = self.pending_lost.wrapping_add(lost);
        }
        true
    }
}

/// The result of [`Reader::place`].
pub(super) struct ReadPosition<'r> {
    pub(super) words: &'r [AtomicU32],
    pub(super) page: u32,
    pub(super) holds: bool,
    pub(super) seq: Seq,
    pub(super) last: Seq,
    pub(super) cursor: Cursor,
    pub(super) names: RingNames,
    pub(super) passed: Passed,
    pub(super) pending_lost: u64,
}
