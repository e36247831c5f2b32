// SPDX-License-Identifier: GPL-2.0

//! How the hits of a probe end: each in exactly one counter.

use crate::{
    buffer::Lost,
    kapi::{context::OnCpu, local::Counter, percpu::PerCpu},
    sys::Vec,
};
use core::sync::atomic::{AtomicU64, Ordering};
use kernel::prelude::*;

/// How a hit can end. If a hit ends differently in several instances, the variant that comes first
/// is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HitEnd {
    /// In the buffer.
    Recorded,
    /// No room in the buffer, or too deeply nested.
    LostFull,
    /// Larger than a sub-buffer.
    LostLarge,
    /// Recording was off.
    Off,
    /// The filter rejected it.
    Filtered,
    /// Nothing served it, as this CPU served another one in the same context, or too little of the
    /// stack was left.
    Missed,
}

impl HitEnd {
    /// Returns how a hit ends, given the `outcome` of its reservation.
    pub(super) fn of(outcome: Result<(), Lost>) -> Self {
        match outcome {
            Ok(()) => Self::Recorded,
            Err(Lost::Disabled) => Self::Off,
            // A closed ring is being replaced: there is no room until its successor is in place.
            Err(Lost::Full | Lost::Nested | Lost::Closed) => Self::LostFull,
            Err(Lost::TooLarge) => Self::LostLarge,
        }
    }
}

/// Variants of [`HitEnd`].
const ENDS: usize = 6;

/// How the hits of a probe ended, on each CPU.
pub(crate) struct HitCounters {
    /// For each [`HitEnd`].
    ends: PerCpu<[Counter; ENDS]>,
    /// The number of hits on each CPU at the last call of [`Self::most_since`].
    seen: Vec<AtomicU64>,
}

impl HitCounters {
    /// Counters that are all 0.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        let ends = PerCpu::new(|_| Ok(Default::default()))?;
        let mut seen = Vec::with_capacity(ends.iter().count())?;
        for _ in ends.iter() {
            seen.push(AtomicU64::new(0))?;
        }
        Ok(Self { ends, seen })
    }

    /// Counts a hit on this CPU.
    ///
    /// Context: any.
    #[inline(always)]
    pub(crate) fn count(&self, end: HitEnd, here: &OnCpu) {
        // CAST: The discriminant is a small number.
        self.ends.increment(end as usize, here);
    }

    /// The sums over all CPUs.
    pub(crate) fn totals(&self) -> Totals {
        let each = self.ends.iter().map(|(_, ends)| Totals::of(ends));
        each.fold(Totals::default(), Totals::plus)
    }

    /// Returns the number of hits since the last call on the busiest CPU. Of concurrent callers
    /// only one gets each hit.
    pub(crate) fn most_since(&self) -> u64 {
        let mut most = 0;
        for ((_, ends), seen) in self.ends.iter().zip(self.seen.iter()) {
            let hits = Totals::of(ends).hits();
            let before = seen.swap(hits, Ordering::Relaxed);
            most = hits.wrapping_sub(before).max(most);
        }
        most
    }
}

/// How the hits of a probe ended, summed over all CPUs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Totals {
    /// In the buffer, whether or not overrun since.
    pub(crate) recorded: u64,
    /// The filter rejected them.
    pub(crate) filtered: u64,
    /// While recording was off.
    pub(crate) off: u64,
    /// No room in the buffer, or too deeply nested.
    pub(crate) lost_full: u64,
    /// Larger than a sub-buffer.
    pub(crate) lost_large: u64,
    /// Not served, see [`HitEnd::Missed`].
    pub(crate) missed: u64,
}

impl Totals {
    fn of(ends: &[Counter; ENDS]) -> Self {
        let [recorded, lost_full, lost_large, off, filtered, missed] =
            ends.each_ref().map(Counter::get);
        Self {
            recorded,
            filtered,
            off,
            lost_full,
            lost_large,
            missed,
        }
    }

    /// The sums of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            recorded: self.recorded.wrapping_add(other.recorded),
            filtered: self.filtered.wrapping_add(other.filtered),
            off: self.off.wrapping_add(other.off),
            lost_full: self.lost_full.wrapping_add(other.lost_full),
            lost_large: self.lost_large.wrapping_add(other.lost_large),
            missed: self.missed.wrapping_add(other.missed),
        }
    }

    /// All hits that were served.
    pub(crate) fn hits(self) -> u64 {
        self.recorded
            .wrapping_add(self.filtered)
            .wrapping_add(self.off)
            .wrapping_add(self.lost_full)
            .wrapping_add(self.lost_large)
    }
}
