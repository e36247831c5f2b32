// SPDX-License-Identifier: GPL-2.0

//! The clocks of reservations.

/// A clock for reservations.
///
/// A trait and not a closure type, because implementations can request inlining.
pub trait RingClock {
    /// Returns the time, of at most 62 bits; should not go back.
    fn now(&self) -> u64;

    /// Verifies `now`, a result of [`RingClock::now`] that is before the last event's time or long
    /// after it. An unreliable clock is compared with another one here. Returns the correct time.
    fn verified(&self, now: u64) -> u64 {
        now
    }
}

/// A clock that usually takes few instructions.
///
/// Separate from [`RingClock`], so that the fast path makes no call.
pub trait FastClock {
    /// Returns the time like [`RingClock::now`]; `None` if the caller must use that.
    fn now(&self) -> Option<u64>;
}

/// A clock that can always tell the time quickly.
pub struct Always<C>(pub C);

impl<C: RingClock> FastClock for Always<C> {
    #[inline(always)]
    fn now(&self) -> Option<u64> {
        Some(self.0.now())
    }
}

impl<F: Fn() -> u64> RingClock for F {
    #[inline(always)]
    fn now(&self) -> u64 {
        self()
    }
}
