// SPDX-License-Identifier: GPL-2.0

//! The writers' side: reserve, fill, commit.
//!
//! Everything here runs in any context, process to NMI, with preemption off,
//! on the CPU that owns the ring. "Nested" is a writer in an interrupt that
//! came in the middle of another writer: it runs from start to end before the
//! other goes on. An "outer" writer sees a nested one only as words that
//! changed between two of its own instructions.

use core::marker::PhantomData;
use core::mem;

use super::layout::{
    self, Shape, Short, EXTEND_LIMIT, HEADER_WORDS, MAX_DELTA, NOTE_WORDS, TIME_WORDS,
};
use super::note::Note;
use super::position::{Position, Seq, Slot};
use super::{Ring, Storage};
use crate::sys::{self, AtomicU32, OnCpu};

/// Why an event was not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Recording is off; the ring does not count these.
    Disabled,
    /// The ring is full of unread events and is to keep them; counted as
    /// dropped.
    Full,
    /// Interrupts filled the whole ring while one of the writers they
    /// interrupted was not done; counted as commit overrun.
    Nested,
    /// The event is larger than a sub-buffer; counted apart.
    TooLarge,
}

/// The right to write to a ring; costs nothing to make or copy.
pub struct Writer<'r, S> {
    ring: &'r Ring<S>,
    // Stays on the CPU it was made on.
    local: PhantomData<*const ()>,
}

impl<S> Clone for Writer<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Writer<'_, S> {}

impl<S: Storage> Ring<S> {
    /// The right to write.
    ///
    /// # Safety
    ///
    /// While the result or a reservation made with it lives, the caller stays
    /// on the CPU that owns this ring, and nothing but interrupts of that CPU
    /// (which run to their end before the caller goes on) uses another one.
    #[inline(always)]
    pub unsafe fn writer(&self) -> Writer<'_, S> {
        Writer {
            ring: self,
            local: PhantomData,
        }
    }
}

impl<S: Storage> Ring<S> {
    /// The right to write to the ring of the CPU that the caller stays on;
    /// `None` if this is the ring of another.
    ///
    /// Runs in any context.
    #[inline(always)]
    pub fn writer_here<'a>(&'a self, here: &'a OnCpu) -> Option<Writer<'a, S>> {
        if here.number() != self.cpu {
            return None;
        }
        // SAFETY: The proof keeps the caller on the CPU whose ring this is, and by
        // this function no other CPU gets a writer of it.
        Some(unsafe { self.writer() })
    }
}

/// Tells the time to a reservation.
///
/// A trait of its own beside functions, whose implementation can ask to be inlined.
pub trait Clock {
    /// The time; should not go back.
    fn now(&self) -> u64;
}

impl<F: Fn() -> u64> Clock for F {
    #[inline(always)]
    fn now(&self) -> u64 {
        self()
    }
}

impl<'r, S: Storage> Writer<'r, S> {
    /// Bytes of the largest payload that can be reserved.
    ///
    /// Runs in any context.
    #[inline(always)]
    pub fn max_payload(&self) -> usize {
        self.ring.max_payload()
    }

