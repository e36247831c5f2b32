// SPDX-License-Identifier: GPL-2.0

//! Verifies the processor's counter as a clock, by comparison with the kernel's clock.
//!
//! The counter may be reset while the machine sleeps or while a virtual machine migrates;
//! the kernel then corrects its own clock, or marks the counter as unusable. Times are
//! nanoseconds, modulo 2^64.

/// Largest difference in nanoseconds between the time by the counter and the kernel's time.
/// The factors of the two differ by their rounding, which is at most a millisecond per
/// hour.
pub const TOLERANCE: u64 = 10_000_000;

/// Readings of the counter, and of the kernel's clock before and after it. An interrupt, or another
/// virtual machine, may take any time in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The kernel's time before.
    pub before: u64,
    /// The time by the counter.
    pub counter: u64,
    /// The kernel's time after.
    pub after: u64,
}

impl ClockReading {
    /// Returns whether the counter agrees with the kernel's time.
    pub fn agrees(&self) -> bool {
        // If the kernel's clock went back meanwhile, the comparison fails.
        let took = self.after.wrapping_sub(self.before);
        let since = self
            .counter
            .wrapping_sub(self.before.wrapping_sub(TOLERANCE));
        took < 1 << 63 && since <= took.saturating_add(2 * TOLERANCE)
    }

    /// Returns the time: by the counter if that agrees, otherwise the kernel's.
    pub fn time(&self) -> u64 {
        if self.agrees() {
            self.counter
        } else {
            self.after
        }
    }
}

/// The decision about the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockVerdict {
    /// No change.
    Keep,
    /// Align the counter: use this frequency, in hertz, and take the kernel's time again.
    Align(u64),
    /// Use the kernel's clock.
    Leave,
}

/// Decides by checks of the counter that are at least a second apart.
///
/// A counter that was reset is aligned. A counter that must be aligned repeatedly has
/// another frequency than the known one, and is no longer used.
#[derive(Clone, Debug)]
pub struct Judge {
    /// The counter's frequency in use; 0 if the kernel's clock is used.
    hertz: u64,
    /// Grows with each check that finds a disagreement, and shrinks with each other check.
    doubt: u32,
    /// Whether aligning the counter has failed.
    given_up: bool,
}

impl Judge {
    /// Doubt added by a disagreement; a check without one subtracts 1.
    const STRIKE: u32 = 16;
    /// The largest doubt with which the counter is still aligned: three strikes.
    const MOST: u32 = 3 * Self::STRIKE;

    /// Creates the judge of a counter with a frequency of `hertz`, 0 if it is not used.
    pub const fn new(hertz: u64) -> Self {
        Self {
            hertz,
            doubt: 0,
            given_up: false,
        }
    }

    /// Checks the counter. `hertz` is its frequency by the kernel, 0 if it is unusable. `reading`
    /// is present if the counter is in use.
    pub fn look(&mut self, hertz: u64, reading: Option<ClockReading>) -> ClockVerdict {
        if hertz == 0 || self.given_up {
            let was_used = self.hertz != 0;
            self.hertz = 0;
            return if was_used {
                ClockVerdict::Leave
            } else {
                ClockVerdict::Keep
            };
        }
        if self.hertz != hertz {
            self.hertz = hertz;
            return ClockVerdict::Align(hertz);
        }
        if reading.is_some_and(|reading| reading.agrees()) {
            self.doubt = self.doubt.saturating_sub(1);
            return ClockVerdict::Keep;
        }
        self.doubt = self.doubt.saturating_add(Self::STRIKE);
        if self.doubt > Self::MOST {
            self.given_up = true;
            self.hertz = 0;
            return ClockVerdict::Leave;
        }
        ClockVerdict::Align(hertz)
    }

    /// Clears all doubt, after the machine slept: resuming may have reset the counter.
    pub fn forget(&mut self) {
        self.doubt = 0;
        self.given_up = false;
    }

    /// Returns whether the counter is used.
    pub fn uses_counter(&self) -> bool {
        self.hertz != 0
    }
}
