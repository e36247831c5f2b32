// SPDX-License-Identifier: GPL-2.0

//! Keeps the clock `local` correct while events are recorded with it.
//!
//! The rings of all buffers share the clock `local`. So there is one judge of the processor's
//! counter, and all rings are aligned together.

use super::{
    local_clock::{Known, LocalClock},
    recording::Buffer,
    rings::RingSet,
    time,
};
use crate::{
    engine::util::clock::ClockVerdict,
    kapi::clock::{self, Hands},
    sys::{AllocError, Vec},
};
use kernel::{prelude::*, sync::Arc};

impl LocalClock {
    /// Compares the processor's counter with the kernel's clock. If they disagree, aligns the
    /// counter or stops using it, in all buffers, which `buffers` passes to its argument. No event
    /// is lost, and times in a ring still ascend. On failure, for lack of memory, changes nothing.
    ///
    /// Context: process, may sleep.
    pub(crate) fn look(&self, buffers: impl FnOnce(&mut EachBuffer<'_>) -> Result) {
        let mut making = self.making();
        let Known { judge, sleeps } = &mut *making.0;
        let slept = clock::sleeps();
        if *sleeps != slept {
            *sleeps = slept;
            judge.forget();
        }
        let hertz = clock::counter_hertz();
        let compared = clock::compare().map(time::reading);
        let mut verdict = judge.clone();
        let hertz = match verdict.look(hertz, compared) {
            ClockVerdict::Keep => {
                *judge = verdict;
                return;
            }
            ClockVerdict::Align(hertz) => hertz,
            ClockVerdict::Leave => 0,
        };
        // No rings are made from here on.
        let mut rings = Vec::new();
        if buffers(&mut |buffer| Ok(add_rings(buffer, &mut rings)?)).is_err() {
            return;
        }
        *judge = verdict;
        let used = clock::uses_counter();
        clock::align(hertz, |change: &dyn Fn(&Hands)| {
            for ring in rings.iter().flat_map(|rings| rings.iter()) {
                change(ring.clock());
            }
        });
        match (used, clock::uses_counter()) {
            (true, true) => {
                pr_info!("clock local: the counter is aligned with the kernel's clock\n")
            }
            (true, false) => pr_info!("clock local: the kernel's, as the counter is unfit\n"),
            (false, true) => pr_info!("clock local: the counter again\n"),
            (false, false) => {}
        }
    }
}

/// A function that is called for each buffer.
pub(crate) type EachBuffer<'a> = dyn FnMut(&Buffer) -> Result + 'a;

/// Adds the rings of `buffer`, and of its snapshot, to `all`.
fn add_rings(buffer: &Buffer, all: &mut Vec<Arc<RingSet>>) -> Result<(), AllocError> {
    let reading = buffer.reading();
    all.push(buffer.rings.load())?;
    if let Some(aside) = &reading.state.snapshot {
        all.push(aside.clone())?;
    }
    Ok(())
}
