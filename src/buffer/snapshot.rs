// SPDX-License-Identifier: GPL-2.0

//! Setting the rings aside with what they hold.
//!
//! A snapshot is taken by putting empty rings in the place of the CPUs' own, which
//! then are the snapshot: nothing is copied, and no hit is without a ring. The
//! rings of the snapshot before are emptied and used again, so that taking one needs
//! no memory unless sizes have changed.

use super::{
    rings::{self, Shared, Timed},
    Buffer,
};
use kernel::{prelude::*, sync::Arc};

/// Which of the two buffers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The one in which hits are recorded.
    Live,
    /// The one that was set aside.
    Snapshot,
}

impl Buffer {
    /// Whether there is a snapshot, be it empty.
    ///
    /// Context: process, may sleep.
    pub(crate) fn has_snapshot(&self) -> bool {
        self.reading().state.snapshot.is_some()
    }

    /// Sets aside what all CPUs, or only the `one`, have recorded, and lets them
    /// go on with empty rings. What was set aside before is lost.
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
        // A ring has its clock, and times of two cannot stand in one buffer.
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
        drop(self.replace(new));
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
