// SPDX-License-Identifier: GPL-2.0

//! Prevents handlers from nesting in the same context of a CPU.

use super::{
    context::{Interrupts, OnCpu},
    percpu::PerCpu,
};
use core::sync::atomic::{compiler_fence, AtomicBool, Ordering};
use kernel::prelude::*;

/// The number of contexts that can nest on a CPU: process, softirq, hardirq, NMI.
const LEVELS: usize = 4;

/// For each CPU, the contexts in which it serves a hit.
pub struct Serving(PerCpu<[AtomicBool; LEVELS]>);

impl Serving {
    /// Makes it for CPUs that serve no hit.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new() -> Result<Self> {
        Ok(Self(PerCpu::new(|_| Ok(Default::default()))?))
    }

    /// Begins to serve a hit; returns `None` if this CPU already serves one in this context.
    ///
    /// Context: any; called in the context of the hit.
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

/// A hit being served, until the drop.
pub struct Turn<'a>(&'a AtomicBool);

impl Drop for Turn<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.0.store(false, Ordering::Relaxed);
    }
}