    /// Reserves room for an event with a payload of `len` bytes, at the time
    /// that `clock` tells.
    ///
    /// The payload has whole words, and its last word is zero. All other
    /// bytes are what an older event left there: the caller writes them all.
    /// `clock` is called at least once and should not go back; where it does,
    /// the event gets the time of the one before it.
    ///
    /// Runs in any context. At most as many retries as interrupts that record
    /// events come meanwhile.
    ///
    /// # Errors
    ///
    /// See [`Lost`]; the loss is counted.
    #[inline(always)]
    pub fn reserve<C: Clock>(
        self,
        len: usize,
        note: Note,
        clock: C,
    ) -> Result<Reservation<'r, S>, Lost> {
        let ring = self.ring;
        let shape = Shape::of(len);
        let outermost = ring.enter();
        // Nested writers always note their task, see `Noted`.
        if outermost {
            if let Some(placed) = ring.place_quickly(shape, || note, &clock) {
                return Ok(Reservation::new(ring, shape, placed));
            }
        }
        let placed = self.reserve_slowly(shape, (note, outermost), &clock)?;
        Ok(Reservation::new(ring, shape, placed))
    }

    /// The same for the outermost writer, where the event fits the sub-buffer
    ///  and nothing but that has to be written: most of the time.
    ///
    /// `None`, with nothing lost or counted, where that is not so: then
    /// [`Writer::reserve`] knows what to do.
    ///
    /// Runs in any context.
    #[inline(always)]
    pub fn reserve_quickly<C: Clock>(
        self,
        short: Short,
        note: impl Fn() -> Note,
        clock: C,
    ) -> Option<Quick<'r, S>> {
        let (ring, shape) = (self.ring, short.shape());
        let nesting = &ring.hot.0.nesting;
        if nesting.load_relaxed() != 0 {
            return None;
        }
        nesting.store_relaxed(1);
        sys::barrier();
        match ring.place_quickly(shape, note, &clock) {
            // INVARIANT: Placed, and counted above.
            Some(placed) => Some(Quick {
                ring,
                event: placed.event,
                after: placed.undo.after,
                local: PhantomData,
            }),
            None => {
                ring.leave_slowly();
                None
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn reserve_slowly(
        self,
        shape: Shape,
        (note, outermost): (Note, bool),
        clock: &dyn Clock,
    ) -> Result<Placed<'r>, Lost> {
        let placed = self.ring.place(shape, (&note, outermost), clock);
        if placed.is_err() {
            self.ring.leave();
        }
        placed
    }
}

/// A `u32` as a `usize`, which is wider.
#[inline(always)]
pub(super) fn widen(value: u32) -> usize {
    // CAST: u32 to usize widens, on the 64-bit machines this is for.
    value as usize
}

/// Words that stand before an event in its reservation.
#[derive(Clone, Copy)]
struct Prefix {
    /// Of a time extend.
    extend: usize,
    /// Of a note of the task.
    note: usize,
}

impl Prefix {
    /// That of the first event of a sub-buffer.
    const FRESH: Self = Self {
        extend: 0,
        note: NOTE_WORDS,
    };

    /// What has to stand before an event at `from`, `delta` after the last,
    /// where it fits.
    fn new(from: Position, noted: bool, delta: u64) -> Self {
        if from.offset() == HEADER_WORDS {
            return Self::FRESH;
        }
        Self {
            extend: if delta > MAX_DELTA { TIME_WORDS } else { 0 },
            note: if noted { 0 } else { NOTE_WORDS },
        }
    }

    fn words(self) -> usize {
        self.extend.wrapping_add(self.note)
    }
}

/// How a reservation may be taken back.
#[derive(Clone, Copy)]
struct Undo {
    before: (u64, u64),
    after: (u64, u64),
    /// Nothing but the event is taken back with it.
    whole: bool,
}

/// Where an event is.
struct Placed<'r> {
    event: &'r [AtomicU32],
    undo: Undo,
}

/// Room for one event, between [`Writer::reserve`] and
/// [`Reservation::commit`].
///
/// Dropping it without committing discards it.
///
/// # Invariants
///
/// `event` has the words that this reservation added to the position, of which
/// there are not fewer than `header`, and `ring.nesting` counts it.
pub struct Reservation<'r, S: Storage> {
    ring: &'r Ring<S>,
    event: &'r [AtomicU32],
    header: usize,
    undo: Undo,
    local: PhantomData<*const ()>,
}

impl<'r, S: Storage> Reservation<'r, S> {
    /// The reservation of what is placed.
    ///
    /// It is put together here, field by field, and not where it is placed: so
    /// the compiler keeps those fields that the caller uses in registers.
    #[inline(always)]
    fn new(ring: &'r Ring<S>, shape: Shape, placed: Placed<'r>) -> Self {
        Self {
            ring,
            event: placed.event,
            header: shape.header,
            undo: placed.undo,
            local: PhantomData,
        }
    }

