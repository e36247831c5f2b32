// SPDX-License-Identifier: GPL-2.0

//! Where an event goes, and what has to stand before it.
//!
//! A reservation moves the position by a compare-exchange that is atomic against
//! interrupts. The time of the last event is another word, stored just before that:
//! if the exchange succeeds, nothing came between, and the time is that of the event
//! which then is the last; nested writers that come later overwrite it with theirs.
//! If the exchange fails, a nested writer recorded, whose time may have been
//! overwritten: the word is marked as [`UNSURE`], and the next event gets an absolute
//! time. So does each event of a nested writer, see [`Time::new`].

use super::layout::{self, Shape, EXTEND_LIMIT, HEADER_WORDS, MAX_DELTA, NOTE_WORDS, TIME_WORDS};
use super::note::{Note, Task};
use super::position::{Position, Seq, Slot};
use super::writer::{Clock, Lost};
use super::{Ring, Storage, UNSURE};
use crate::sys::{self, AtomicU32};

/// A `u32` as a `usize`, which is wider.
#[inline(always)]
fn widen(value: u32) -> usize {
    // CAST: u32 to usize widens, on the 64-bit machines this is for.
    value as usize
}

/// When an event was.
#[derive(Clone, Copy)]
struct Time {
    ts: u64,
    /// The difference to the event before it, where that is known.
    delta: Option<u64>,
    /// It is at least as much.
    least: u64,
}

impl Time {
    /// That of an event for which the clock says `now`, with `last` as
    /// [`super::Hot::last`] is.
    ///
    /// A nested writer cannot know which event is before its own: the writer
    /// that it interrupted may have stored the time of its event, and not yet
    /// reserved. So it says when it was, and the next writer, whose event stands
    /// behind it, may say the difference again.
    fn new(now: u64, last: u64, outermost: bool) -> Self {
        let before = last & !UNSURE;
        // A clock that went back gets the time of the last event, and one
        // more: a note needs some time.
        let ts = now.max(before.wrapping_add(1));
        let least = ts.wrapping_sub(before);
        Self {
            ts,
            delta: (outermost && last == before).then_some(least),
            least,
        }
    }

    /// Whether there is a way to say it on the same sub-buffer.
    fn can_be_said(self) -> bool {
        match self.delta {
            Some(delta) => delta < EXTEND_LIMIT,
            // Readers take the time nearest to the one before.
            None => self.least < EXTEND_LIMIT / 2,
        }
    }
}

/// Words that stand before an event in its reservation.
#[derive(Clone, Copy)]
struct Prefix {
    /// Of a time extend or stamp.
    time: usize,
    /// Of a note of the task.
    note: usize,
}

impl Prefix {
    /// That of the first event of a sub-buffer.
    const FRESH: Self = Self {
        time: 0,
        note: NOTE_WORDS,
    };

