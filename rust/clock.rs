// SPDX-License-Identifier: GPL-2.0

//! The trace clocks, all of which can be read in any context.
//!
//! They have the names and the meanings of the clocks in the kernel's tracefs. The
//! kernel's own functions for them are part of ftrace, so these use what every kernel
//! exports.
//!
//! The default is `local`, the processor's counter times a factor, where the kernel itself takes
//! the scheduler's clock from that counter. It is then the same on all CPUs, so that merging by
//! it gives the true order, it can be read in an NMI, and takes few instructions. Elsewhere the
//! default is `mono`, which has the same properties and takes five times as long.
//!
//! Comparing the counter with the kernel's clock costs nothing on a hit: a hit whose time is not
//! within 134 ms of the last event's takes the slow path anyway, and compares there. A check once a
//! second finds smaller differences.
//!
//! C headers: [`include/linux/timekeeping.h`](srctree/include/linux/timekeeping.h),
//! [`include/linux/sched/clock.h`](srctree/include/linux/sched/clock.h)

use super::{
    arch, calls,
    context::{self, OnCpu},
    rcu,
};
use core::{
    cell::Cell,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

/// The hands of [`Clock::Local`] for readers that have none of their own.
static LOCAL: Hands = Hands {
    mult: AtomicU64::new(0),
    offset: Cell::new(0),
    clock: Clock::Local,
};

/// Determines whether the processor's counter is usable as a clock. Returns the best
/// default clock, which is the same on all CPUs.
///
/// The counter is usable if the kernel derives the scheduler's clock from it: it then
/// runs at a constant rate and is the same on all CPUs.
///
/// Context: process, once and before any other function of this file.
pub fn calibrate() -> Clock {
    let hertz = counter_hertz();
    if mult(hertz).is_none() {
        return Clock::Mono;
    }
    align(hertz, |_| {});
    Clock::Local
}

/// Returns the best default clock, as [`calibrate`] has determined it.
pub fn usual() -> Clock {
    match uses_counter() {
        true => Clock::Local,
        false => Clock::Mono,
    }
}

/// Returns the frequency of the processor's counter as currently known to the kernel, in
/// hertz; 0 if the counter is not usable as a clock.
pub fn counter_hertz() -> u64 {
    calls::ferroprobe_counter_hertz()
}

/// Returns whether [`Clock::Local`] reads the processor's counter instead of the
/// scheduler's clock.
pub fn uses_counter() -> bool {
    LOCAL.mult.load(Ordering::Relaxed) != 0
}

/// Tracks system sleep (suspend and hibernation) until it is dropped.
///
/// While the system sleeps, and until the kernel's own clocks are correct again, the
/// scheduler's clock as read here stands still.
pub struct SleepWatch(());

impl SleepWatch {
    /// Starts to track system sleep.
    ///
    /// Context: process, may sleep.
    pub fn begin() -> Self {
        calls::ferroprobe_watch_sleep();
        Self(())
    }
}

impl Drop for SleepWatch {
    fn drop(&mut self) {
        calls::ferroprobe_unwatch_sleep();
    }
}

/// Returns how often the system slept, or tried to, while a [`SleepWatch`] existed.
pub fn sleeps() -> u64 {
    calls::ferroprobe_sleeps()
}

/// Returns the time by [`Clock::Local`], if that takes few instructions.
///
/// Context: any.
#[inline(always)]
pub fn now_fast(here: &OnCpu) -> Option<u64> {
    LOCAL.read_on(here).now_fast()
}

/// Returns the time by [`Clock::Local`].
///
/// Context: any.
#[inline(always)]
pub fn now(here: &OnCpu) -> u64 {
    LOCAL.read_on(here).now()
}

/// Reads [`Clock::Local`] by the counter and by the scheduler's clock; returns `None` if
/// the counter is not in use.
///
/// Context: process.
pub fn compare() -> Option<Comparison> {
    context::on_this_cpu(|here| LOCAL.read_on(here).compare_counter())
}

/// Lets a counter of `hertz` continue from the time of the scheduler's clock; if `hertz`
/// is 0, replaces the counter by that clock. `each` must call its argument with all hands
/// that a hit may read. A concurrent call has no effect.
///
/// A hit must not combine the factor with the offset of another alignment. It reads both
/// with preemption disabled, so a grace period lies between any two changes, and in
/// between the factor is 0, which selects the scheduler's clock.
///
/// Context: process, may sleep.
pub fn align(hertz: u64, each: impl Fn(&dyn Fn(&Hands))) {
    static ALIGNING: AtomicBool = AtomicBool::new(false);
    if ALIGNING.swap(true, Ordering::Acquire) {
        return;
    }
    let all = |change: &dyn Fn(&Hands)| {
        change(&LOCAL);
        each(change);
    };
    all(&|hands| hands.mult.store(0, Ordering::Relaxed));
    rcu::synchronize();
    if let Some(mult) = mult(hertz) {
        let offset = context::on_this_cpu(|_| offset(mult));
        all(&|hands| {
            // Hands that appeared since the first pass keep their offset.
            if hands.mult.load(Ordering::Relaxed) == 0 {
                hands.offset.set(offset);
            }
        });
        rcu::synchronize();
        all(&|hands| {
            if hands.clock == Clock::Local {
                hands.mult.store(mult, Ordering::Relaxed);
            }
        });
    }
    ALIGNING.store(false, Ordering::Release);
}

/// Returns the offset that turns a count times `mult` into the time of the scheduler's
/// clock.
///
/// Uses the shortest of several readings, because an interrupt may prolong a reading.
fn offset(mult: u64) -> u64 {
    const READINGS: usize = 32;
    let readings = (0..READINGS).map(|_| {
        let before = calls::ferroprobe_local_clock();
        let scaled = scale(arch::counter(), mult);
        let after = calls::ferroprobe_local_clock();
        (after.wrapping_sub(before), before.wrapping_sub(scaled))
    });
    let least = readings.min_by_key(|&(took, _)| took);
    least.map_or(0, |(_, offset)| offset)
}

/// Returns the factor for a counter of `hertz`; `None` if that is 0, or too slow for
/// [`arch::SCALE`].
fn mult(hertz: u64) -> Option<u64> {
    const SECOND: u64 = 1_000_000_000;
    let (left, right) = arch::SCALE;
    let bits = right.saturating_sub(left);
    let mut quotient = SECOND.checked_div(hertz)?;
    let mut rest = SECOND.checked_rem(hertz)?;
    if quotient.leading_zeros() < bits {
        return None;
    }
    // Bit by bit, because the kernel has no 128-bit division. The remainder is below
    // `hertz`, which is far below half of what 64 bits hold.
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
    // CAST: The bits cut off are beyond 500 years.
    (product >> SCALE.1) as u64
}

/// The time by the counter, and by the scheduler's clock before and after the counter was
/// read.
#[derive(Clone, Copy)]
pub struct Comparison {
    /// The scheduler's time before the reading.
    pub before: u64,
    /// The time by the counter.
    pub counter: u64,
    /// The scheduler's time after the reading.
    pub after: u64,
}

/// The parameters for reading a clock, in one place. The processor's counter becomes
/// nanoseconds by `((counter << LEFT) * mult >> RIGHT) + offset`, with the bits of
/// [`arch::SCALE`].
///
/// Unlike the factor of `CLOCK_MONOTONIC`, this factor does not follow NTP.
///
/// # Invariants
///
/// `offset` is read only by code that found `mult` not 0 and has not left its CPU since.
/// It is set by [`align`] only, after `mult` has been 0 for a grace period; `mult` stays
/// 0 for another grace period after that.
pub struct Hands {
    /// 0, except for a [`Clock::Local`] that reads the counter.
    mult: AtomicU64,
    /// Not atomic, so that an addition can take it as a memory operand.
    offset: Cell<u64>,
    clock: Clock,
}

// SAFETY: By the type invariant `offset` is not read while it is set: a possible reader
// found `mult` before it was 0, and `align` waits for it. Calls of `align` exclude each
// other.
unsafe impl Sync for Hands {}

impl Hands {
    /// Creates the hands of `clock`.
    ///
    /// Context: process, not while [`align`] runs.
    pub fn of(clock: Clock) -> Self {
        let (mult, offset) = context::on_this_cpu(|_| match LOCAL.mult.load(Ordering::Relaxed) {
            0 => (0, 0),
            mult => (mult, LOCAL.offset.get()),
        });
        Self {
            mult: AtomicU64::new(if clock == Clock::Local { mult } else { 0 }),
            offset: Cell::new(offset),
            clock,
        }
    }

    /// Returns a reader that is valid for as long as the caller stays on its CPU.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn read_on<'a>(&'a self, _here: &'a OnCpu) -> ClockReader<'a> {
        ClockReader(self)
    }
}

