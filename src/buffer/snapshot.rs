// SPDX-License-Identifier: GPL-2.0

//! Sets rings aside with their records.
//!
//! Taking a snapshot replaces the CPUs' rings by empty ones; the old rings are the
//! snapshot. Nothing is copied, and every hit finds a ring. The rings of the previous
//! snapshot are emptied and reused, so a snapshot allocates rings only if sizes or the
//! clock have changed.

use super::{
    recording::Buffer,
    rings::{self, Shared, Timed},
};
use kernel::{prelude::*, sync::Arc};

impl Buffer {
    /// Sets aside the rings of all CPUs, or only of CPU `one`, and replaces them by empty
    /// ones. The previous snapshot is lost.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EBUSY` while a ring is mapped; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn take_snapshot(&self, one: Option<u32>) -> Result {
        let mut reading = self.reading();
        let mappings = self.mappings.lock();
        if mappings.any() {
            return Err(EBUSY);
        }
        let live = self.rings.load();
        let before = reading.state.snapshot.clone();
        // Each ring has one clock, and one buffer cannot hold times of two clocks.
        let before = before.filter(|before| before.clock == live.clock);
        let spare = |cpu| before.as_ref().and_then(|before| before.of(cpu));
        let chosen = |cpu| one.is_none_or(|one| one == cpu);
        let like = |ring: &Shared| {
            let same = |other: &&Shared| {
                other.capacity() == ring.capacity() && other.page_bytes() == ring.page_bytes()
            };
            match spare(ring.cpu()).filter(same) {
                Some(other) => Ok(other.clone()),
                None => rings::make(
                    ring.cpu(),
                    rings::kilobytes(ring),
                    ring.page_bytes(),
                    live.clock,
                ),
            }
        };
        let new = Timed::new(live.clock, live.sub_buffer, |cpu| {
            let ring = live.of(cpu).ok_or(EINVAL)?;
            if chosen(cpu) {
                like(ring)
            } else {
                Ok(ring.clone())
            }
        })?;
        let kept = Timed::new(live.clock, live.sub_buffer, |cpu| {
            let ring = live.of(cpu).ok_or(EINVAL)?;
            if chosen(cpu) {
                return Ok(ring.clone());
            }
            match spare(cpu) {
                Some(other) if other.page_bytes() == live.sub_buffer => Ok(other.clone()),
                _ => rings::make(cpu, rings::kilobytes(ring), live.sub_buffer, live.clock),
            }
        })?;
        for ring in new.iter().filter(|ring| chosen(ring.cpu())) {
            if let Some(mut reader) = ring.reader() {
                reader.reset();
            }
        }
        let used = self.replace(new);
        drop(mappings);
        drop(used);
        reading.state.snapshot = Some(kept);
        Ok(())
    }

    /// Frees the snapshot.
    ///
    /// Context: process, may sleep.
    pub(crate) fn free_snapshot(&self) {
        let old: Option<Arc<Timed>> = self.reading().state.snapshot.take();
        drop(old);
    }
}
