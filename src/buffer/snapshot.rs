// SPDX-License-Identifier: GPL-2.0

//! Snapshots: setting rings aside with their records.
//!
//! Taking a snapshot replaces the CPUs' rings by empty ones; the old rings are the
//! snapshot. Nothing is copied, and every hit finds a ring. The rings of the previous
//! snapshot are emptied and reused, so a snapshot allocates rings only if sizes or the
//! clock have changed.

use super::{
    local_clock::Making,
    reading::Reading,
    recording::Buffer,
    rings::{self, RingSet, Shared},
};
use core::{mem, sync::atomic::Ordering};
use kernel::{prelude::*, sync::Arc};

/// A new snapshot without records.
pub(crate) struct EmptySnapshot(Arc<RingSet>);

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
        let making = self.local_clock.making();
        self.set_aside((&mut self.reading(), &making), one)
    }

    /// [`Buffer::take_snapshot`] with the readers' lock held.
    fn set_aside(
        &self,
        (reading, making): (&mut Reading<'_>, &Making<'_>),
        one: Option<u32>,
    ) -> Result {
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
                None => rings::make(ring.cpu(), rings::size(ring), live.clock, making),
            }
        };
        let new = RingSet::new(live.clock, live.sub_buffer, |cpu| {
            let ring = live.of(cpu).ok_or(EINVAL)?;
            if chosen(cpu) {
                like(ring)
            } else {
                Ok(ring.clone())
            }
        })?;
        let kept = RingSet::new(live.clock, live.sub_buffer, |cpu| {
            let ring = live.of(cpu).ok_or(EINVAL)?;
            if chosen(cpu) {
                return Ok(ring.clone());
            }
            match spare(cpu) {
                Some(other) if other.page_bytes() == live.sub_buffer => Ok(other.clone()),
                _ => rings::make(cpu, rings::size(ring), live.clock, making),
            }
        })?;
        for ring in new.iter().filter(|ring| chosen(ring.cpu())) {
            if let Some(mut reader) = ring.reader() {
                reader.reset();
            }
        }
        let used = self.replace(&mut reading.state, new);
        drop(mappings);
        drop(used);
        reading.state.snapshot = Some(kept);
        reading.state.was_snapshot_refused = false;
        Ok(())
    }

    /// Makes an empty snapshot if there is none, so that taking the next one needs little memory.
    /// Returns the new one, for [`Buffer::give_back_snapshot`].
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn allocate_snapshot(&self) -> Result<Option<EmptySnapshot>> {
        let making = self.local_clock.making();
        let mut reading = self.reading();
        if reading.state.snapshot.is_some() {
            return Ok(None);
        }
        let live = self.rings.load();
        let empty = RingSet::new(live.clock, live.sub_buffer, |cpu| {
            let ring = live.of(cpu).ok_or(EINVAL)?;
            rings::make(cpu, rings::size(ring), live.clock, &making)
        })?;
        reading.state.snapshot = Some(empty.clone());
        Ok(Some(EmptySnapshot(empty)))
    }

    /// Frees a snapshot that was made for a trigger that was refused, if it is still the same. If
    /// another trigger relied on it meanwhile, its next snapshot allocates the memory itself.
    ///
    /// Context: process, may sleep.
    pub(crate) fn give_back_snapshot(&self, empty: EmptySnapshot) {
        let mut reading = self.reading();
        let now = reading.state.snapshot.as_ref();
        let is_it = now.is_some_and(|now| Arc::ptr_eq(now, &empty.0));
        let old = is_it.then(|| reading.state.snapshot.take());
        drop(reading);
        drop(old);
    }

    /// Requests a snapshot of all CPUs, for [`Buffer::take_requested_snapshot`]. Returns false if a
    /// request is pending.
    ///
    /// Context: any.
    pub(crate) fn request_snapshot(&self) -> bool {
        let requested = &self.snapshot_requested;
        // Ordered with the start of the worker.
        !requested.load(Ordering::Relaxed) && !requested.swap(true, Ordering::SeqCst)
    }

    /// Takes a snapshot if a hit has requested one. Without memory, or while a ring is mapped,
    /// takes none: the log says so once, until one succeeds, because hits may request them all the
    /// time, even hits of code that writes the log.
    ///
    /// Context: process, may sleep.
    pub(crate) fn take_requested_snapshot(&self) {
        // With the lock held, whoever finds no request also finds the snapshot of the last one.
        let making = self.local_clock.making();
        let mut reading = self.reading();
        if self.snapshot_requested.swap(false, Ordering::SeqCst) {
            if let Err(error) = self.set_aside((&mut reading, &making), None) {
                let was_refused = mem::replace(&mut reading.state.was_snapshot_refused, true);
                drop(reading);
                if !was_refused {
                    pr_warn!("no snapshot is taken for a trigger: {error:?}\n");
                }
            }
        }
    }

    /// Frees the snapshot.
    ///
    /// Context: process, may sleep.
    pub(crate) fn free_snapshot(&self) {
        let mut reading = self.reading();
        self.snapshot_requested.store(false, Ordering::Relaxed);
        let old: Option<Arc<RingSet>> = reading.state.snapshot.take();
        drop(reading);
        drop(old);
    }
}