/// [`Hands`] that are read on one CPU.
#[derive(Clone, Copy)]
pub struct ClockReader<'a>(&'a Hands);

impl ClockReader<'_> {
    /// Returns the time if it comes from the processor's counter, in few instructions.
    ///
    /// Context: any, NMI included.
    #[inline(always)]
    pub fn now_fast(self) -> Option<u64> {
        let mult = self.0.mult.load(Ordering::Relaxed);
        (mult != 0).then(|| self.scaled(mult))
    }

    /// Returns the time.
    ///
    /// Context: any, NMI included.
    #[inline(always)]
    pub fn now(self) -> u64 {
        match self.now_fast() {
            Some(now) => now,
            None => self.0.clock.read(),
        }
    }

    /// Returns the time by the counter and by the scheduler's clock; `None` if
    /// [`ClockReader::now`] does not read the processor's counter.
    ///
    /// Context: any, NMI included.
    pub fn compare_counter(self) -> Option<Comparison> {
        let mult = self.0.mult.load(Ordering::Relaxed);
        (mult != 0).then(|| {
            let before = calls::ferroprobe_local_clock();
            let counter = self.scaled(mult);
            let after = calls::ferroprobe_local_clock();
            Comparison {
                before,
                counter,
                after,
            }
        })
    }

    /// Returns the time by the counter; `mult` is the factor as loaded, and is not 0.
    #[inline(always)]
    fn scaled(self, mult: u64) -> u64 {
        scale(arch::counter(), mult).wrapping_add(self.0.offset.get())
    }
}

