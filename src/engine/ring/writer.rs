// SPDX-License-Identifier: GPL-2.0

//! The writers' side: reserve, fill, commit.
//!
//! `place.rs` reserves room, `publish.rs` makes it readable.
//!
//! Writers run with preemption off, on the CPU that owns the ring. A "nested" writer runs in
//! an interrupt that came in the middle of another writer: it runs from start to end before
//! the other continues. An "outer" writer sees a nested one only as words that changed
//! between two of its own instructions.
//!
//! Context: any, from process to NMI.

use core::marker::PhantomData;
use core::mem;

use super::clock::{FastClock, RingClock};
use super::layout::{self, EventShape, EventSize, HEADER_WORDS};
use super::lost::Lost;
use super::note::{Note, Task};
use super::place::{Placed, Undo};
use super::position::Position;
use super::state::{Ring, Storage, UNSURE};
use super::unpublished::Unpublished;
use crate::sys::{self, AtomicU32};

/// The right to write to a ring; free to create and copy.
///
/// [`Local`](super::Local) is the safe way to write.
pub struct Writer<'r, S> {
    ring: &'r Ring<S>,
    // Stays on the CPU on which it was created.
    local: PhantomData<*const ()>,
}

impl<S> Clone for Writer<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Writer<'_, S> {}

impl<S: Storage> Ring<S> {
    /// Returns the right to write.
    ///
    /// # Safety
    ///
    /// - While the result or a reservation made with it lives, the caller stays on the CPU
    ///   that owns this ring, and nothing but interrupts of that CPU (which run to their
    ///   end before the caller continues) uses another one.
    /// - Reservations end in the reverse order of their beginning, whatever writers of the
    ///   ring they are made with, as interrupts do.
    #[inline(always)]
    pub unsafe fn writer(&self) -> Writer<'_, S> {
        Writer {
            ring: self,
            local: PhantomData,
        }
    }
}

