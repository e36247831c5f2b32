// SPDX-License-Identifier: GPL-2.0

//! The rings of all CPUs, each where its CPU finds it.

use core::ops::Deref;

use super::{Ring, Storage, Writer};
use crate::sys::{AllocError, Arc, OnCpu, PerCpu};

/// A ring, with the clock that tells its times. It may be held longer than it is
/// written to.
pub struct Shared<S, C>(Arc<Clocked<S, C>>);

/// The two close together: writers need both.
struct Clocked<S, C> {
    ring: Ring<S>,
    clock: C,
}

impl<S, C> Shared<S, C> {
    /// `ring`, whose times are to be those of `clock`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn new(ring: Ring<S>, clock: C) -> Result<Self, AllocError> {
        Ok(Self(Arc::new(Clocked { ring, clock })?))
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
/// Each CPU's is one of that CPU.
pub struct Rings<S: Send + Sync, C: Send + Sync>(PerCpu<Shared<S, C>>);

impl<S: Storage + Send + Sync, C: Send + Sync> Rings<S, C> {
    /// The rings that `each` CPU has; `None` if one is that of another.
    pub fn new(each: PerCpu<Shared<S, C>>) -> Option<Self> {
        let own = each.iter().all(|(cpu, ring)| ring.cpu() == cpu);
        // INVARIANT: Looked at above.
        own.then_some(Self(each))
    }

    /// The right to write to the ring of the CPU that the caller stays on, and the
    /// ring's clock.
    ///
    /// Runs in any context.
    #[inline(always)]
    pub fn writer<'a>(&'a self, here: &'a OnCpu) -> (Writer<'a, S>, &'a C) {
        let Clocked { ring, clock } = &*self.0.this_cpu(here).0;
        // SAFETY: By the type invariant a ring of the CPU on which the proof keeps
        // the caller. Only that CPU gets a writer of it in this way.
        (unsafe { ring.writer() }, clock)
    }

    /// The rings, in the order of their CPUs.
    pub fn iter(&self) -> impl Iterator<Item = &Shared<S, C>> {
        self.0.iter().map(|(_, ring)| ring)
    }

    /// The ring of `cpu`, if it has one.
    pub fn of(&self, cpu: u32) -> Option<&Shared<S, C>> {
        self.0.get(cpu)
    }
}
