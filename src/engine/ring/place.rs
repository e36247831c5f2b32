// SPDX-License-Identifier: GPL-2.0

//! Reserving room: the position of an event, and what has to precede it.
//!
//! A reservation moves the position by a compare-exchange that is atomic against
//! interrupts. The time of the last event is another word, stored just before the exchange.
//! If the exchange succeeds, no other writer ran in between, and the time is that of the
//! event that is now the last; nested writers that come later overwrite it with theirs. If
//! the exchange fails, a nested writer recorded an event, and its time may have been
//! overwritten: the word is marked as [`UNSURE`], and the next event gets an absolute time.
//! Each event of a nested writer gets an absolute time too, see [`PlaceTime::new`].

use super::clock::RingClock;
use super::layout::{
    self, EventShape, EXTEND_LIMIT, HEADER_WORDS, MAX_DELTA, NOTE_WORDS, TIME_WORDS,
};
use super::lost::Lost;
use super::note::{Note, Task};
use super::position::{Position, Seq, Slot};
use super::state::{Page, Ring, Storage, UNSURE};
use super::unpublished::Unpublished;
use crate::sys::{self, AtomicU32};

/// Converts a `u32` to a `usize`, which is wider.
#[inline(always)]
fn widen(value: u32) -> usize {
    // CAST: u32 to usize widens, on the supported 64-bit machines.
    value as usize
}

/// The time of an event.
#[derive(Clone, Copy)]
struct PlaceTime {
    ts: u64,
    /// The delta to the event before it, if known.
    delta: Option<u64>,
    /// A lower bound of the delta.
    least: u64,
}

impl PlaceTime {
    /// Returns the time of an event for which the clock reads `now`, with `last` as
    /// [`super::Hot::last`].
    ///
    /// A nested writer cannot know which event precedes its own: the writer that it
    /// interrupted may have stored the time of its event without having reserved yet. So a
    /// nested writer records an absolute time, and the next writer, whose event follows it,
    /// may use a delta again.
    fn new(now: u64, last: u64, outermost: bool) -> Self {
        let before = last & !UNSURE;
        // If the clock went back, the event gets the time of the last event. Events of one time
        // are legal: some clocks count in steps in which there are many. 0 is no time, as what is
        // before an event may have the time before it.
        let ts = now.max(before).max(1);
        let least = ts.wrapping_sub(before);
        Self {
            ts,
            delta: (outermost && last == before).then_some(least),
            least,
        }
    }

    /// Returns whether the time can be encoded in the current sub-buffer.
    fn is_encodable(self) -> bool {
        match self.delta {
            Some(delta) => delta < EXTEND_LIMIT,
            // Readers take the time nearest to that of the item before.
            None => self.least < EXTEND_LIMIT / 2,
        }
    }
}

/// Returns the time by `clock`, with `last` as [`super::Hot::last`].
///
/// The time is verified if it is before the last event's, or so long after it that
/// [`Ring::place_fast`] rejects it. So a single wrong reading cannot move the ring's time far
/// ahead, where it would stay until the clock catches up.
fn time_by(clock: &dyn RingClock, last: u64) -> u64 {
    let now = clock.now();
    if now.wrapping_sub(last & !UNSURE) <= MAX_DELTA {
        return now;
    }
    // More than 62 bits, 146 years of nanoseconds, are not a valid time.
    Some(clock.verified(now))
        .filter(|&now| now < UNSURE)
        .unwrap_or(0)
}

/// Number of words that precede an event in its reservation.
#[derive(Clone, Copy)]
struct Prefix {
    /// Number of words of a time extend or stamp.
    time: usize,
    /// Number of words of a comm note.
    note: usize,
}

impl Prefix {
    /// The prefix of the first event of a sub-buffer.
    const FRESH: Self = Self {
        time: 0,
        note: NOTE_WORDS,
    };

