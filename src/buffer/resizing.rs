// SPDX-License-Identifier: GPL-2.0

//! Operations that replace the rings: changes of size and clock.

use super::{
    recording::{Buffer, State, SUB_BUFFER},
    rings::{self, RingSet, Shared, Successor},
};
use crate::{
    engine::ring::Pieces,
    kapi::{clock::Clock, percpu, rcu::Used},
};
use core::sync::atomic::Ordering;
use kernel::{prelude::*, sync::Arc};

/// Number of bytes of the largest sub-buffer.
pub(crate) const MAX_SUB_BUFFER: usize = 128 * SUB_BUFFER;

impl Buffer {
    /// Returns the size of the ring of `cpu`, in KiB; for an absent CPU, the size that it will get.
    pub(crate) fn kilobytes_of(&self, cpu: u32) -> usize {
        if self.is_absent(cpu) {
            return self.kilobytes.load(Ordering::Relaxed);
        }
        self.rings
            .load()
            .of(cpu)
            .map_or(0, |ring| rings::kilobytes(ring))
    }

    /// Returns the size of each CPU's ring, in KiB; `None` if they differ.
    pub(crate) fn kilobytes(&self) -> Option<usize> {
        let rings = self.rings.load();
        let mut sizes = rings.iter().map(|ring| self.kilobytes_of(ring.cpu()));
        let first = sizes.next()?;
        sizes.all(|size| size == first).then_some(first)
    }

    /// Returns whether `cpu` has a small ring, because it was absent when that was made.
    fn is_absent(&self, cpu: u32) -> bool {
        let absent = self.absent.get(cpu);
        absent.is_some_and(|absent| absent.load(Ordering::Relaxed))
    }

    /// Returns the size of a new ring for `cpu`, in KiB.
    fn size_for(&self, cpu: u32) -> usize {
        match self.is_absent(cpu) {
            true => rings::OF_ABSENT,
            false => self.kilobytes_of(cpu),
        }
    }

    /// Gives online CPUs that were absent when their rings were made rings of the usual size, and
    /// working memory.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EBUSY` while their ring is mapped; `ENXIO` if one goes offline meanwhile.
    ///
    /// Context: process, may sleep.
    pub(crate) fn give_to_arrived(&self) -> Result {
        for cpu in percpu::possible_cpus().filter(|&cpu| percpu::is_online(cpu)) {
            self.scratch.fill(cpu)?;
            let usual = || self.kilobytes.load(Ordering::Relaxed);
            let wanted = || self.is_absent(cpu).then(usual);
            // Only these need the locks.
            if self.is_absent(cpu) {
                self.resize_to(&wanted, Some(cpu))?;
            }
        }
        Ok(())
    }

    /// Returns the size of all rings together, in KiB.
    pub(crate) fn total_kilobytes(&self) -> usize {
        let rings = self.rings.load();
        rings
            .iter()
            .fold(0, |sum, ring| rings::kilobytes(ring).saturating_add(sum))
    }

    /// Returns the size of a sub-buffer, in bytes.
    pub(crate) fn page_bytes(&self) -> usize {
        self.rings.load().sub_buffer
    }