impl<'r, S: Storage> Writer<'r, S> {
    /// Returns the size in bytes of the largest payload that can be reserved.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn max_payload(&self) -> usize {
        self.ring.max_payload()
    }

    /// Reserves room for an event with a payload of `len` bytes, at the time by `clock`.
    ///
    /// The payload has whole words, and its last word is zero. All other bytes are left
    /// over from an older event: the caller writes them all. `clock` is called at least
    /// once and should not go back; if it does, the event gets the time of the one before
    /// it.
    ///
    /// Retries at most once per interrupt that records events meanwhile.
    ///
    /// Context: any.
    ///
    /// # Errors
    ///
    /// See [`Lost`]; the loss is counted.
    #[inline(always)]
    pub fn reserve<C: RingClock>(
        self,
        len: usize,
        note: Note,
        clock: C,
    ) -> Result<Reservation<'r, S>, Lost> {
        let ring = self.ring;
        let shape = EventShape::of(len);
        // Nested writers always write a comm note, see `Noted`.
        if ring.hot.0.nesting.load_relaxed() == 0 {
            let ts = clock.now();
            // Events that interrupts left are published with this event, or with its loss.
            if let Ok(placed) = ring.place_fast(shape.words, &note, ts) {
                layout::put_header(placed.event, shape, placed.delta);
                return Ok(Reservation::new(ring, shape, placed));
            }
        }
        let placed = self.reserve_slowly(shape, note, &clock)?;
        Ok(Reservation::new(ring, shape, placed))
    }

    /// Reserves like [`Writer::reserve`], for an outermost writer whose event fits the sub-buffer
    /// and needs no prefix: the most frequent case.
    ///
    /// Fails otherwise, with nothing lost or counted. Use [`Writer::reserve`] then.
    ///
    /// `size` is read twice, to save a register.
    ///
    /// Context: any.
    ///
    /// # Errors
    ///
    /// Returns the duty to publish events of interrupts, if there are any.
    #[inline(always)]
    pub fn reserve_fast<C: FastClock, const LEAST: usize>(
        self,
        size: &impl EventSize<LEAST>,
        task: &impl Task,
        clock: C,
    ) -> Result<FastReservation<'r, S, LEAST>, Option<Unpublished<'r, S>>> {
        let ring = self.ring;
        if ring.hot.0.nesting.load_relaxed() != 0 {
            return Err(None);
        }
        let Some(ts) = clock.now() else {
            return Err(None);
        };
        let Placed { event, undo, delta } = ring.place_fast(size.words(), task, ts)?;
        let header_words = header_of(size);
        // SAFETY: By the contract of `EventSize` the event has a header and more than two words.
        let payload = unsafe {
            event
                .get_unchecked(event.len().wrapping_sub(1))
                .store_relaxed(0);
            let [head, length] = size.header(delta);
            event.get_unchecked(0).store_relaxed(head);
            if header_words == 2 {
                event.get_unchecked(1).store_relaxed(length);
            }
            event.get_unchecked(header_words..)
        };
        // INVARIANT: Reserved and counted by `place_fast`.
        let reservation = FastReservation {
            ring,
            payload,
            after: undo.after,
            ts: undo.ts,
            local: PhantomData,
        };
        Ok(reservation)
    }

    /// [`Writer::reserve`] without the fast path.
    ///
    /// Context: any.
    ///
    /// # Errors
    ///
    /// See [`Lost`]; the loss is counted.
    pub(super) fn reserve_slow<C: RingClock>(
        self,
        len: usize,
        note: Note,
        clock: C,
    ) -> Result<Reservation<'r, S>, Lost> {
        let shape = EventShape::of(len);
        let placed = self.reserve_slowly(shape, note, &clock)?;
        Ok(Reservation::new(self.ring, shape, placed))
    }

    #[cold]
    #[inline(never)]
    fn reserve_slowly(
        self,
        shape: EventShape,
        note: Note,
        clock: &dyn RingClock,
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

/// Room for one event, between [`Writer::reserve`] and [`Reservation::commit`].
///
/// Dropping it without committing discards the event.
///
/// # Invariants
///
/// `event` has the words that this reservation added to the position, at least `header` of
/// them, and `ring.nesting` counts it.
pub struct Reservation<'r, S: Storage> {
    ring: &'r Ring<S>,
    event: &'r [AtomicU32],
    header: usize,
    undo: Undo,
    local: PhantomData<*const ()>,
}

impl<'r, S: Storage> Reservation<'r, S> {
    /// Creates the reservation of `placed`.
    ///
    /// It is assembled here, field by field, and not in `place_fast`, so that the
    /// compiler keeps the fields that the caller uses in registers.
    #[inline(always)]
    fn new(ring: &'r Ring<S>, shape: EventShape, placed: Placed<'r>) -> Self {
        Self {
            ring,
            event: placed.event,
            header: shape.header,
            undo: placed.undo,
            local: PhantomData,
        }
    }

    /// Returns the words of the payload, for straight-line stores.
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU32] {
        // SAFETY: By the type invariant.
        unsafe { self.event.get_unchecked(self.header..) }
    }

    /// Returns the bytes of the payload.
    ///
    /// Their number is the requested one, rounded up to whole words, and at least that of
    /// the smallest event.
    #[inline(always)]
    pub fn bytes(&mut self) -> &mut [u8] {
        let words = self.words();
        // SAFETY: By the invariants of `Ring` these words belong to this reservation until
        // it is committed; `&mut self` excludes `words` and a second `bytes` meanwhile. A
        // snapshot that was copying this page when it was claimed detects the claim and
        // discards its copy.
        unsafe { sys::words_as_bytes_mut(words) }
    }

    /// Returns the time of the event.
    #[inline(always)]
    pub fn ts(&self) -> u64 {
        self.undo.ts
    }

    /// Commits the event: it becomes readable once this writer and those it interrupted are
    /// done.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn commit(self) {
        let ring = self.ring;
        mem::forget(self);
        ring.leave();
    }

    /// Discards the event: readers do not see it, and it counts as neither recorded nor
    /// lost.
    ///
    /// Context: any.
    pub fn discard(self) {
        drop(self);
    }

    #[cold]
    #[inline(never)]
    fn take_back(&self) {
        let undo = &self.undo;
        let hot = &self.ring.hot.0;
        let (before, after) = (Position(undo.before), Position(undo.after));
        // The first event of a sub-buffer stays: going back over the boundary would make
        // writers cross it twice.
        let undone = undo.whole
            && !before.crossed(after)
            && before.offset() != HEADER_WORDS
            && hot.state.compare_exchange(undo.after, undo.before);
        if undone {
            // An interrupt may have recorded another event since.
            hot.last.store_relaxed(undo.last | UNSURE);
        } else {
            layout::put_discarded(self.event, undo.ts);
            self.ring.count_discarded(after.seq());
        }
    }
}