    /// Returns what has to precede an event at `from`, if it fits.
    fn new(from: Position, noted: bool, time: PlaceTime) -> Self {
        if from.offset() == HEADER_WORDS {
            return Self::FRESH;
        }
        Self {
            time: match time.delta {
                // A comm note needs a delta: an absolute time, one before the event's, gives it
                // one.
                Some(0) if !noted => TIME_WORDS,
                Some(0..=MAX_DELTA) => 0,
                _ => TIME_WORDS,
            },
            note: if noted { 0 } else { NOTE_WORDS },
        }
    }

    fn words(self) -> usize {
        self.time.wrapping_add(self.note)
    }
}

/// What discarding a reservation needs.
#[derive(Clone, Copy)]
pub(super) struct Undo {
    /// The positions before and after it.
    pub(super) before: u64,
    pub(super) after: u64,
    /// The time of the event before it, as in [`super::Hot::last`], and its own.
    pub(super) last: u64,
    pub(super) ts: u64,
    /// Whether the reservation has no prefix, only the event.
    pub(super) whole: bool,
}

/// A reserved event.
pub(super) struct Placed<'r> {
    pub(super) event: &'r [AtomicU32],
    /// The delta for its header.
    pub(super) delta: u64,
    pub(super) undo: Undo,
}

impl<S: Storage> Ring<S> {
    /// Reserves `words` for an outermost writer at the time `ts`, if the event needs no
    /// prefix, and increments `nesting`; header and payload are yet to be written. On
    /// failure `nesting` is as before.
    ///
    /// # Errors
    ///
    /// If an interrupt caused the failure, returns the duty to publish its events.
    #[inline(always)]
    pub(super) fn place_fast(
        &self,
        words: usize,
        task: &impl Task,
        ts: u64,
    ) -> Result<Placed<'_>, Option<Unpublished<'_, S>>> {
        let hot = &self.hot.0;
        // Load the position first: a nested writer that changes any of the words read below
        // also moves the position, and the exchange fails.
        let position = hot.state.load();
        sys::barrier();
        if !hot.noted.is_latest(task) {
            return Err(None);
        }
        let last = hot.last.load_relaxed();
        let from = Position(position);
        // If another event was recorded since, the delta is huge; the same holds for a
        // clock that went back, and for `UNSURE`.
        let delta = ts.wrapping_sub(last);
        let last_word = from.offset().wrapping_add(words.wrapping_sub(1));
        if delta > MAX_DELTA || last_word >= widen(hot.limit.load_relaxed()) {
            return Err(None);
        }
        let after = from.after(words).0;
        hot.nesting.store_relaxed(1);
        // Before the exchange, so that it is correct for any writer that comes after it.
        hot.last.store_relaxed(ts);
        if !hot.state.compare_exchange(position, after) {
            hot.last.store_relaxed(ts | UNSURE);
            hot.nesting.store_relaxed(0);
            // Writers that came since `nesting` was 1 have left the publishing to this one,
            // and the caller may record no event that publishes theirs.
            return Err(Some(Unpublished::new(self)));
        }
        // SAFETY: Only the outermost writer changes `tail`, to the page of `state`, when it
        // is done; the exchange shows that the position did not move since. `limit` is at
        // most the words of a page, and no context changes the page of a sub-buffer that
        // writers are on.
        let event = unsafe { hot.tail.words(from.offset(), words) };
        Ok(Placed {
            event,
            delta,
            undo: Undo {
                before: position,
                after,
                last,
                ts,
                whole: true,
            },
        })
    }

