// SPDX-License-Identifier: GPL-2.0

//! Code of modules that were unloaded: which recorded addresses belong to it.

use crate::{
    buffer::now_by,
    engine::util::reused::{Reused, TimeSpan},
    kapi::clock::Clock,
    sys::{AtomicU64, Vec},
};
use core::ops::Range;
use kernel::{prelude::*, sync::Arc};

/// Tells whether an address in a record or a histogram belongs to code that has been unloaded.
///
/// Records are compared by time. An entry of a histogram has no time, but is not older than its
/// histogram; so for histograms the "time" is the number of ranges unloaded so far.
pub(crate) struct FormerCode {
    /// For records, by clock number. A snapshot keeps the times of the clock that it was taken
    /// with, even if the buffer has used other clocks since.
    of_records: Vec<Reused>,
    /// For beginnings of pairs, whose times come from the clock `local`.
    of_beginnings: Reused,
    of_histograms: Reused,
    /// The number of ranges unloaded so far.
    gone: AtomicU64,
}

impl FormerCode {
    /// Makes it for an instance without records.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let mut of_records = Vec::new();
        for &clock in Clock::ALL {
            of_records.push(Reused::new(tag(clock))?)?;
        }
        let this = Self {
            of_records,
            of_beginnings: Reused::new(0)?,
            of_histograms: Reused::new(0)?,
            gone: AtomicU64::new(0),
        };
        Ok(Arc::new(this, GFP_KERNEL)?)
    }

    /// Notes new code at `range`. None of it has run yet, so no record means it. Called with the
    /// registry lock held.
    ///
    /// Context: process.
    pub(crate) fn coming(&self, range: Range<u64>) {
        // A record within the current tick of a clock may already mean the new code.
        self.mark_records(&range, |now| now.saturating_sub(1));
        let until = now_by(Clock::Local).saturating_sub(1);
        self.of_beginnings.mark(range, until);
    }

    /// Notes that the code at `range`, which no longer runs, is unloaded. Called with the registry
    /// lock held.
    ///
    /// Context: process.
    pub(crate) fn going(&self, range: Range<u64>) {
        self.mark_records(&range, |now| now);
        let until = now_by(Clock::Local);
        self.of_beginnings.mark(range.clone(), until);
        let gone = self.gone.load_relaxed();
        self.of_histograms.mark(range, gone);
        self.gone.store_relaxed(gone.wrapping_add(1));
    }

    /// Marks `range` for each clock, up to the time that `until` computes from the current time.
    fn mark_records(&self, range: &Range<u64>, until: impl Fn(u64) -> u64) {
        for (&clock, of_records) in Clock::ALL.iter().zip(&self.of_records) {
            of_records.mark(range.clone(), until(now_by(clock)));
        }
    }

    /// Returns the value that a new histogram keeps for [`FormerCode::in_histogram`].
    pub(crate) fn gone(&self) -> u64 {
        self.gone.load_relaxed()
    }

    /// Returns whether `address`, in a module, means unloaded code in a record of the time `ts` by
    /// `clock`. Look up the current name of the address first.
    ///
    /// Context: any.
    pub(crate) fn in_record(&self, (clock, ts): (Clock, u64), address: u64) -> bool {
        let of_records = self.of_records.get(clock as usize);
        of_records.is_none_or(|it| it.is_other(address, ts))
    }

    /// [`FormerCode::in_record`] for the beginning of a pair at `time`.
    pub(crate) fn in_beginning(&self, time: u64, address: u64) -> bool {
        self.of_beginnings.is_other(address, time)
    }

    /// [`FormerCode::in_record`] for an entry of a histogram that began when [`FormerCode::gone`]
    /// returned `since`.
    pub(crate) fn in_histogram(&self, since: u64, address: u64) -> bool {
        self.of_histograms.is_other(address, since)
    }

    /// Returns whether the names of addresses in records of `span` are valid for a record of the
    /// time `ts` by `clock`; otherwise replaces `span` by the span of this record.
    ///
    /// Context: any.
    #[inline]
    pub(crate) fn is_in(&self, span: &mut TimeSpan, (clock, ts): (Clock, u64)) -> bool {
        let Some(of_records) = self.of_records.get(clock as usize) else {
            return false;
        };
        let is_in = of_records.is_in(span, ts);
        if !is_in {
            *span = of_records.span(ts);
        }
        is_in
    }
}

/// The number of a clock.
fn tag(clock: Clock) -> u64 {
    // CAST: The number of a variant.
    clock as u64
}
