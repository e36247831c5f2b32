// SPDX-License-Identifier: GPL-2.0

//! Handlers that must not run on a CPU in a context in which they run already.

use super::{
    context::{Interrupts, OnCpu},
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

    /// Begins to serve a hit, unless this CPU serves one in this context.
    ///
    /// Context: any, called by the code that is hit.
    #[inline(always)]
    pub fn begin<'a>(&'a self, here: &'a OnCpu) -> Option<Turn<'a>> {
        let serving = self.0.this_cpu(here).get(Interrupts::now().depth())?;
        if serving.load(Ordering::Relaxed) {
            return None;
        }
        serving.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        Some(Turn(serving))
    }
}

/// A hit that is served, until the drop.
pub struct Turn<'a>(&'a AtomicBool);

impl Drop for Turn<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.0.store(false, Ordering::Relaxed);
    }
}
