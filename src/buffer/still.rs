// SPDX-License-Identifier: GPL-2.0

//! Finds the newest events without allocating and without consuming them, for a kernel that oopses.

use super::recording::Buffer;
use crate::{
    engine::ring::{EventRef, Newest, MAX_PAGE_BYTES, WORD},
    kapi::clock::Clock,
    options::DumpOnOops,
    sys::{AtomicU32, Vec},
};
use core::mem::ManuallyDrop;
use kernel::prelude::*;

/// Number of words of the longest payload.
const ROOM: usize = if MAX_PAGE_BYTES < 8192 {
    MAX_PAGE_BYTES / WORD
} else {
    8192 / WORD
};

/// Memory for finding the newest events, allocated in advance.
pub(crate) struct StillTools {
    newest: Newest,
    /// Holds a copy of one payload.
    room: Vec<AtomicU32>,
}

impl StillTools {
    /// Allocates the memory.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        let mut room = Vec::with_capacity(ROOM)?;
        for _ in 0..ROOM {
            room.push(AtomicU32::new(0))?;
        }
        // CAST: u32 to usize widens.
        let newest = Newest::new(DumpOnOops::MOST as usize)?;
        Ok(Self { newest, room })
    }
}

impl Buffer {
    /// Stops recording on this CPU, and soon on all.
    ///
    /// Context: any.
    pub(crate) fn stop_in_oops(&self) {
        crate::kapi::context::on_this_cpu(|here| self.switch_in_hit(false, here));
    }

    /// Waits until all CPUs see that recording is off.
    ///
    /// Context: process, may sleep.
    pub(crate) fn wait_until_off(&self) {
        self.set_on(false);
    }

    /// Calls `each` with the newest events of all CPUs, or of `cpu`, at most `most`, by time, with
    /// clock and CPU. Returns the number of CPUs that are left out because of an active reader.
    ///
    /// Context: any if `is_last`: the kernel panics, and nothing is freed. Process otherwise.
    /// Nothing is recorded meanwhile.
    pub(crate) fn newest(
        &self,
        tools: &mut StillTools,
        (most, cpu): (usize, Option<u32>),
        is_last: bool,
        each: &mut dyn FnMut(Clock, u32, &EventRef<'_>),
    ) -> usize {
        let rings = ManuallyDrop::new(self.rings.load());
        let StillTools { newest, room } = tools;
        let mut busy = 0usize;
        newest.begin(most);
        // Exclude other readers: they would find each ring's reader busy, and fail to clear or
        // replace the rings.
        let reading = (!is_last).then(|| self.readers.lock());
        for ring in rings.some(cpu) {
            if !ring.each_still(&mut |event| newest.see(event)) {
                busy = busy.wrapping_add(1);
            }
        }
        drop(reading);
        while let Some(event) = newest.pop() {
            if let Some(ring) = rings.of(event.cpu) {
                ring.with_still(event, room, &mut |found| {
                    each(rings.clock, event.cpu, found);
                });
            }
        }
        if !is_last {
            // This may drop the last reference, if the rings were replaced meanwhile.
            drop(ManuallyDrop::into_inner(rings));
        }
        busy
    }
}
