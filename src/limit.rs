// SPDX-License-Identifier: GPL-2.0

//! `hit_limit`: a probe that is hit too often is disarmed.
//!
//! On the way of a hit nothing looks at the limit. Once a second, as long as
//! probes are armed, the counters of their hits are compared with what they were
//! a second ago, on each CPU.

use crate::{
    kapi::{
        clock::Clock,
        work::{self, Delayed},
    },
    tracer::Tracer,
};
use core::sync::atomic::{AtomicU64, Ordering};
use kernel::{prelude::*, sync::Arc};

/// Milliseconds between two looks at the counters.
const INTERVAL: u32 = 1000;

/// A look of some time is followed by a pause of at least as many times that: with
/// very many probes and CPUs looking must not be a load itself.
const PAUSE: u64 = 50;

/// In nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// How many hits by a call or a jump cost as much as one by a breakpoint.
///
/// The kernel's documentation has 0.06 microseconds for an optimised probe, 0.43
/// for one by a breakpoint, and 0.99 where the instruction is single-stepped.
const BREAKPOINT: u64 = 8;

/// Hits a second on one CPU, 0 for any number.
pub(crate) struct HitLimit(AtomicU64);

impl HitLimit {
    /// A limit of `hits` a second.
    pub(crate) fn new(hits: u64) -> Self {
        Self(AtomicU64::new(hits))
    }

    /// The limit.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the limit; the caller then starts the [`Watch`].
    pub(crate) fn set(&self, hits: u64) {
        self.0.store(hits, Ordering::Relaxed);
    }
}

/// What was counted of a probe when it was last looked at.
#[derive(Default)]
pub(crate) struct Seen {
    at: AtomicU64,
    missed: AtomicU64,
}

/// How often a probe was hit, a second and CPU.
#[derive(Clone, Copy)]
pub(crate) struct Rate {
    /// Hits on the CPU with the most of them, each of them once.
    pub(crate) hits: u64,
    /// The same as the limit counts them.
    pub(crate) weighted: u64,
}

impl Seen {
    /// Notes that counting begins: `missed` were missed on all CPUs so far.
    pub(crate) fn begin(&self, missed: u64) {
        self.at.store(Clock::Mono.now(), Ordering::Relaxed);
        self.missed.store(missed, Ordering::Relaxed);
    }

    /// Whether it is a second since the last look, or nearly so.
    pub(crate) fn is_due(&self) -> bool {
        let since = Clock::Mono
            .now()
            .wrapping_sub(self.at.load(Ordering::Relaxed));
        since >= SECOND / 10 * 9
    }

    /// Looks: the CPU with the most hits has had `hits` of them since the last
    /// look, `missed` were missed on all CPUs so far, of which there are `cpus`.
    pub(crate) fn look(&self, hits: u64, missed: u64, cpus: u64, by_breakpoint: bool) -> Rate {
        let now = Clock::Mono.now();
        let since = now.wrapping_sub(self.at.swap(now, Ordering::Relaxed));
        let missed = missed.wrapping_sub(self.missed.swap(missed, Ordering::Relaxed));
        // Which CPU missed them is not known.
        let hits = hits.saturating_add(missed.checked_div(cpus).unwrap_or(0));
        let hits = hits
            .saturating_mul(SECOND / 1000)
            .checked_div(since / 1000)
            .unwrap_or(0);
        let weight = if by_breakpoint { BREAKPOINT } else { 1 };
        Rate {
            hits,
            weighted: hits.saturating_mul(weight),
        }
    }
}

/// Looks at the probes, as long as there is one that is armed. It must not be
/// dropped by who holds the registry.
pub(crate) struct Watch(Arc<Delayed<Check>>);

impl Watch {
    /// A watch that does not look yet.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(tracer: &Arc<Tracer>) -> Result<Self> {
        Ok(Self(Delayed::new(Check(tracer.clone()))?))
    }

    /// Begins to look, if it does not.
    ///
    /// Context: process.
    pub(crate) fn start(&self) {
        self.0.start(INTERVAL);
    }
}

/// What is done once a second.
struct Check(Arc<Tracer>);

impl work::Handler for Check {
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
