// SPDX-License-Identifier: GPL-2.0

//! Gives memory to CPUs that are added.
//!
//! Firmware announces CPUs that could be added, often many times the present number. Each of them
//! has a ring of a few sub-buffers in each instance, and no working memory. The kernel reports an
//! added CPU with the CPU hotplug lock held, for which tasks with the registry lock may wait. So
//! memory is allocated a moment later: until then the ring overwrites early, and hits that need
//! working memory are missed. Histograms have tables for the CPUs present when they were set;
//! others count in a shared table.

use crate::{
    kapi::{
        arrivals::{ArrivalWatch, OnArrival},
        work::{Delayed, RunDelayed},
    },
    tracer::Tracer,
};
use kernel::{prelude::*, sync::Arc};

/// Milliseconds until a failed attempt is repeated.
const AGAIN: u32 = 1000;

/// Watches until it is dropped. Must not be dropped with the registry lock held.
pub(crate) struct Arrivals {
    /// Dropped first, because it schedules the work.
    _arrivals: ArrivalWatch<ArrivalHandler>,
    work: Arc<Delayed<Giving>>,
}

impl Arrivals {
    /// Starts to watch.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of the kernel.
    ///
    /// Context: process, may sleep.
    pub(crate) fn new(tracer: &Arc<Tracer>) -> Result<Self> {
        let work = Delayed::new(Giving(tracer.clone()))?;
        let watcher = Arc::new(ArrivalHandler(work.clone()), GFP_KERNEL)?;
        let arrivals = ArrivalWatch::new(watcher)?;
        let this = Self {
            _arrivals: arrivals,
            work,
        };
        // For CPUs that were added since the tracer was made.
        this.work.start(0);
        Ok(this)
    }
}

/// The handler that the kernel calls.
struct ArrivalHandler(Arc<Delayed<Giving>>);

impl OnArrival for ArrivalHandler {
    fn came(&self) {
        self.0.start(0);
    }
}

/// The work.
struct Giving(Arc<Tracer>);

impl RunDelayed for Giving {
    fn run(&self) -> Option<u32> {
        let (buffers, nesting) = {
            let registry = self.0.registry.lock();
            (registry.instances.buffers(), registry.definitions.nesting())
        };
        let given = buffers.is_ok_and(|buffers| {
            let mut given = nesting.give_to_arrived().is_ok();
            for (buffer, _) in buffers.iter() {
                given &= buffer.give_to_arrived().is_ok();
            }
            given
        });
        (!given).then_some(AGAIN)
    }
}
