// SPDX-License-Identifier: GPL-2.0

//! The clocks of tracing, all of which can be read in any context.
//!
//! They have the names and the meanings of the kernel's tracefs. Its functions for
//! them come with ftrace; so these are made of what every kernel exports.
//!
//! C headers: [`include/linux/timekeeping.h`](srctree/include/linux/timekeeping.h),
//! [`include/linux/sched/clock.h`](srctree/include/linux/sched/clock.h)

#[cfg(target_arch = "x86_64")]
use super::arch;
use super::bindings as extra;
use core::sync::atomic::{AtomicU64, Ordering};
use kernel::bindings;

/// A clock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The scheduler's: quick, and not the same on all CPUs.
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
    /// The time stamp counter of the processor.
    #[cfg(target_arch = "x86_64")]
    Tsc,
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
        #[cfg(target_arch = "x86_64")]
        Self::Tsc,
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
            #[cfg(target_arch = "x86_64")]
            Self::Tsc => "x86-tsc",
        }
    }

    /// Whether it counts nanoseconds, and not something else.
    pub const fn is_nanoseconds(self) -> bool {
        match self {
            Self::Counter | Self::Uptime => false,
            #[cfg(target_arch = "x86_64")]
            Self::Tsc => false,
            _ => true,
        }
    }

    /// The time.
    ///
    /// Contexts: any, NMI included, with preemption disabled for [`Clock::Local`],
    /// [`Clock::Global`] and [`Clock::Perf`] to mean anything.
    #[inline(always)]
    pub fn now(self) -> u64 {
        match self {
            // SAFETY: Has no requirements.
            Self::Mono => unsafe { bindings::ktime_get_mono_fast_ns() },
            other => other.read(),
        }
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

        // SAFETY: None of these has requirements.
        unsafe {
            match self {
                Self::Local | Self::Perf => extra::ferroprobe_local_clock(),
                Self::Global => {
                    let now = extra::ferroprobe_local_clock();
                    let latest = LATEST.load(Ordering::Relaxed);
                    let next = now.max(latest);
                    // Once: whoever comes between has told a time as good.
                    match LATEST.compare_exchange(
                        latest,
                        next,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    ) {
                        Ok(_) => next,
                        Err(later) => next.max(later),
                    }
                }
                Self::Counter => COUNT.fetch_add(1, Ordering::Relaxed).wrapping_add(1),
                Self::Uptime => extra::ferroprobe_uptime(),
                Self::Mono => bindings::ktime_get_mono_fast_ns(),
                Self::MonoRaw => bindings::ktime_get_raw_fast_ns(),
                Self::Boot => bindings::ktime_get_boot_fast_ns(),
                Self::Tai => bindings::ktime_get_tai_fast_ns(),
                #[cfg(target_arch = "x86_64")]
                Self::Tsc => arch::time_stamp_counter(),
            }
        }
    }
}
