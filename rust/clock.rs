// SPDX-License-Identifier: GPL-2.0

//! The clocks of tracing, all of which can be read in any context.
//!
//! They have the names and the meanings of the kernel's tracefs. Its functions for
//! them come with ftrace; so these are made of what every kernel exports.
//!
//! C headers: [`include/linux/timekeeping.h`](srctree/include/linux/timekeeping.h),
//! [`include/linux/sched/clock.h`](srctree/include/linux/sched/clock.h)

use super::{arch, calls};
use core::sync::atomic::{AtomicU64, Ordering};

/// How the processor's counter becomes nanoseconds: by `((counter << LEFT) * mult >>
/// RIGHT) + offset`, with the bits of [`arch::SCALE`]. `mult` is 0 where the counter is
/// not good as a clock.
///
/// The factor is that of the frequency when the module was loaded. Unlike that of
/// `CLOCK_MONOTONIC` it does not follow the time of the network.
struct Rate {
    mult: AtomicU64,
    offset: AtomicU64,
}

static RATE: Rate = Rate {
    mult: AtomicU64::new(0),
    offset: AtomicU64::new(0),
};

/// Finds out whether the processor's counter is good as a clock; returns the clock
/// that is the best to begin with, which is the same on all CPUs.
///
/// The counter is, where the kernel itself takes the scheduler's clock from it: then
/// it runs at a constant rate and is the same on all CPUs.
///
/// Context: process, once and before anything else of this file.
pub fn calibrate() -> Clock {
    let Some(mult) = mult(calls::ferroprobe_counter_hertz()) else {
        return Clock::Mono;
    };
    let now = calls::ferroprobe_local_clock();
    let offset = now.wrapping_sub(scale(arch::counter(), mult));
    RATE.offset.store(offset, Ordering::Relaxed);
    RATE.mult.store(mult, Ordering::Relaxed);
    Clock::Local
}

/// The factor for a counter of `hertz`; `None` where that is too slow for
/// [`arch::SCALE`], or 0.
fn mult(hertz: u64) -> Option<u64> {
    const SECOND: u64 = 1_000_000_000;
    let (left, right) = arch::SCALE;
    let bits = right.saturating_sub(left);
    let mut quotient = SECOND.checked_div(hertz)?;
    let mut rest = SECOND.checked_rem(hertz)?;
    if quotient.leading_zeros() < bits {
        return None;
    }
    // Bit by bit: the kernel has no division of 128 bits. The rest is below `hertz`,
    // which is far below half of what 64 bits hold.
    for _ in 0..bits {
        rest = rest.wrapping_mul(2);
        quotient = quotient.wrapping_mul(2);
        if rest >= hertz {
            rest = rest.wrapping_sub(hertz);
            quotient = quotient.wrapping_add(1);
        }
    }
    Some(quotient)
}

#[inline(always)]
fn scale(count: u64, mult: u64) -> u64 {
    const SCALE: (u32, u32) = arch::SCALE;
    let product = u128::from(count << SCALE.0).wrapping_mul(u128::from(mult));
    // CAST: What is cut off is beyond 500 years.
    (product >> SCALE.1) as u64
}

/// All that reading a clock needs, in one place.
#[derive(Clone, Copy)]
pub struct Hands {
    /// See [`Rate`]; 0 for all clocks but a [`Clock::Local`] by the counter.
    mult: u64,
    offset: u64,
    clock: Clock,
}

impl Hands {
    /// Those of `clock`.
    pub fn of(clock: Clock) -> Self {
        let mult = match clock {
            Clock::Local => RATE.mult.load(Ordering::Relaxed),
            _ => 0,
        };
        Self {
            mult,
            offset: RATE.offset.load(Ordering::Relaxed),
            clock,
        }
    }

    /// [`Clock::now`] where that is the processor's counter: in few instructions.
    ///
    /// Contexts: as there.
    #[inline(always)]
    pub fn now_quickly(&self) -> Option<u64> {
        (self.mult != 0).then(|| scale(arch::counter(), self.mult).wrapping_add(self.offset))
    }

    /// [`Clock::now`].
    ///
    /// Contexts: as there.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        match self.now_quickly() {
            Some(now) => now,
            None => self.clock.read(),
        }
    }
}

/// A clock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Nanoseconds by the processor's counter, the quickest; where that is not
    /// good as a clock the scheduler's, which is not the same on all CPUs.
    Local,
    /// The scheduler's, kept from going back from one CPU to the other.
    Global,
    /// The number of times that it was read, on all CPUs together.
    Counter,
    /// Clock ticks since boot.
    Uptime,
    /// That of the kernel's perf events, which is the scheduler's.
    Perf,
    /// `CLOCK_MONOTONIC`.
    Mono,
    /// `CLOCK_MONOTONIC_RAW`.
    MonoRaw,
    /// `CLOCK_BOOTTIME`.
    Boot,
    /// `CLOCK_TAI`.
    Tai,
    /// The processor's counter as it is.
    Cycles,
}

impl Clock {
    /// All clocks, in the order in which the kernel shows them.
    pub const ALL: &[Self] = &[
        Self::Local,
        Self::Global,
        Self::Counter,
        Self::Uptime,
        Self::Perf,
        Self::Mono,
        Self::MonoRaw,
        Self::Boot,
        Self::Tai,
        Self::Cycles,
    ];

    /// The kernel's name of it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Global => "global",
            Self::Counter => "counter",
            Self::Uptime => "uptime",
            Self::Perf => "perf",
            Self::Mono => "mono",
            Self::MonoRaw => "mono_raw",
            Self::Boot => "boot",
            Self::Tai => "tai",
            Self::Cycles => arch::COUNTER_NAME,
        }
    }

    /// Whether it counts nanoseconds, and not something else.
    pub const fn is_nanoseconds(self) -> bool {
        !matches!(self, Self::Counter | Self::Uptime | Self::Cycles)
    }

    /// The time.
    ///
    /// Contexts: any, NMI included, with preemption disabled for [`Clock::Local`],
    /// [`Clock::Global`] and [`Clock::Perf`] to mean anything.
    pub fn now(self) -> u64 {
        Hands::of(self).now()
    }

    /// The time by any clock; apart, so that the usual one is read in few
    /// instructions.
    #[cold]
    #[inline(never)]
    fn read(self) -> u64 {
        /// The latest time that [`Clock::Global`] has told.
        static LATEST: AtomicU64 = AtomicU64::new(0);
        /// What [`Clock::Counter`] has counted.
        static COUNT: AtomicU64 = AtomicU64::new(0);

        match self {
            Self::Local | Self::Perf => calls::ferroprobe_local_clock(),
            Self::Global => {
                let now = calls::ferroprobe_local_clock();
                let latest = LATEST.load(Ordering::Relaxed);
                let next = now.max(latest);
                // Once: whoever comes between has told a time as good.
                match LATEST.compare_exchange(latest, next, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => next,
                    Err(later) => next.max(later),
                }
            }
            Self::Counter => COUNT.fetch_add(1, Ordering::Relaxed).wrapping_add(1),
            Self::Uptime => calls::ferroprobe_uptime(),
            Self::Mono => calls::ktime_get_mono_fast_ns(),
            Self::MonoRaw => calls::ktime_get_raw_fast_ns(),
            Self::Boot => calls::ktime_get_boot_fast_ns(),
            Self::Tai => calls::ktime_get_tai_fast_ns(),
            Self::Cycles => arch::counter(),
        }
    }
}