    /// The words of the payload, for straight-line stores.
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU32] {
        // SAFETY: By the type invariant.
        unsafe { self.event.get_unchecked(self.header..) }
    }

    /// The bytes of the payload.
    ///
    /// They are as many as were asked for, rounded up to whole words, and not
    /// less than what the smallest event has.
    #[inline(always)]
    pub fn bytes(&mut self) -> &mut [u8] {
        let words = self.words();
        // SAFETY: by the invariants of `Ring` these words belong to this
        // reservation until it is committed; `&mut self` keeps `words` and a
        // second `bytes` away meanwhile. A snapshot that was copying this page
        // when it was claimed finds the claim and throws its copy away.
        unsafe { sys::words_as_bytes_mut(words) }
    }

    /// The time of the event.
    #[inline(always)]
    pub fn ts(&self) -> u64 {
        self.undo.after.1
    }

    /// Commits the event: it becomes readable once this writer and those it
    /// interrupted are done. Runs in any context.
    #[inline(always)]
    pub fn commit(self) {
        let ring = self.ring;
        mem::forget(self);
        ring.leave();
    }

    /// Takes the event back: readers will not see it, and it counts as neither
    /// recorded nor lost. Runs in any context.
    pub fn discard(self) {
        drop(self);
    }

    #[cold]
    #[inline(never)]
    fn take_back(&self) {
        let before = Position(self.undo.before.0);
        let after = Position(self.undo.after.0);
        let state = &self.ring.hot.0.state;
        // The first event of a page stays: going back over the boundary would
        // make writers cross it twice.
        let undone = self.undo.whole
            && !before.crossed(after)
            && before.offset() != HEADER_WORDS
            && state.compare_exchange(self.undo.after, self.undo.before);
        if !undone {
            layout::put_discarded(self.event, self.undo.after.1);
            self.ring.count_discarded(after.seq());
        }
    }
}

/// Room for one event of an outermost writer, which stayed on its sub-buffer.
///
/// Dropping it commits the event: it cannot be taken back.
///
/// # Invariants
///
/// As for [`Reservation`]; the event's header is one word.
pub struct Quick<'r, S: Storage> {
    ring: &'r Ring<S>,
    event: &'r [AtomicU32],
    /// The position behind the event, and its time.
    after: (u64, u64),
    local: PhantomData<*const ()>,
}

impl<S: Storage> Quick<'_, S> {
    /// The words of the payload.
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU32] {
        // SAFETY: By the type invariant.
        unsafe { self.event.get_unchecked(1..) }
    }

    /// The time of the event.
    #[inline(always)]
    pub fn ts(&self) -> u64 {
        self.after.1
    }

    /// The bytes of the payload, as [`Reservation::bytes`].
    #[inline(always)]
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: As for a `Reservation`.
        unsafe { sys::words_as_bytes_mut(self.words()) }
    }
}

impl<S: Storage> Drop for Quick<'_, S> {
    #[inline(always)]
    fn drop(&mut self) {
        self.ring.leave_quickly(self.after.0);
    }
}

impl<S: Storage> Drop for Reservation<'_, S> {
    #[inline]
    fn drop(&mut self) {
        self.take_back();
        self.ring.leave();
    }
}

impl<S: Storage> Ring<S> {
    /// Counts this writer in, before it looks at `state`; says whether it is
    /// the outermost.
    ///
    /// From here until [`Ring::leave`] no nested writer publishes, so
    /// `published` stands still for this writer, unless it is the outermost
    /// and publishes itself.
    #[inline(always)]
    fn enter(&self) -> bool {
        let nesting = &self.hot.0.nesting;
        // Plain, not atomic: a nested writer restores what it found.
        let depth = nesting.load_relaxed();
        nesting.store_relaxed(depth.wrapping_add(1));
        sys::barrier();
        depth == 0
    }

