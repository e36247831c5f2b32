// SPDX-License-Identifier: GPL-2.0

//! The number of 32-bit calls that no event can record.
//!
//! Up to four probes see such a call: two tables have one each for its begin and for its return.
//! Each counts what it sees, so while the same probes are registered, the largest count is the
//! number of calls. The counts are settled whenever a probe comes or goes. A call that is in
//! progress then may count twice.

use crate::kapi::{context::Unpreempted, local::Counter, percpu::PerCpu};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// Number of probes that count.
const PROBES: usize = 4;

/// The counts of all probes.
#[pin_data]
pub struct SkippedCalls {
    seen: PerCpu<[Counter; PROBES]>,
    #[pin]
    settled: Mutex<Settled>,
}

/// What was counted up to the last change of the registered probes.
#[derive(Clone, Copy)]
struct Settled {
    seen: [u64; PROBES],
    calls: u64,
}

impl SkippedCalls {
    /// Makes a count of no calls.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new() -> Result<Arc<Self>> {
        let seen = PerCpu::new(|_| Ok(Default::default()))?;
        let none = Settled {
            seen: [0; PROBES],
            calls: 0,
        };
        Arc::pin_init(
            pin_init!(Self { seen, settled <- new_mutex!(none) }),
            GFP_KERNEL,
        )
    }

    /// Counts a call that the probe of this number sees.
    ///
    /// Context: any.
    pub(super) fn count(&self, probe: usize) {
        let on_cpu = Unpreempted::begin();
        self.seen.increment(probe, &on_cpu.here());
        on_cpu.end();
    }

    /// Notes that the set of registered probes changes.
    ///
    /// Context: process, may sleep.
    pub(super) fn settle(&self) {
        let mut settled = self.settled.lock();
        let seen = self.seen();
        *settled = Settled {
            calls: settled.calls_with(&seen),
            seen,
        };
    }

    /// Returns the number of calls.
    ///
    /// Context: process, may sleep.
    pub fn calls(&self) -> u64 {
        self.settled.lock().calls_with(&self.seen())
    }

    fn seen(&self) -> [u64; PROBES] {
        core::array::from_fn(|probe| {
            let counts = self.seen.iter();
            let counts = counts.filter_map(|(_, counters)| counters.get(probe));
            counts.fold(0u64, |sum, counter| sum.wrapping_add(counter.get()))
        })
    }
}

impl Settled {
    /// Returns the number of calls when the probes have `seen` so many.
    fn calls_with(&self, seen: &[u64; PROBES]) -> u64 {
        let since = seen.iter().zip(&self.seen);
        let since = since.map(|(now, then)| now.wrapping_sub(*then)).max();
        self.calls.wrapping_add(since.unwrap_or(0))
    }
}
