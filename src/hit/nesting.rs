// SPDX-License-Identifier: GPL-2.0

//! [`Nesting`]: events that cause each other on one CPU, and the memory that they need meanwhile.
//!
//! The stack has not much room, so what a hit keeps while it causes another one is here.
//!
//! Context: any, with preemption disabled, but for what says otherwise.

use crate::{
    engine::{
        hist::{InterEventRoom, TEXT_ROOM},
        program::fetch::MAX_TEXTS,
    },
    kapi::{
        context::OnCpu,
        percpu::{self, PerCpu},
        scratch::{self, Scratch},
        stack_room,
    },
};
use core::sync::atomic::{AtomicU32, Ordering};
use kernel::{prelude::*, sync::Arc};

/// Maximum number of events that cause each other on one CPU: an action may lead back to its own
/// event.
const MAX_NESTED: usize = 4;

/// Maximum number of histogram hits in progress on one CPU: in each context one that causes no
/// other event, and all that do.
const MOST_INTER_EVENT: usize = MAX_NESTED + scratch::CONTEXTS;

/// Copies of the texts of one hit, for the events that it causes.
pub(super) type SentTexts = [[u8; TEXT_ROOM]; MAX_TEXTS];

/// Limits how deeply events cause each other on one CPU, and lends them memory.
#[pin_data]
pub(crate) struct Nesting {
    /// The current depth on each CPU.
    depth: PerCpu<AtomicU32>,
    #[pin]
    texts: Scratch<SentTexts, MAX_NESTED>,
    #[pin]
    rooms: Scratch<InterEventRoom, MOST_INTER_EVENT>,
}

impl Nesting {
    /// Allocates the memory; no event causes another one yet.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn new() -> Result<Arc<Self>> {
        stack_room::prepare();
        let depth = PerCpu::new(|_| Ok(AtomicU32::new(0)))?;
        let (texts, rooms) = (Scratch::new()?, Scratch::new()?);
        let nesting = pin_init!(Self {
            depth,
            texts <- texts,
            rooms <- rooms,
        });
        Arc::pin_init(nesting, GFP_KERNEL)
    }

    /// Gives the CPUs that are online now the memory that they lack.
    ///
    /// # Errors
    ///
    /// The errors of [`Scratch::fill`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn give_to_arrived(&self) -> Result {
        for cpu in percpu::possible_cpus().filter(|&cpu| percpu::is_online(cpu)) {
            self.texts.fill(cpu)?;
            self.rooms.fill(cpu)?;
        }
        Ok(())
    }

    /// Lets an event cause another one; returns `None` if too many do, or if the stack has not
    /// enough room for one more.
    #[inline(always)]
    pub(super) fn enter<'a>(&'a self, here: &'a OnCpu) -> Option<Nested<'a>> {
        let depth = self.depth.this_cpu(here);
        let before = depth.load(Ordering::Relaxed);
        // CAST: Few.
        if before >= MAX_NESTED as u32 || !stack_room::suffices() {
            return None;
        }
        // What interrupts it leaves it as it was.
        depth.store(before.wrapping_add(1), Ordering::Relaxed);
        Some(Nested { depth, before })
    }

    /// Lends `work` memory for the texts of an event that another one causes; returns `None` if
    /// there is none.
    #[inline(always)]
    pub(super) fn with_texts<R>(
        &self,
        here: &OnCpu,
        work: impl FnOnce(&mut SentTexts) -> R,
    ) -> Option<R> {
        self.texts.with(here, work)
    }

    /// Lends `work` memory for the hit of a histogram; returns `None` if there is none.
    #[inline(always)]
    pub(super) fn with_room<R>(
        &self,
        here: &OnCpu,
        work: impl FnOnce(&mut InterEventRoom) -> R,
    ) -> Option<R> {
        self.rooms.with(here, work)
    }
}

/// A caused event that is being served, until [`leave`](Self::leave) is called.
pub(super) struct Nested<'a> {
    depth: &'a AtomicU32,
    before: u32,
}

impl Nested<'_> {
    #[inline(always)]
    pub(super) fn leave(self) {
        self.depth.store(self.before, Ordering::Relaxed);
    }
}