    /// Counts this writer out, and publishes when it is the outermost.
    #[inline(always)]
    fn leave(&self) {
        let nesting = &self.hot.0.nesting;
        sys::barrier();
        let depth = nesting.load_relaxed();
        if depth != 1 {
            // The outermost publishes for us: its store-release comes after
            // our stores in the order of this CPU's program.
            nesting.store_relaxed(depth.wrapping_sub(1));
            return;
        }
        let state = Position(self.hot.0.state.load_first());
        if state.crossed(Position(self.published.0.load_relaxed())) {
            self.settle_pages(state.seq());
        }
        self.published.0.store_release(state.0);
        sys::barrier();
        nesting.store_relaxed(0);
        sys::barrier();
        // A nested writer that came after `state` was read and before
        // `nesting` was 0 left the publishing to us. One that came later has
        // published by itself.
        if self.hot.0.state.load_first() != state.0 {
            self.publish_again();
        }
    }

    /// [`Ring::leave`] of an outermost writer whose own event ends at `after`, on
    /// the sub-buffer on which `published` is.
    ///
    /// What nested writers did meanwhile is published by the slow way, so here is
    /// nothing to look at before.
    #[inline(always)]
    fn leave_quickly(&self, after: u64) {
        let hot = &self.hot.0;
        sys::barrier();
        self.published.0.store_release(after);
        sys::barrier();
        hot.nesting.store_relaxed(0);
        sys::barrier();
        if hot.state.load_first() != after {
            self.publish_again();
        }
    }

    /// [`Ring::leave`] where speed does not matter.
    #[cold]
    #[inline(never)]
    fn leave_slowly(&self) {
        self.leave();
    }

    /// Publishes what came while the outermost writer was publishing.
    ///
    /// Ends when no event came meanwhile: every round but the last was caused
    /// by an interrupt that recorded one.
    #[cold]
    #[inline(never)]
    fn publish_again(&self) {
        let hot = &self.hot.0;
        loop {
            // From here on nested writers leave it to us, so that no older
            // position is stored over a newer one.
            hot.nesting.store_relaxed(1);
            sys::barrier();
            let state = Position(hot.state.load_first());
            self.settle_pages(state.seq());
            self.published.0.store_release(state.0);
            sys::barrier();
            hot.nesting.store_relaxed(0);
            sys::barrier();
            if hot.state.load_first() == state.0 {
                return;
            }
        }
    }

    /// Sums up what came before each page from `published` to `to`.
    ///
    /// Only the outermost writer does this, when everything nested in it is
    /// done: fills and discards of all pages before `to` are final. (A nested
    /// writer cannot do it: the one it interrupted may have moved `state` to
    /// the next page and not yet noted how full it left the last.)
    #[cold]
    #[inline(never)]
    fn settle_pages(&self, to: Seq) {
        let losses = self.losses();
        let mut seq = Position(self.published.0.load_relaxed()).seq();
        while seq != to {
            let next = self.geometry().next(seq);
            let (Some(from), Some(into)) = (self.tail_page(seq), self.tail_page(next)) else {
                return;
            };
            let fill = Position(from.fill.load_relaxed());
            let events = from.events_before.load_relaxed();
            let bytes = from.bytes_before.load_relaxed();
            into.events_before
                .store_relaxed(events.wrapping_add(from.kept(fill)));
            into.bytes_before
                .store_relaxed(bytes.wrapping_add(data_bytes(fill)));
            into.losses_before.store_relaxed(losses);
            seq = next;
        }
    }