    /// Reserves if the fast path could not: at the end of a sub-buffer, after a long time,
    /// with a clock that went back, or nested in another writer. May also fail.
    pub(super) fn place<'r>(
        &'r self,
        shape: EventShape,
        (note, outermost): (&Note, bool),
        clock: &dyn RingClock,
    ) -> Result<Placed<'r>, Lost> {
        let hot = &self.hot.0;
        if shape.words.wrapping_add(NOTE_WORDS) > self.page_words.wrapping_sub(HEADER_WORDS) {
            if hot.limit.load_relaxed() == 0 {
                return Err(self.why_off());
            }
            self.counters.0.too_large.fetch_add_relaxed(1);
            return Err(Lost::TooLarge);
        }
        loop {
            // As in `place_fast`, and in the same order.
            let position = hot.state.load();
            sys::barrier();
            let last = hot.last.load_relaxed();
            let now = time_by(clock, last);
            // After the clock, see `Ring::close`; `place_fast` is called with the time.
            sys::barrier();
            let limit = widen(hot.limit.load_relaxed());
            if limit == 0 {
                return Err(self.why_off());
            }
            let from = Position(position);
            let time = PlaceTime::new(now, last, outermost);
            let noted = outermost && hot.noted.has(note);
            let prefix = Prefix::new(from, noted, time);
            let end = from.offset().wrapping_add(prefix.words());
            let empty = from.offset() == HEADER_WORDS;
            let fits = end.wrapping_add(shape.words) <= limit && (time.is_encodable() || empty);
            let (start, prefix) = if fits {
                (from, prefix)
            } else {
                (self.claim_next(from)?, Prefix::FRESH)
            };
            let to = start.after(shape.words.wrapping_add(prefix.words()));
            let Some(tail) = self.tail_memory(start.seq()) else {
                return Err(Lost::Nested);
            };
            let Some(room) = tail.0.get(start.offset()..to.offset()) else {
                return Err(Lost::Nested);
            };
            hot.last.store_relaxed(time.ts);
            if !hot.state.compare_exchange(position, to.0) {
                // Makes the next writer take this path too, instead of relying on what
                // `has` found before the table was cleared.
                hot.last.store_relaxed(time.ts | UNSURE);
                continue;
            }
            if !fits {
                // Nested writers cannot reuse the page of the sub-buffer left before its
                // fill is stored: the sub-buffer is not before `published`.
                if let Some(left) = self.tail_page(from.seq()) {
                    left.fill.store_relaxed(from.0);
                }
            }
            if prefix.note != 0 {
                self.remember(note, outermost, start.offset() == HEADER_WORDS, to);
            }
            let (event, delta) = self.put_prefix((start, tail), room, prefix, note, time);
            return Ok(Placed {
                event,
                delta,
                undo: Undo {
                    before: position,
                    after: to.0,
                    last,
                    ts: time.ts,
                    whole: prefix.words() == 0,
                },
            });
        }
    }

    /// Updates the table of comm notes, after `note` was placed before `to`; `fresh` if it
    /// is the first item on its sub-buffer.
    fn remember(&self, note: &Note, outermost: bool, fresh: bool, to: Position) {
        let hot = &self.hot.0;
        if fresh || !outermost {
            hot.noted.clear();
        }
        if outermost {
            hot.noted.add(note);
            // A nested writer that came after the compare-exchange may have cleared the
            // table before the entry was added.
            sys::barrier();
            if hot.state.load() != to.0 {
                hot.noted.clear();
            }
        }
    }

    /// Writes `prefix` to `room`, which is reserved. Returns the words of the event behind
    /// it, and its delta.
    fn put_prefix<'r>(
        &'r self,
        (start, (words, page)): (Position, (&'r [AtomicU32], &Page)),
        room: &'r [AtomicU32],
        prefix: Prefix,
        note: &Note,
        time: PlaceTime,
    ) -> (&'r [AtomicU32], u64) {
        let mut delta = time.delta.unwrap_or(0);
        if start.offset() == HEADER_WORDS {
            // No reader sees it before this writer, or the one it interrupted, publishes.
            layout::set_time(words, time.ts.wrapping_sub(1));
            delta = 1;
        }
        let (stamp, rest) = room.split_at_checked(prefix.time).unwrap_or((&[], room));
        let (name, event) = rest.split_at_checked(prefix.note).unwrap_or((&[], rest));
        // A comm note needs a delta.
        let left = u64::from(prefix.note != 0);
        if !stamp.is_empty() {
            match time.delta.and_then(|delta| delta.checked_sub(left)) {
                Some(delta) => layout::put_time_extend(stamp, delta),
                None => layout::put_time_stamp(stamp, time.ts.wrapping_sub(left)),
            }
            delta = left;
        }
        if !name.is_empty() {
            layout::put_note(name, note, delta);
            delta = 0;
            let offset = start.offset().wrapping_add(prefix.time);
            page.tally.link_note(start.seq(), offset, |before| {
                layout::put_note_link(name, before);
            });
        }
        (event, delta)
    }

    /// Claims the sub-buffer after `from`, so that it can be entered.
    ///
    /// Any number of nested writers may repeat this in the middle of it: the claim is won
    /// once, and the other steps store the same values.
    fn claim_next(&self, from: Position) -> Result<Position, Lost> {
        let next = self.geometry().next(from.seq());
        let published = Position(self.published.0.load_relaxed());
        if self.geometry().lap_after(published.seq()) == next {
            // An interrupted writer may still use the sub-buffer that would be entered, or
            // a later one.
            self.counters.0.commit_overrun.fetch_add_relaxed(1);
            return Err(Lost::Nested);
        }
        let (Some(slot), Some(tail)) = (self.slot(next), self.tail(next)) else {
            return Err(Lost::Nested);
        };
        loop {
            // Acquire, for the counts of a migrated sub-buffer; see `Ring::take_over`.
            let found = Slot(slot.load_acquire());
            let page = found.page();
            match found.seq() {
                Some(seq) if seq == next => {}
                held => {
                    if held.is_some() && !self.overwrite() {
                        self.counters.0.dropped.fetch_add_relaxed(1);
                        return Err(Lost::Full);
                    }
                    // Read before the claim: after it a nested writer may fill this page
                    // and store its fill.
                    let overrun = held.and_then(|_| self.overrun_by(page));
                    let claim = Slot::holding(next, page);
                    if slot.cmpxchg_full(found.0, claim.0).is_err() {
                        // The reader took the page, a nested writer was faster, or the slot
                        // was given a migrated sub-buffer. None of these can happen twice:
                        // the reader leaves an empty slot and takes nothing that is not
                        // published.
                        continue;
                    }
                    if let Some((events, bytes)) = overrun {
                        self.counters.0.overrun.fetch_add_relaxed(events);
                        self.counters.0.overrun_bytes.fetch_add_relaxed(bytes);
                    }
                }
            }
            tail.set(page, self.storage.page(page).unwrap_or_default());
            return Ok(Position::start(next));
        }
    }

    /// Returns the number of events and bytes on `page`, which is full and unread.
    fn overrun_by(&self, page: u32) -> Option<(u64, u64)> {
        let page = self.page(page)?;
        let fill = Position(page.fill.load_relaxed());
        Some((page.kept(fill), fill.data_bytes()))
    }

    /// Counts a discarded event on `seq`, the writer's own sub-buffer.
    pub(super) fn count_discarded(&self, seq: Seq) {
        if let Some(page) = self.tail_page(seq) {
            page.tally.count_discarded(seq);
        }
    }

    /// Returns the memory and the bookkeeping of the writers' sub-buffer `seq`.
    fn tail_memory(&self, seq: Seq) -> Option<(&[AtomicU32], &Page)> {
        let page = self.tail(seq)?.page();
        Some((self.storage.page(page)?, self.page(page)?))
    }

    /// Returns the bookkeeping of the page of the writers' sub-buffer `seq`.
    pub(super) fn tail_page(&self, seq: Seq) -> Option<&Page> {
        self.page(self.tail(seq)?.page())
    }
}
