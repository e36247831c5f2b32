// SPDX-License-Identifier: GPL-2.0

//! The memory of modules that went: what was recorded in an instance before it got other code.

use crate::{
    buffer::now_by,
    engine::util::reused::{Reused, TimeSpan},
    kapi::clock::Clock,
    sys::{AtomicU64, Vec},
};
use core::ops::Range;
use kernel::{prelude::*, sync::Arc};

/// What records and histograms of an instance may mean by an address in a module.
///
/// A record has a time. An entry of a histogram has none: of it only is known that it is not older
/// than its histogram, so there the time is the number of ranges that had gone.
pub(crate) struct FormerCode {
    /// For each clock, by its number: a snapshot keeps the times of the clock by which it was taken,
    /// whatever clocks the buffer had since.
    of_records: Vec<Reused>,
    /// By the clock `local`, of which the beginnings of pairs have their times.
    of_beginnings: Reused,
    of_histograms: Reused,
    /// The number of ranges that went.
    gone: AtomicU64,
}

impl FormerCode {
    /// Returns one of an instance that has recorded nothing.
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

    /// Notes that code has come to `range`, of which nothing has run yet, so nothing that was
    /// recorded was of that code. Called with the registry lock held.
    ///
    /// Context: process.
    pub(crate) fn coming(&self, range: Range<u64>) {
        // What is recorded in the same tick of a clock may be of it.
        self.mark_records(&range, |now| now.saturating_sub(1));
        let until = now_by(Clock::Local).saturating_sub(1);
        self.of_beginnings.mark(range, until);
    }

    /// Notes that the code at `range`, which no longer runs, goes. Called with the registry lock
    /// held.
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

    /// Marks `range` by each clock, until the time that `until` makes of the time now.
    fn mark_records(&self, range: &Range<u64>, until: impl Fn(u64) -> u64) {
        for (&clock, of_records) in Clock::ALL.iter().zip(&self.of_records) {
            of_records.mark(range.clone(), until(now_by(clock)));
        }
    }

    /// Returns what a histogram that begins now has to keep.
    pub(crate) fn gone(&self) -> u64 {
        self.gone.load_relaxed()
    }

    /// Returns whether a record of the time `ts` by `clock` does not mean by `address`, which is in a
    /// module, what is there now. Called once the name is known that it has now.
    ///
    /// Context: any.
    pub(crate) fn in_record(&self, (clock, ts): (Clock, u64), address: u64) -> bool {
        let of_records = self.of_records.get(clock as usize);
        of_records.is_none_or(|it| it.is_other(address, ts))
    }

    /// As [`FormerCode::in_record`], of the beginning of a pair at `time`.
    pub(crate) fn in_beginning(&self, time: u64, address: u64) -> bool {
        self.of_beginnings.is_other(address, time)
    }

    /// As [`FormerCode::in_record`], of an entry of a histogram that has begun when
    /// [`FormerCode::gone`] was `since`.
    pub(crate) fn in_histogram(&self, since: u64, address: u64) -> bool {
        self.of_histograms.is_other(address, since)
    }

    /// Returns whether addresses have the same names in a record of the time `ts` by `clock` as in
    /// those of `span`, which is otherwise replaced by that of this record.
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