    /// Reserves for an outermost writer, where nothing but the event has to be
    /// written.
    ///
    /// `note` is asked where it is needed, so that what it returns need not be
    /// kept meanwhile.
    #[inline(always)]
    fn place_quickly(
        &self,
        shape: Shape,
        note: impl Fn() -> Note,
        clock: &impl Clock,
    ) -> Option<Placed<'_>> {
        let hot = &self.hot.0;
        let (position, last) = hot.state.load();
        // After the load: where a nested writer notes a task, the
        // compare-exchange fails.
        if !hot.noted.has(&note()) {
            return None;
        }
        let ts = clock.now();
        let from = Position(position);
        // A clock that went back makes a huge delta.
        let delta = ts.wrapping_sub(last);
        let end = from.offset().wrapping_add(shape.words);
        if end > widen(hot.limit.load_relaxed()) || delta > MAX_DELTA {
            return None;
        }
        // SAFETY: By the invariant of the ring `state` is on one of the slots,
        // each of which has its entry.
        let tail = unsafe { self.tails.get_unchecked(hot.geometry.slot(from.seq())) };
        let undo = Undo {
            before: (position, last),
            after: (from.after(shape.words).0, ts),
            whole: true,
        };
        if !hot.state.compare_exchange(undo.before, undo.after) {
            return None;
        }
        // SAFETY: `limit` is not above the words of a page, and nobody changes
        // the page of a sub-buffer on which writers are.
        let event = unsafe { tail.words(from.offset(), shape.words) };
        layout::put_header(event, shape, delta);
        Some(Placed { event, undo })
    }

    /// Reserves where the fast path could not: at the end of a page, after a
    /// long time, with a clock that went back, or not at all.
    fn place<'r>(
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
            let (position, last) = hot.state.load();
            let ts = clock.now();
            let limit = widen(hot.limit.load_relaxed());
            if limit == 0 {
                return Err(Lost::Disabled);
            }
            let from = Position(position);
            // A clock that went back gets the time of the last event, and one
            // more: a note needs some time. A pair torn by a nested writer may
            // look like a clock that went back or stood still for long; the
            // compare-exchange below finds that out.
            let ts = ts.max(last.wrapping_add(1));
            let delta = ts.wrapping_sub(last);
            let noted = outermost && hot.noted.has(note);
            let prefix = Prefix::new(from, noted, delta);
            let end = from.offset().wrapping_add(prefix.words());
            let empty = from.offset() == HEADER_WORDS;
            let fits = end.wrapping_add(shape.words) <= limit && (delta < EXTEND_LIMIT || empty);
            let (start, prefix) = if fits {
                (from, prefix)
            } else {
                (self.claim_next(from)?, Prefix::FRESH)
            };
            let to = start.after(shape.words.wrapping_add(prefix.words()));
            let Some(room) = self.tail_words(start.seq(), start.offset(), to.offset()) else {
                return Err(Lost::Nested);
            };
            if !hot.state.compare_exchange((position, last), (to.0, ts)) {
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
            let event = self.put_prefix(start, room, prefix, note, (ts, delta), shape);
            return Ok(Placed {
                event,
                undo: Undo {
                    before: (position, last),
                    after: (to.0, ts),
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
            if hot.state.load_first() != to.0 {
                hot.noted.clear();
            }
        }
    }

    /// Writes `prefix` and the header of the event behind it to `room`, which
    /// is reserved; returns the words of the event.
    fn put_prefix<'r>(
        &'r self,
        start: Position,
        room: &'r [AtomicU32],
        prefix: Prefix,
        note: &Note,
        (ts, delta): (u64, u64),
        shape: Shape,
    ) -> &'r [AtomicU32] {
        let mut delta = delta;
        if start.offset() == HEADER_WORDS {
            // Nobody reads it before we, or who we interrupted, publish.
            if let Some(page) = self.tail_words(start.seq(), 0, HEADER_WORDS) {
                layout::set_time(page, ts.wrapping_sub(1));
            }
            delta = 1;
        }
        let (time, rest) = room.split_at_checked(prefix.extend).unwrap_or((&[], room));
        let (name, event) = rest.split_at_checked(prefix.note).unwrap_or((&[], rest));
        // The deltas add up to that of the event.
        if !time.is_empty() {
            let rest = u64::from(prefix.note != 0);
            layout::put_time_extend(time, delta.wrapping_sub(rest));
            delta = rest;
        }
        if !name.is_empty() {
            layout::put_note(name, note, delta);
            delta = 0;
        }
        layout::put_header(event, shape, delta);
        event
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
    fn count_discarded(&self, seq: Seq) {
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
