// SPDX-License-Identifier: GPL-2.0

//! Keeps the clock `local` correct while events are recorded with it.

use super::{
    recording::{Buffer, State},
    time,
};
use crate::{
    engine::clock::Verdict,
    kapi::clock::{self, Hands},
};
use kernel::prelude::*;

impl Buffer {
    /// Compares the processor's counter with the kernel's clock. If they disagree, aligns
    /// the counter or stops using it. No event is lost, and no event gets a time before
    /// that of its predecessor.
    ///
    /// Context: process, may sleep.
    pub(crate) fn look_at_counter(&self) {
        // The readers' lock keeps rings from being created meanwhile.
        let mut reading = self.reading();
        let State { judge, sleeps, .. } = &mut *reading.state;
        let slept = clock::sleeps();
        if *sleeps != slept {
            *sleeps = slept;
            judge.forget();
        }
        let verdict = judge.look(clock::counter_hertz(), clock::compare().map(time::reading));
        let hertz = match verdict {
            Verdict::Keep => return,
            Verdict::Align(hertz) => hertz,
            Verdict::Leave => 0,
        };
        let used = clock::uses_counter();
        let live = self.rings.load();
        let aside = reading.state.snapshot.clone();
        clock::align(hertz, |change: &dyn Fn(&Hands)| {
            let aside = aside.iter().flat_map(|rings| rings.iter());
            for ring in Iterator::chain(live.iter(), aside) {
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