    /// What has to stand before an event at `from`, where it fits.
    fn new(from: Position, noted: bool, time: Time) -> Self {
        if from.offset() == HEADER_WORDS {
            return Self::FRESH;
        }
        Self {
            time: match time.delta {
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

/// How a reservation may be taken back.
#[derive(Clone, Copy)]
pub(super) struct Undo {
    /// The positions before and after it.
    pub(super) before: u64,
    pub(super) after: u64,
    /// The time of the event before it, as [`super::Hot::last`] has it, and its own.
    pub(super) last: u64,
    pub(super) ts: u64,
    /// Nothing but the event is taken back with it.
    pub(super) whole: bool,
}

/// Where an event is.
pub(super) struct Placed<'r> {
    pub(super) event: &'r [AtomicU32],
    /// What its header has to say.
    pub(super) delta: u64,
    pub(super) undo: Undo,
}

impl<S: Storage> Ring<S> {
    /// Reserves `words` for an outermost writer at the time `ts`, where nothing but
    /// the event has to be written, and counts it in; header and payload are yet
    /// to be written. Where it fails the writer is not counted in, and must go on
    /// with [`Ring::place`].
    #[inline(always)]
    pub(super) fn place_quickly(
        &self,
        words: usize,
        task: &impl Task,
        ts: u64,
    ) -> Option<Placed<'_>> {
        let hot = &self.hot.0;
        // First: whatever a nested writer changes in what is read from here on,
        // it moves the position too, and the exchange fails.
        let position = hot.state.load();
        sys::barrier();
        if !hot.noted.is_latest(task) {
            return None;
        }
        let last = hot.last.load_relaxed();
        let from = Position(position);
        // The time of an event that came since then makes a huge delta, and so do
        // a clock that went back, and `UNSURE`.
        let delta = ts.wrapping_sub(last);
        let last_word = from.offset().wrapping_add(words.wrapping_sub(1));
        if delta > MAX_DELTA || last_word >= widen(hot.limit.load_relaxed()) {
            return None;
        }
        let after = from.after(words).0;
        hot.nesting.store_relaxed(1);
        // Before the exchange, so that it is right for whoever comes after it.
        hot.last.store_relaxed(ts);
        if !hot.state.compare_exchange(position, after) {
            hot.last.store_relaxed(ts | UNSURE);
            hot.nesting.store_relaxed(0);
            return None;
        }
        // SAFETY: No other than the outermost writer changes `tail`, to the page
        // of `state`, when it is done; the exchange says that it did not move
        // since. `limit` is not above the words of a page, and nobody changes
        // the page of a sub-buffer on which writers are.
        let event = unsafe { hot.tail.words(from.offset(), words) };
        Some(Placed {
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

    /// Reserves where the fast path could not: at the end of a page, after a
    /// long time, with a clock that went back, inside another writer, or not at
    /// all.
    pub(super) fn place<'r>(
        &'r self,
        shape: Shape,
        (note, outermost): (&Note, bool),
        clock: &dyn Clock,
    ) -> Result<Placed<'r>, Lost> {
        let hot = &self.hot.0;
        if shape.words.wrapping_add(NOTE_WORDS) > self.page_words.wrapping_sub(HEADER_WORDS) {
            if hot.limit.load_relaxed() == 0 {
                return Err(Lost::Disabled);
            }
            self.counters.0.too_large.fetch_add_relaxed(1);
            return Err(Lost::TooLarge);
        }
        loop {
            // As in `place_quickly`, and in that order.
            let position = hot.state.load();
            sys::barrier();
            let last = hot.last.load_relaxed();
            let limit = widen(hot.limit.load_relaxed());
            if limit == 0 {
                return Err(Lost::Disabled);
            }
            let from = Position(position);
            let time = Time::new(clock.now(), last, outermost);
            let noted = outermost && hot.noted.has(note);
            let prefix = Prefix::new(from, noted, time);
            let end = from.offset().wrapping_add(prefix.words());
            let empty = from.offset() == HEADER_WORDS;
            let fits = end.wrapping_add(shape.words) <= limit && (time.can_be_said() || empty);
            let (start, prefix) = if fits {
                (from, prefix)
            } else {
                (self.claim_next(from)?, Prefix::FRESH)
            };
            let to = start.after(shape.words.wrapping_add(prefix.words()));
            let Some(room) = self.tail_words(start.seq(), start.offset(), to.offset()) else {
                return Err(Lost::Nested);
            };
            hot.last.store_relaxed(time.ts);
            if !hot.state.compare_exchange(position, to.0) {
                // So the next writer comes here too, and does not rely on what
                // `has` may have found before the table was cleared.
                hot.last.store_relaxed(time.ts | UNSURE);
                continue;
            }
            if !fits {
                // Nested writers cannot reuse the page that we left before we
                // note its fill: it is not before `published`.
                if let Some(left) = self.tail_page(from.seq()) {
                    left.fill.store_relaxed(from.0);
                }
            }
            if prefix.note != 0 {
                self.remember(note, outermost, start.offset() == HEADER_WORDS, to);
            }
            let (event, delta) = self.put_prefix(start, room, prefix, note, time);
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

    /// Brings the table of what is noted up to date, after `note` was placed
    /// before `to`, as the first on its sub-buffer if it is `fresh`.
    fn remember(&self, note: &Note, outermost: bool, fresh: bool, to: Position) {
        let hot = &self.hot.0;
        if fresh || !outermost {
            hot.noted.clear();
        }
        if outermost {
            hot.noted.add(note);
            // A nested writer that came after the compare-exchange may have
            // cleared the table before we added to it.
            sys::barrier();
            if hot.state.load() != to.0 {
                hot.noted.clear();
            }
        }
    }

    /// Writes `prefix` to `room`, which is reserved; returns the words of the
    /// event behind it, and its delta.
    fn put_prefix<'r>(
        &'r self,
        start: Position,
        room: &'r [AtomicU32],
        prefix: Prefix,
        note: &Note,
        time: Time,
    ) -> (&'r [AtomicU32], u64) {
        let mut delta = time.delta.unwrap_or(0);
        if start.offset() == HEADER_WORDS {
            // Nobody reads it before we, or who we interrupted, publish.
            if let Some(page) = self.tail_words(start.seq(), 0, HEADER_WORDS) {
                layout::set_time(page, time.ts.wrapping_sub(1));
            }
            delta = 1;
        }
        let (stamp, rest) = room.split_at_checked(prefix.time).unwrap_or((&[], room));
        let (name, event) = rest.split_at_checked(prefix.note).unwrap_or((&[], rest));
        // A note needs a delta.
        let left = u64::from(prefix.note != 0);
        if !stamp.is_empty() {
            match time.delta {
                Some(delta) => layout::put_time_extend(stamp, delta.wrapping_sub(left)),
                None => layout::put_time_stamp(stamp, time.ts.wrapping_sub(left)),
            }
            delta = left;
        }
        if !name.is_empty() {
            layout::put_note(name, note, delta);
            delta = 0;
        }
        (event, delta)
    }

    /// Makes the sub-buffer after `from` ready to be entered.
    ///
    /// Any number of nested writers may do it again in the middle of this:
    /// the claim is won once, and the other steps store the same value.
    fn claim_next(&self, from: Position) -> Result<Position, Lost> {
        let next = self.geometry().next(from.seq());
        let published = Position(self.published.0.load_relaxed());
        if self.geometry().lap_after(published.seq()) == next {
            // An interrupted writer may still use the sub-buffer that we would
            // enter, or another after it.
            self.counters.0.commit_overrun.fetch_add_relaxed(1);
            return Err(Lost::Nested);
        }
        let (Some(slot), Some(tail)) = (self.slot(next), self.tail(next)) else {
            return Err(Lost::Nested);
        };
        loop {
            // What another ring's events that were put there count, see
            // `Ring::take_over`.
            let found = Slot(slot.load_acquire());
            let page = found.page();
            match found.seq() {
                Some(seq) if seq == next => {}
                held => {
                    if held.is_some() && !self.overwrite() {
                        self.counters.0.dropped.fetch_add_relaxed(1);
                        return Err(Lost::Full);
                    }
                    // Read before the claim: after it a nested writer may
                    // fill this page and note that.
                    let overrun = held.and_then(|_| self.overrun_by(page));
                    let claim = Slot::holding(next, page);
                    if slot.cmpxchg_full(found.0, claim.0).is_err() {
                        // The reader took the page, a nested writer was
                        // faster, or the slot was given what another ring
                        // held. None can happen a second time: the
                        // reader leaves an empty slot and takes nothing that
                        // is not published.
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

    /// Events and bytes on `page`, which is full and unread.
    fn overrun_by(&self, page: u32) -> Option<(u64, u64)> {
        let page = self.page(page)?;
        let fill = Position(page.fill.load_relaxed());
        Some((page.kept(fill), data_bytes(fill)))
    }

    /// Notes that an event on `seq`, the writer's own, was discarded.
    pub(super) fn count_discarded(&self, seq: Seq) {
        let Some(page) = self.tail_page(seq) else {
            return;
        };
        loop {
            let found = page.discarded.load_relaxed();
            let count = if found >> 32 == u64::from(seq.0) {
                found.wrapping_add(1)
            } else {
                (u64::from(seq.0) << 32) | 1
            };
            if page.discarded.cmpxchg_full(found, count).is_ok() {
                return;
            }
        }
    }

    /// The words from `start` to `end` of the writers' sub-buffer `seq`.
    fn tail_words(&self, seq: Seq, start: usize, end: usize) -> Option<&[AtomicU32]> {
        let page = self.tail(seq)?.page();
        self.storage.page(page)?.get(start..end)
    }

    /// The notes on the writers' sub-buffer `seq`.
    pub(super) fn tail_page(&self, seq: Seq) -> Option<&super::Page> {
        self.page(self.tail(seq)?.page())
    }
}

/// Bytes of data before `end` on its sub-buffer.
pub(super) fn data_bytes(end: Position) -> u64 {
    let words = end.offset().saturating_sub(HEADER_WORDS);
    u64::from(layout::bytes_of(words))
}
