// SPDX-License-Identifier: GPL-2.0

//! Where a reservation gets its time from.

/// Tells the time to a reservation.
///
/// A trait of its own besides functions, because its implementation can request inlining.
pub trait RingClock {
    /// Returns the time, of at most 62 bits; should not go back.
    fn now(&self) -> u64;

    /// Verifies `now`, a result of [`RingClock::now`] that is before the last event's time or
    /// long after it. A clock that can be wrong is compared with another one here. Returns
    /// the correct time.
    fn verified(&self, now: u64) -> u64 {
        now
    }
}

/// Tells the time to a reservation if that takes few instructions.
///
/// Separate from [`RingClock`], so that no call is needed if it does not.
pub trait FastClock {
    /// Returns the time, as [`RingClock::now`]; `None` if that must be used.
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
