// SPDX-License-Identifier: GPL-2.0

//! Handlers that must not run on a CPU in a context in which they run already.

use super::{
    context::{self, Entry, OnCpu},
    percpu::PerCpu,
};
use core::sync::atomic::{compiler_fence, AtomicBool, Ordering};
use kernel::prelude::*;

/// The number of contexts that can nest on a CPU: process, softirq, hardirq, NMI.
const LEVELS: usize = 4;

/// In which contexts the CPUs serve hits.
pub struct Serving(PerCpu<[AtomicBool; LEVELS]>);

impl Serving {
    /// Returns that none does.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new() -> Result<Self> {
        Ok(Self(PerCpu::new(|_| Ok(Default::default()))?))
    }

    /// Calls `work`, or `missed` if this CPU serves a hit in this context.
    ///
    /// Context: any, called by the code that is hit.
    #[inline(always)]
    pub fn unless(&self, here: &OnCpu, missed: impl FnOnce(), work: impl FnOnce()) {
        let level = context::level(Entry::Tracepoint);
        let index = if level.in_nmi() {
            3
        } else if level.in_hardirq() {
            2
        } else {
            usize::from(level.in_softirq())
        };
        let Some(serving) = self.0.this_cpu(here).get(index) else {
            return;
        };
        if serving.load(Ordering::Relaxed) {
            missed();
            return;
        }
        serving.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        work();
        compiler_fence(Ordering::SeqCst);
        serving.store(false, Ordering::Relaxed);
    }
}