/// Returns the words of the header of an event of that size.
#[inline(always)]
fn header_of<const LEAST: usize, Z: EventSize<LEAST>>(_size: &Z) -> usize {
    Z::HEADER
}

/// Room for one event of an outermost writer that stayed on its sub-buffer.
///
/// The event cannot be discarded: dropping this publishes it too.
///
/// # Invariants
///
/// As for [`Reservation`], of the event behind its header; the payload has at least `LEAST`
/// words, and at least three.
pub struct FastReservation<'r, S: Storage, const LEAST: usize> {
    ring: &'r Ring<S>,
    payload: &'r [AtomicU32],
    /// The position behind the event.
    after: u64,
    ts: u64,
    local: PhantomData<*const ()>,
}

impl<'r, S: Storage, const LEAST: usize> FastReservation<'r, S, LEAST> {
    /// Returns the words of the payload.
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU32] {
        self.payload
    }

    /// Returns the time of the event.
    #[inline(always)]
    pub fn ts(&self) -> u64 {
        self.ts
    }

    /// Returns the payload, for writing.
    #[inline(always)]
    pub fn payload(&mut self) -> Payload<'_, LEAST> {
        // INVARIANT: By the invariants of `FastReservation` and `Ring`; `&mut self` excludes
        // `words` and a second `payload` meanwhile.
        Payload(self.words())
    }

    /// Returns the bytes of the payload, as [`Reservation::bytes`].
    #[inline(always)]
    pub fn bytes(&mut self) -> &mut [u8] {
        self.payload().into_bytes()
    }

    /// Makes the event readable. Returns the duty to publish events of interrupts, if there are
    /// any.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn publish(self) -> Option<Unpublished<'r, S>> {
        let (ring, after) = (self.ring, self.after);
        mem::forget(self);
        let done = ring.leave_fast(after);
        (!done).then(|| Unpublished::new(ring))
    }
}

/// The payload of an event that is being recorded.
///
/// # Invariants
///
/// The words belong to a reservation, as [`Reservation::bytes`] says; no other context has
/// them as long as this lives. There are at least `LEAST`.
pub struct Payload<'a, const LEAST: usize>(&'a [AtomicU32]);

impl<'a, const LEAST: usize> Payload<'a, LEAST> {
    /// Returns the payload as bytes.
    #[inline(always)]
    pub fn into_bytes(self) -> &'a mut [u8] {
        // SAFETY: By the type invariant. A snapshot may read them, as it may read a
        // `Reservation`.
        unsafe { sys::words_as_bytes_mut(self.0) }
    }

    /// Returns the payload as bytes.
    #[inline(always)]
    pub fn bytes(&mut self) -> &mut [u8] {
        // INVARIANT: `&mut self` excludes other users meanwhile.
        Self(self.0).into_bytes()
    }

    /// Returns the first `LEAST` words.
    #[inline(always)]
    pub fn start(&mut self) -> &mut [u32; LEAST] {
        let bytes = self.bytes().as_mut_ptr();
        // SAFETY: By the type invariant there are that many words, which are aligned; they
        // are borrowed as `bytes` is.
        unsafe { &mut *bytes.cast() }
    }
}

impl<S: Storage, const LEAST: usize> Drop for FastReservation<'_, S, LEAST> {
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
