// SPDX-License-Identifier: GPL-2.0

//! How often each of some functions was hit.

use crate::kapi::{
    local::Counter,
    percpu::{CounterOfCpus, PerCpu},
};
use kernel::prelude::*;

/// The number of counters in one allocation, which has a page for each CPU.
const BLOCK: usize = 512;

/// A counter for each of some functions.
pub(super) struct SiteCounters(KVec<PerCpu<[Counter; BLOCK]>>);

impl SiteCounters {
    /// Makes counters for `count` functions.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(count: usize) -> Result<Self> {
        let mut blocks = KVec::new();
        for _ in 0..count.div_ceil(BLOCK) {
            let block = PerCpu::new(|_| Ok([const { Counter::new() }; BLOCK]))?;
            blocks.push(block, GFP_KERNEL)?;
        }
        Ok(Self(blocks))
    }

    /// Returns the counter of the function `index`.
    pub(super) fn counter(&self, index: usize) -> Option<CounterOfCpus> {
        self.0.get(index / BLOCK)?.counter(index % BLOCK)
    }

    /// Returns the hits of the function `index`; `None` if they are not counted.
    pub(super) fn hits(&self, index: usize) -> Option<u64> {
        let block = self.0.get(index / BLOCK)?;
        let counts = block.iter().filter_map(|(_, all)| all.get(index % BLOCK));
        Some(counts.map(Counter::get).fold(0, u64::wrapping_add))
    }
}