    /// Gives each CPU that is or was present, or only CPU `one`, a ring of `kilobytes`. Events are
    /// kept, the newest if they do not all fit.
    ///
    /// # Errors
    ///
    /// `EINVAL` for 0, `ENOMEM`, `EBUSY` while a ring that is to change is mapped; then
    /// nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn resize(&self, kilobytes: usize, one: Option<u32>) -> Result {
        match kilobytes {
            0 => Err(EINVAL),
            _ => self.resize_to(&|| Some(kilobytes), one),
        }
    }

    /// [`resize`](Self::resize) to the size that `wanted` returns, if any, evaluated while no other
    /// size can be set.
    fn resize_to(&self, wanted: &dyn Fn() -> Option<usize>, one: Option<u32>) -> Result {
        let making = self.local_clock.making();
        let mut reading = self.reading();
        let Some(kilobytes) = wanted() else {
            return Ok(());
        };
        let old = self.rings.load();
        let slots = rings::slots(kilobytes, old.sub_buffer)?;
        let stays = |cpu, ring: &Shared| {
            let is_other = match one {
                Some(one) => one != cpu,
                None => self.is_absent(cpu),
            };
            // CAST: u32 to usize widens.
            is_other || ring.capacity() as usize == slots
        };
        let mut mappings = self.mappings.lock();
        if old
            .iter()
            .any(|ring| !stays(ring.cpu(), ring) && mappings.has(ring.cpu()))
        {
            return Err(EBUSY);
        }
        let new = RingSet::new(old.clock, old.sub_buffer, |cpu| match old.of(cpu) {
            Some(ring) if stays(cpu, ring) => Ok(ring.clone()),
            _ => rings::make(cpu, (kilobytes, old.sub_buffer), old.clock, &making),
        })?;
        // Allocate before anything changes: nothing may fail after that.
        let mut room = Pieces::of(old.iter().map(|ring| &**ring))?;
        let successor = Arc::new(Successor(Some(new.clone())), GFP_KERNEL)?;
        let none = Arc::new(Successor(None), GFP_KERNEL)?;
        match one {
            Some(one) => {
                if let Some(absent) = self.absent.get(one) {
                    absent.store(false, Ordering::Relaxed);
                }
            }
            None => self.kilobytes.store(kilobytes, Ordering::Relaxed),
        }
        // A writer that finds a ring closed uses its successor, which must have the ring's
        // switches: a hit may switch the rings at any time, and then also switches the successor.
        self.set_up(&new);
        let no_longer = self.successor.swap(successor);
        self.enable(&new);
        for ring in old.iter().filter(|ring| !stays(ring.cpu(), ring)) {
            ring.close();
        }
        drop(old);
        let old = self.replace(&mut reading.state, new.clone());
        drop(mappings);
        // No writer uses the old rings from here on.
        let old = old.wait();
        drop(no_longer);
        drop(self.successor.swap(none));
        for (from, to) in old.iter().zip(new.iter()) {
            // A ring that stays is on both sides; `take_over` refuses it, because it cannot get a
            // second reader.
            to.take_over(from, &mut room);
        }
        Ok(())
    }

    /// Sets the size of all sub-buffers, in bytes. Events in the buffer are lost.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a size that sub-buffers cannot have, `ENOMEM`, `EBUSY` while a ring
    /// is mapped; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_page_bytes(&self, bytes: usize) -> Result {
        if !bytes.is_power_of_two() || !(SUB_BUFFER..=MAX_SUB_BUFFER).contains(&bytes) {
            return Err(EINVAL);
        }
        let making = self.local_clock.making();
        let mut reading = self.reading();
        let old = self.rings.load();
        if old.sub_buffer == bytes {
            return Ok(());
        }
        let mappings = self.mappings.lock();
        if mappings.any() {
            return Err(EBUSY);
        }
        let new = RingSet::new(old.clock, bytes, |cpu| {
            let size = (self.size_for(cpu), bytes);
            rings::make(cpu, size, old.clock, &making)
        })?;
        let old = self.replace(&mut reading.state, new);
        drop(mappings);
        drop(old);
        Ok(())
    }

    /// Returns the clock of the times of events.
    pub(crate) fn clock(&self) -> Clock {
        self.rings.load().clock
    }

    /// Changes the clock. Events in the buffer are lost: times of two clocks cannot be compared.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EBUSY` while a ring is mapped; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_clock(&self, clock: Clock) -> Result {
        let making = self.local_clock.making();
        let mut reading = self.reading();
        let old = self.rings.load();
        let mappings = self.mappings.lock();
        if mappings.any() {
            return Err(EBUSY);
        }
        let new = RingSet::new(clock, old.sub_buffer, |cpu| {
            let size = (self.size_for(cpu), old.sub_buffer);
            rings::make(cpu, size, clock, &making)
        })?;
        let old = self.replace(&mut reading.state, new);
        drop(mappings);
        drop(old);
        Ok(())
    }

    /// Replaces the rings by `rings`, and returns the old ones, which writers may still use. Called
    /// with the readers' lock and the lock of the mappings held. The caller must release the latter
    /// before it waits for the writers: a task that maps may wait for it while holding the lock of
    /// its address space.
    pub(super) fn replace(&self, state: &mut State, rings: Arc<RingSet>) -> Used<RingSet> {
        state.live = rings.clone();
        self.set_up(&rings);
        let replaced = self.rings.swap(rings.clone());
        // A hit may have switched the old rings meanwhile.
        self.enable(&rings);
        replaced
    }

    /// Prepares `rings` for recording, before hits find them.
    fn set_up(&self, rings: &RingSet) {
        self.enable(rings);
        for ring in rings.iter() {
            ring.set_overwrite(self.overwrite.load(Ordering::Relaxed));
        }
    }
}
