// SPDX-License-Identifier: GPL-2.0

//! Operations on mapped rings.

use super::recording::Buffer;
use crate::kapi::mapping::Area;
use core::sync::atomic::Ordering;
use kernel::prelude::*;

impl Buffer {
    /// Maps the ring of `cpu` to `area`.
    ///
    /// # Errors
    ///
    /// `EINVAL` if `area` is not within the ring; `ENOMEM`; `ENODEV` if sub-buffers are
    /// smaller than pages.
    ///
    /// Context: process, in `mmap` of a file; may sleep.
    pub(crate) fn map(&self, cpu: u32, area: &Area<'_>) -> Result {
        let mut mappings = self.mappings.lock();
        let mapped = mappings.map(&self.rings.load(), cpu, area);
        self.mapped.store(mappings.any(), Ordering::Relaxed);
        mapped
    }

    /// Counts one more mapping of the ring of `cpu`.
    ///
    /// Context: as for [`Buffer::map`].
    pub(crate) fn mapped_again(&self, cpu: u32) {
        if let Some((_, mapping)) = self.mappings.lock().of(cpu) {
            mapping.count = mapping.count.saturating_add(1);
        }
    }

    /// Undoes one [`Buffer::map`].
    ///
    /// Context: as for [`Buffer::map`].
    pub(crate) fn unmap(&self, cpu: u32) {
        let mut mappings = self.mappings.lock();
        mappings.unmap(cpu);
        self.mapped.store(mappings.any(), Ordering::Relaxed);
    }

    /// Hands out the next events of `cpu` to the tasks that have mapped its ring.
    ///
    /// # Errors
    ///
    /// `ENODEV` if the ring is not mapped.
    ///
    /// Context: process, may sleep.
    pub(crate) fn hand_out(&self, cpu: u32) -> Result {
        let mut reading = self.reading();
        let mut mappings = self.mappings.lock();
        let (_, mapping) = mappings.of(cpu).ok_or(ENODEV)?;
        let commands = &mut reading.state.commands;
        mapping.hand_out(|note| commands.see(note.pid(), note.name()));
        Ok(())
    }

    /// Updates all mappings after a read. Called with the readers' lock held, and no reader of any
    /// ring.
    pub(super) fn tell_mappings(&self) {
        // A mapping that is being made describes its ring itself.
        if !self.mapped.load(Ordering::Relaxed) {
            return;
        }
        for mapping in self.mappings.lock().0.iter_mut() {
            mapping.take_back();
            mapping.describe();
        }
    }
}
