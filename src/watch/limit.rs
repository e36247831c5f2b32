// SPDX-License-Identifier: GPL-2.0

//! `hit_limit`: an event whose probe is hit too often is disabled.
//!
//! A hit does not check the limit. Once a second, while probes are armed, each CPU's hit counters
//! are compared with their values a second ago.

use crate::{
    events::registry,
    kapi::{
        clock::Clock,
        work::{self, Delayed},
    },
    tracer::Tracer,
    watch::clock::Looks,
};
use kernel::{prelude::*, sync::Arc};

/// Milliseconds between two checks of the counters.
const INTERVAL: u32 = 1000;

/// A pause lasts at least this many times as long as the check before it, so that the checks do not
/// become a load with very many probes and CPUs.
const PAUSE: u64 = 50;

/// Checks the probes, and the clock of their events, while a probe is armed. Must not be
/// dropped with the registry lock held.
pub(crate) struct LimitWatch(Arc<Delayed<Check>>, Looks);

impl LimitWatch {
    /// Makes a watch that has not started.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    #[inline(never)]
    pub(crate) fn new(tracer: &Arc<Tracer>) -> Result<Self> {
        let looks = Looks::new(tracer)?;
        Ok(Self(Delayed::new(Check(tracer.clone()))?, looks))
    }
}

impl registry::Watch for LimitWatch {
    fn start(&self) {
        self.0.start(INTERVAL);
        self.1.start();
    }
}

/// The check that runs once a second.
struct Check(Arc<Tracer>);

impl work::RunDelayed for Check {
    fn run(&self) -> Option<u32> {
        let limit = self.0.hit_limit.get();
        if limit == 0 {
            return None;
        }
        let begun = Clock::Mono.now();
        if !self.0.registry.lock().disarm_above(limit) {
            return None;
        }
        let took = Clock::Mono.now().wrapping_sub(begun);
        let pause = took.saturating_mul(PAUSE) / 1_000_000;
        Some(u32::try_from(pause).unwrap_or(u32::MAX).max(INTERVAL))
    }
}
