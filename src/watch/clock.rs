// SPDX-License-Identifier: GPL-2.0

//! Checks the clock `local` once a second while probes are armed.
//!
//! A hit also compares the counter with the kernel's clock if the previous event is long ago. So
//! this check finds differences that were small at each hit, or that slow hits down.

use crate::{
    kapi::work::{self, Delayed},
    tracer::Tracer,
};
use kernel::{prelude::*, sync::Arc};

/// Milliseconds between two checks.
const INTERVAL: u32 = 1000;

/// Checks the counter while probes are armed. Must not be dropped with the registry lock
/// or the locks that precede it held.
pub(crate) struct Looks(Arc<Delayed<LookAtClock>>);

impl Looks {
    /// Makes checks that have not started.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(tracer: &Arc<Tracer>) -> Result<Self> {
        Ok(Self(Delayed::new(LookAtClock(tracer.clone()))?))
    }

    /// Starts the checks unless they are running. The first is immediate, because the clock was not
    /// checked while no probe was armed.
    ///
    /// Context: process.
    pub(crate) fn start(&self) {
        self.0.start(0);
    }
}

/// One check.
struct LookAtClock(Arc<Tracer>);

impl work::RunDelayed for LookAtClock {
    fn run(&self) -> Option<u32> {
        let tracer = &self.0;
        let buffers = || tracer.registry.lock().instances.buffers();
        tracer
            .local_clock
            .look(|each| buffers()?.iter().try_for_each(|(buffer, _)| each(buffer)));
        let registry = self.0.registry.lock();
        registry.definitions.is_any_armed().then_some(INTERVAL)
    }
}
