// SPDX-License-Identifier: GPL-2.0

//! The writers' side: reserve, fill, commit.
//!
//! How room is found is in `place.rs`, how it becomes readable in `publish.rs`.
//!
//! Everything here runs in any context, process to NMI, with preemption off,
//! on the CPU that owns the ring. "Nested" is a writer in an interrupt that
//! came in the middle of another writer: it runs from start to end before the
//! other goes on. An "outer" writer sees a nested one only as words that
//! changed between two of its own instructions.

use core::marker::PhantomData;
use core::mem;

use super::layout::{self, Shape, Short, HEADER_WORDS};
use super::note::{Note, Task};
use super::place::{Placed, Undo};
use super::position::Position;
use super::{Ring, Storage, UNSURE};
use crate::sys::{self, AtomicU32};

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

/// Tells the time to a reservation.
///
/// A trait of its own beside functions, whose implementation can ask to be inlined.
pub trait Clock {
    /// The time, of at most 62 bits; should not go back.
    fn now(&self) -> u64;
}

/// Tells the time to a reservation, where it can in few instructions.
///
/// Apart from [`Clock`], so that there need be no call where it cannot.
pub trait QuickClock {
    /// The time, as [`Clock::now`]; `None` where that is to be asked.
    fn now(&self) -> Option<u64>;
}

/// A clock that can always tell the time quickly.
pub struct Always<C>(pub C);

impl<C: Clock> QuickClock for Always<C> {
    #[inline(always)]
    fn now(&self) -> Option<u64> {
        Some(self.0.now())
    }
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
        // Nested writers always note their task, see `Noted`.
        if ring.hot.0.nesting.load_relaxed() == 0 {
            let ts = clock.now();
            if let Some(placed) = ring.place_quickly(shape.words, &note, ts) {
                layout::put_header(placed.event, shape, placed.delta);
                return Ok(Reservation::new(ring, shape, placed));
            }
        }
        let placed = self.reserve_slowly(shape, note, &clock)?;
        Ok(Reservation::new(ring, shape, placed))
    }

    /// The same for the outermost writer, where the event fits the sub-buffer
    /// and nothing but that has to be written: most of the time.
    ///
    /// `None`, with nothing lost or counted, where that is not so. Then
    /// [`Writer::reserve`] knows what to do, and has to be called: it also
    /// publishes what interrupts may have recorded meanwhile.
    ///
    /// `short` is looked at twice, so that no register need keep it.
    ///
    /// Runs in any context.
    #[inline(always)]
    pub fn reserve_quickly<C: QuickClock, const LEAST: usize>(
        self,
        short: &Short<LEAST>,
        task: &impl Task,
        clock: C,
    ) -> Option<Quick<'r, S, LEAST>> {
        let ring = self.ring;
        if ring.hot.0.nesting.load_relaxed() != 0 {
            return None;
        }
        let ts = clock.now()?;
        let Placed { event, undo, delta } = ring.place_quickly(short.words(), task, ts)?;
        // INVARIANT: Placed, and counted there.
        let quick = Quick {
            ring,
            event,
            after: undo.after,
            ts: undo.ts,
            local: PhantomData,
        };
        // SAFETY: By the invariants of `Short` and `Quick` the event has more
        // than two words.
        unsafe {
            event
                .get_unchecked(event.len().wrapping_sub(1))
                .store_relaxed(0);
            event.get_unchecked(0).store_relaxed(short.header(delta));
        }
        Some(quick)
    }

    /// Publishes what [`Quick::publish`] did not.
    ///
    /// Runs in any context.
    pub fn settle(self) {
        self.ring.publish_again();
    }

    #[cold]
    #[inline(never)]
    fn reserve_slowly(
        self,
        shape: Shape,
        note: Note,
        clock: &dyn Clock,
    ) -> Result<Placed<'r>, Lost> {
        let outermost = self.ring.enter();
        let placed = self.ring.place(shape, (&note, outermost), clock);
        if let Ok(placed) = &placed {
            layout::put_header(placed.event, shape, placed.delta);
        } else {
            self.ring.leave();
        }
        placed
    }
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
        self.undo.ts
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
        let undo = &self.undo;
        let hot = &self.ring.hot.0;
        let (before, after) = (Position(undo.before), Position(undo.after));
        // The first event of a page stays: going back over the boundary would
        // make writers cross it twice.
        let undone = undo.whole
            && !before.crossed(after)
            && before.offset() != HEADER_WORDS
            && hot.state.compare_exchange(undo.after, undo.before);
        if undone {
            // An interrupt may have recorded another since.
            hot.last.store_relaxed(undo.last | UNSURE);
        } else {
            layout::put_discarded(self.event, undo.ts);
            self.ring.count_discarded(after.seq());
        }
    }
}

/// Room for one event of an outermost writer, which stayed on its sub-buffer.
///
/// It cannot be taken back: dropping it publishes the event too.
///
/// # Invariants
///
/// As for [`Reservation`]; the event's header is one word, and its payload has
/// at least `LEAST` words, and three.
pub struct Quick<'r, S: Storage, const LEAST: usize> {
    ring: &'r Ring<S>,
    event: &'r [AtomicU32],
    /// The position behind the event.
    after: u64,
    ts: u64,
    local: PhantomData<*const ()>,
}

impl<S: Storage, const LEAST: usize> Quick<'_, S, LEAST> {
    /// The words of the payload.
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU32] {
        // SAFETY: By the type invariant.
        unsafe { self.event.get_unchecked(1..) }
    }

    /// The time of the event.
    #[inline(always)]
    pub fn ts(&self) -> u64 {
        self.ts
    }

    /// The bytes of the payload, as [`Reservation::bytes`].
    #[inline(always)]
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: As for a `Reservation`.
        unsafe { sys::words_as_bytes_mut(self.words()) }
    }

    /// The first words of the payload.
    #[inline(always)]
    pub fn start(&mut self) -> &mut [u32; LEAST] {
        let bytes = self.bytes().as_mut_ptr();
        // SAFETY: By the type invariant there are as many words, which are
        // aligned; they are borrowed as `bytes` is.
        unsafe { &mut *bytes.cast() }
    }

    /// Makes the event readable; false where something came meanwhile that
    /// [`Writer::settle`] must publish.
    ///
    /// Runs in any context.
    #[inline(always)]
    #[must_use]
    pub fn publish(self) -> bool {
        let (ring, after) = (self.ring, self.after);
        mem::forget(self);
        ring.leave_quickly(after)
    }
}

impl<S: Storage, const LEAST: usize> Drop for Quick<'_, S, LEAST> {
    fn drop(&mut self) {
        self.ring.publish_again();
    }
}

impl<S: Storage> Drop for Reservation<'_, S> {
    #[inline]
    fn drop(&mut self) {
        self.take_back();
        self.ring.leave();
    }
}