/// A clock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Nanoseconds by the processor's counter, the fastest to read. If the counter is not
    /// usable, nanoseconds by the scheduler's clock, which may differ between CPUs.
    Local,
    /// The scheduler's clock, prevented from going back between CPUs.
    Global,
    /// The number of times that this clock was read, on all CPUs together.
    Counter,
    /// Clock ticks since boot.
    Uptime,
    /// The clock of the kernel's perf events, which is the scheduler's.
    Perf,
    /// `CLOCK_MONOTONIC`.
    Mono,
    /// `CLOCK_MONOTONIC_RAW`.
    MonoRaw,
    /// `CLOCK_BOOTTIME`.
    Boot,
    /// `CLOCK_TAI`.
    Tai,
    /// The processor's counter, unscaled.
    Cycles,
}

impl Clock {
    /// All clocks, in the order in which the kernel lists them.
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

    /// Returns the kernel's name of the clock.
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

    /// Returns whether the clock counts nanoseconds.
    pub const fn is_nanoseconds(self) -> bool {
        !matches!(self, Self::Counter | Self::Uptime | Self::Cycles)
    }

    /// Returns the time.
    ///
    /// Context: any, NMI included.
    pub fn now(self) -> u64 {
        context::on_this_cpu(|here| match self {
            Self::Local => LOCAL.read_on(here).now(),
            _ => self.read(),
        })
    }

    /// Reads any clock; out of line, so that the usual clock is read in few instructions.
    #[cold]
    #[inline(never)]
    fn read(self) -> u64 {
        /// The latest time that [`Clock::Global`] returned.
        static LATEST: AtomicU64 = AtomicU64::new(0);
        /// The number of reads of [`Clock::Counter`].
        static COUNT: AtomicU64 = AtomicU64::new(0);

        match self {
            Self::Local | Self::Perf => calls::ferroprobe_local_clock(),
            Self::Global => {
                let now = calls::ferroprobe_local_clock();
                let latest = LATEST.load(Ordering::Relaxed);
                let next = now.max(latest);
                // Tried once: a concurrent reader stored a time that is as good.
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
