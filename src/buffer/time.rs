// SPDX-License-Identifier: GPL-2.0

//! The time by the clock of the events.

use crate::{
    engine::util::clock::ClockReading,
    kapi::clock::{self, Clock, Comparison},
};
use core::sync::atomic::{AtomicU64, AtomicU8, Ordering};

/// Converts `compared` to the engine's type.
pub(crate) fn reading(compared: Comparison) -> ClockReading {
    ClockReading {
        before: compared.before,
        counter: compared.counter,
        after: compared.after,
    }
}

/// Returns the time by `clock`, correct even if the counter has jumped and was not checked since.
///
/// Context: process.
pub(crate) fn now_by(clock: Clock) -> u64 {
    let compared = match clock {
        Clock::Local => clock::compare(),
        _ => None,
    };
    compared.map_or_else(|| clock.now(), |compared| reading(compared).time())
}

/// When a buffer was last emptied, and by which clock.
///
/// A snapshot keeps the times of the clock that it was taken with; times of different clocks are
/// not compared.
pub(crate) struct Cleared {
    at: AtomicU64,
    /// The clock, as a `u8`.
    by: AtomicU8,
}

impl Cleared {
    /// Notes time 0 of the default clock.
    pub(crate) const fn new() -> Self {
        Self {
            at: AtomicU64::new(0),
            // CAST: There are a few clocks.
            by: AtomicU8::new(Clock::Local as u8),
        }
    }

    /// Notes the time of `clock`.
    ///
    /// Context: process.
    pub(crate) fn note(&self, clock: Clock) {
        self.at.store(clock.now(), Ordering::Relaxed);
        // CAST: As above.
        self.by.store(clock as u8, Ordering::Relaxed);
    }

    /// Returns the time by `clock`, or 0 if it was noted by another clock.
    pub(crate) fn by(&self, clock: Clock) -> u64 {
        // CAST: As above.
        match self.by.load(Ordering::Relaxed) == clock as u8 {
            true => self.at.load(Ordering::Relaxed),
            false => 0,
        }
    }
}
