// SPDX-License-Identifier: GPL-2.0

//! Sizes and clocks: what puts other rings in the place of those there are.

use super::{
    rings::{self, Shared, Timed},
    Buffer, SUB_BUFFER,
};
use crate::{engine::ring::Pieces, kapi::clock::Clock};
use core::sync::atomic::Ordering;
use kernel::{prelude::*, sync::Arc};

/// Bytes of the largest sub-buffer.
const MAX_SUB_BUFFER: usize = 128 * SUB_BUFFER;

impl Buffer {
    /// Size of the ring of `cpu`, in KiB.
    pub(crate) fn kilobytes_of(&self, cpu: u32) -> usize {
        self.rings
            .load()
            .of(cpu)
            .map_or(0, |ring| rings::kilobytes(ring))
    }

    /// Size of each CPU's ring, in KiB; `None` if they differ.
    pub(crate) fn kilobytes(&self) -> Option<usize> {
        let rings = self.rings.load();
        let mut sizes = rings.iter().map(|ring| rings::kilobytes(ring));
        let first = sizes.next()?;
        sizes.all(|size| size == first).then_some(first)
    }

    /// Size of all rings, in KiB.
    pub(crate) fn total_kilobytes(&self) -> usize {
        let rings = self.rings.load();
        rings
            .iter()
            .fold(0, |sum, ring| rings::kilobytes(ring).saturating_add(sum))
    }

    /// Bytes of a sub-buffer.
    pub(crate) fn page_bytes(&self) -> usize {
        self.rings.load().sub_buffer
    }

    /// Gives each CPU, or only the `one`, a ring of `kilobytes`. What is in the
    /// buffer stays, the newest of it where it does not all fit.
    ///
    /// # Errors
    ///
    /// `EINVAL` for 0, `ENOMEM`, `EBUSY` while a ring that is to change is mapped;
    /// then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn resize(&self, kilobytes: usize, one: Option<u32>) -> Result {
        if kilobytes == 0 {
            return Err(EINVAL);
        }
        let _reading = self.reading();
        let old = self.rings.load();
        let slots = rings::slots(kilobytes, old.sub_buffer)?;
        let stays = |cpu, ring: &Shared| {
            // CAST: u32 to usize widens.
            one.is_some_and(|one| one != cpu) || ring.capacity() as usize == slots
        };
        let mut mappings = self.mappings.lock();
        if old
            .iter()
            .any(|ring| !stays(ring.cpu(), ring) && mappings.has(ring.cpu()))
        {
            return Err(EBUSY);
        }
        let new = Timed::new(old.clock, old.sub_buffer, |cpu| match old.of(cpu) {
            Some(ring) if stays(cpu, ring) => Ok(ring.clone()),
            _ => rings::make(cpu, kilobytes, old.sub_buffer, old.clock),
        })?;
        // Before anything changes: nothing may fail after that.
        let mut room = Pieces::of(old.iter().map(|ring| &**ring))?;
        drop(old);
        // Nobody writes to the old ones any more once they are replaced.
        let old = self.replace(new.clone());
        drop(mappings);
        for (from, to) in old.iter().zip(new.iter()) {
            // A ring that stays has its reader twice, and refuses.
            to.take_over(from, &mut room);
        }
        Ok(())
    }

    /// Gives all sub-buffers as many `bytes`. What is in the buffer is lost.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a size that no sub-buffer has, `ENOMEM`, `EBUSY` while a ring
    /// is mapped; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_page_bytes(&self, bytes: usize) -> Result {
        if !bytes.is_power_of_two() || !(SUB_BUFFER..=MAX_SUB_BUFFER).contains(&bytes) {
            return Err(EINVAL);
        }
        let _reading = self.reading();
        let old = self.rings.load();
        if old.sub_buffer == bytes {
            return Ok(());
        }
        let mappings = self.mappings.lock();
        if mappings.any() {
            return Err(EBUSY);
        }
        self.replace(Timed::new(old.clock, bytes, |cpu| {
            rings::make(cpu, self.kilobytes_of(cpu), bytes, old.clock)
        })?);
        Ok(())
    }

    /// The clock that tells the times of events.
    pub(crate) fn clock(&self) -> Clock {
        self.rings.load().clock
    }

    /// Takes the times of events from `clock`. What is in the buffer is lost:
    /// times of two clocks cannot be compared.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EBUSY` while a ring is mapped; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_clock(&self, clock: Clock) -> Result {
        let _reading = self.reading();
        let old = self.rings.load();
        let mappings = self.mappings.lock();
        if mappings.any() {
            return Err(EBUSY);
        }
        self.replace(Timed::new(clock, old.sub_buffer, |cpu| {
            rings::make(cpu, self.kilobytes_of(cpu), old.sub_buffer, clock)
        })?);
        Ok(())
    }

    /// Puts `rings` in the place of those there are, and returns these when
    /// nobody writes to them any more. The caller holds the readers' lock.
    pub(super) fn replace(&self, rings: Arc<Timed>) -> Arc<Timed> {
        self.enable(&rings);
        for ring in rings.iter() {
            ring.set_overwrite(self.overwrite.load(Ordering::Relaxed));
        }
        self.rings.replace(rings)
    }
}
