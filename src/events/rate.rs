// SPDX-License-Identifier: GPL-2.0

//! The rate of a probe's hits, and its limit.

use crate::kapi::clock::Clock;
use core::sync::atomic::{AtomicU64, Ordering};

/// Nanoseconds per second.
const SECOND: u64 = 1_000_000_000;

/// The weight of a hit by a breakpoint, relative to a hit by a call or a jump.
///
/// The kernel's documentation states 0.06 microseconds for an optimised probe, 0.43 for
/// one by a breakpoint, and 0.99 if the instruction is single-stepped.
const BREAKPOINT: u64 = 8;

/// The limit in hits per second on one CPU; 0 is no limit.
pub(crate) struct HitLimit(AtomicU64);

impl HitLimit {
    /// Makes a limit of `hits` per second.
    pub(crate) fn new(hits: u64) -> Self {
        Self(AtomicU64::new(hits))
    }

    /// Returns the limit.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the limit. The caller then starts the watch.
    pub(crate) fn set(&self, hits: u64) {
        self.0.store(hits, Ordering::Relaxed);
    }
}

/// The state of a probe's counters when they were last checked.
#[derive(Default)]
pub(crate) struct SeenCounters {
    at: AtomicU64,
    missed: AtomicU64,
}

/// Hits per second on the busiest CPU.
#[derive(Clone, Copy)]
pub(crate) struct Rate {
    /// Unweighted.
    pub(crate) hits: u64,
    /// Weighted, to compare with the limit.
    pub(crate) weighted: u64,
}

impl SeenCounters {
    /// Starts counting; `missed` hits were missed on all CPUs so far.
    pub(crate) fn begin(&self, missed: u64) {
        self.at.store(Clock::Mono.now(), Ordering::Relaxed);
        self.missed.store(missed, Ordering::Relaxed);
    }

    /// Returns whether about a second has passed since the last check.
    pub(crate) fn is_due(&self) -> bool {
        let since = Clock::Mono
            .now()
            .wrapping_sub(self.at.load(Ordering::Relaxed));
        since >= SECOND / 10 * 9
    }

    /// Returns the rate since the last check. The busiest CPU had `hits` since then; `missed` were
    /// missed on all `cpus` CPUs so far.
    pub(crate) fn look(&self, hits: u64, missed: u64, cpus: u64, by_breakpoint: bool) -> Rate {
        let now = Clock::Mono.now();
        let since = now.wrapping_sub(self.at.swap(now, Ordering::Relaxed));
        let missed = missed.wrapping_sub(self.missed.swap(missed, Ordering::Relaxed));
        // The kernel counts misses for all CPUs together. Assume that they are spread evenly.
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
