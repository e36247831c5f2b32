// SPDX-License-Identifier: GPL-2.0

//! The rings of all CPUs, each accessible on its CPU.

use core::ops::Deref;

use super::clock::{FastClock, RingClock};
use super::layout::EventSize;
use super::lost::Lost;
use super::note::{Note, Task};
use super::state::{Ring, Storage};
use super::unpublished::Unpublished;
use super::writer::{Payload, Writer};
use crate::sys::{AllocError, Arc, OnCpu, PerCpu};

/// A ring with the clock of its timestamps. A reference may outlive the ring's use by
/// writers.
pub struct Shared<S, C>(Arc<Clocked<S, C>>);

/// The two are close together because writers need both.
struct Clocked<S, C> {
    ring: Ring<S>,
    clock: C,
}

impl<S, C> Shared<S, C> {
    /// Pairs `ring` with `clock`, which gives its timestamps.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn new(ring: Ring<S>, clock: C) -> Result<Self, AllocError> {
        Ok(Self(Arc::new(Clocked { ring, clock })?))
    }

    /// Returns the clock of its timestamps.
    pub fn clock(&self) -> &C {
        &self.0.clock
    }
}

impl<S, C> Clone for Shared<S, C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S, C> Deref for Shared<S, C> {
    type Target = Ring<S>;

    #[inline(always)]
    fn deref(&self) -> &Ring<S> {
        &self.0.ring
    }
}

/// A ring for each CPU.
///
/// # Invariants
///
/// The ring of each CPU was created for that CPU.
pub struct Rings<S: Send + Sync, C: Send + Sync>(PerCpu<Shared<S, C>>);

impl<S: Storage + Send + Sync, C: Send + Sync> Rings<S, C> {
    /// Returns the rings of all CPUs, or `None` if one was created for another CPU.
    pub fn new(each: PerCpu<Shared<S, C>>) -> Option<Self> {
        let own = each.iter().all(|(cpu, ring)| ring.cpu() == cpu);
        // INVARIANT: Checked above.
        own.then_some(Self(each))
    }

    /// Returns the ring of the CPU that the caller stays on, for writing, and its clock.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn local<'a>(&'a self, here: &'a OnCpu) -> (Local<'a, S>, &'a C) {
        let Clocked { ring, clock } = &*self.0.this_cpu(here).0;
        // SAFETY: By the type invariant this is the ring of the CPU on which the proof
        // keeps the caller. Only that CPU gets a writer of it in this way. `Local` ends
        // each reservation in the call that begins it, so reservations nest as calls and
        // interrupts do.
        (Local(unsafe { ring.writer() }), clock)
    }

    /// Returns the rings, in the order of their CPUs.
    pub fn iter(&self) -> impl Iterator<Item = &Shared<S, C>> {
        self.0.iter().map(|(_, ring)| ring)
    }

    /// Returns the ring of `cpu`, if it has one.
    pub fn of(&self, cpu: u32) -> Option<&Shared<S, C>> {
        self.0.get(cpu)
    }
}

/// The ring of a CPU, for a writer that stays on the CPU.
///
/// An event is reserved, filled by the caller and committed in one call. So events recorded
/// meanwhile, by an interrupt, are complete before that call returns.
pub struct Local<'a, S>(Writer<'a, S>);

/// Writes the payload of an event.
///
/// A trait and not a closure, because the compiler does not inline every closure.
pub trait Fill<const LEAST: usize> {
    /// Writes `payload`, in any context.
    fn fill(self, payload: Payload<'_, LEAST>);
}

/// The result of [`Local::record_fast`]: in both cases, the duty to publish events of interrupts.
pub type RecordedFast<'a, S> = Result<Option<Unpublished<'a, S>>, Option<Unpublished<'a, S>>>;

impl<'a, S: Storage> Local<'a, S> {
    /// See [`Writer::max_payload`].
    #[inline(always)]
    pub fn max_payload(&self) -> usize {
        self.0.max_payload()
    }

    /// Records an event by [`Writer::reserve`], whose payload `fill` writes. If the ring is closed,
    /// records it in the ring that `successor` returns, which replaces it on this CPU; see
    /// [`Ring::close`](super::Ring::close).
    ///
    /// # Errors
    ///
    /// See [`Lost`]; `fill` is then not called.
    #[inline(always)]
    pub fn record<R, C: RingClock>(
        self,
        len: usize,
        note: Note,
        clock: C,
        successor: impl FnOnce() -> Option<(Self, C)>,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, Lost> {
        let mut reserved = match self.0.reserve(len, note, clock) {
            Ok(reserved) => reserved,
            Err(Lost::Closed) => {
                let (next, clock) = successor().ok_or(Lost::Closed)?;
                next.0.reserve_slow(len, note, clock)?
            }
            Err(lost) => return Err(lost),
        };
        let result = fill(reserved.bytes());
        reserved.commit();
        Ok(result)
    }

    /// Records an event by [`Writer::reserve_fast`], whose payload `fill` writes. Returns the duty
    /// to publish events of interrupts, if there are any.
    ///
    /// # Errors
    ///
    /// The event was not recorded, and `fill` not called. Returns the same duty.
    #[inline(always)]
    pub fn record_fast<const LEAST: usize>(
        self,
        size: &impl EventSize<LEAST>,
        task: &impl Task,
        clock: impl FastClock,
        fill: impl Fill<LEAST>,
    ) -> RecordedFast<'a, S> {
        let mut reserved = self.0.reserve_fast(size, task, clock)?;
        fill.fill(reserved.payload());
        Ok(reserved.publish())
    }
}
