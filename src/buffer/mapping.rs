// SPDX-License-Identifier: GPL-2.0

//! Rings that tasks have mapped.
//!
//! What is mapped is a page that describes the ring, and then its sub-buffers; a
//! task reads the one that the description calls the reader's, and asks for the
//! next. As long as a ring is mapped it stays the ring of its CPU.
//!
//! The list of them has a lock of its own, behind all others: a task that maps
//! holds the lock of its addresses, for which others may wait while they hold
//! any lock under which a user's memory is read.
//!
//! C header: [`include/uapi/linux/trace_mmap.h`](srctree/include/uapi/linux/trace_mmap.h)

use super::{
    rings::{Shared, Timed},
    Buffer,
};
use crate::{
    kapi::{atomic::AtomicU32, mapping::Area, pages::PAGE_SIZE},
    sys::{Pages, Vec},
};
use kernel::prelude::*;

/// The rings that are mapped.
pub(super) struct Mappings(Vec<Mapping>);

/// A ring that is mapped.
struct Mapping {
    ring: Shared,
    /// The description, and zeros up to the size of a sub-buffer.
    about: Pages,
    /// The page that was the reader's at first, which has the number 0.
    first: u32,
    /// How often it is mapped.
    count: usize,
}

/// Bytes of the description.
const ABOUT_BYTES: u32 = 80;

/// Where its fields are, in words.
mod field {
    pub(super) const PAGE_SIZE: usize = 0;
    pub(super) const LENGTH: usize = 1;
    pub(super) const SUB_BUFFER_SIZE: usize = 2;
    pub(super) const SUB_BUFFERS: usize = 3;
    pub(super) const READER_LOST: usize = 4;
    pub(super) const READER_ID: usize = 6;
    pub(super) const READER_READ: usize = 7;
    pub(super) const ENTRIES: usize = 10;
    pub(super) const OVERRUN: usize = 12;
    pub(super) const READ: usize = 14;
}

impl Mapping {
    fn new(ring: &Shared) -> Result<Self> {
        let mapping = Self {
            ring: ring.clone(),
            about: Pages::new(1, ring.page_bytes())?,
            first: ring.handed().page,
            count: 0,
        };
        // CAST: At most that of the largest sub-buffer.
        let bytes = ring.page_bytes() as u32;
        mapping.set(field::PAGE_SIZE, bytes);
        mapping.set(field::LENGTH, ABOUT_BYTES);
        mapping.set(field::SUB_BUFFER_SIZE, bytes);
        mapping.set(field::SUB_BUFFERS, mapping.sub_buffers());
        mapping.tell();
        Ok(mapping)
    }

    fn sub_buffers(&self) -> u32 {
        self.ring.capacity().saturating_add(1)
    }

    fn set(&self, at: usize, value: u32) {
        if let Some(word) = self.about.page(0).and_then(|words| words.get(at)) {
            AtomicU32::store_relaxed(word, value);
        }
    }

    fn set_long(&self, at: usize, value: u64) {
        // CAST: One half and the other.
        self.set(at, value as u32);
        self.set(at.wrapping_add(1), (value >> 32) as u32);
    }

    /// Writes to the description what changes.
    fn tell(&self) {
        let handed = self.ring.handed();
        let stats = self.ring.stats();
        let count = self.sub_buffers();
        let id = if handed.page < self.first {
            handed.page.wrapping_add(count)
        } else {
            handed.page
        };
        self.set_long(field::READER_LOST, handed.lost);
        self.set(field::READER_ID, id.wrapping_sub(self.first));
        self.set(field::READER_READ, handed.bytes);
        self.set_long(field::ENTRIES, stats.recorded());
        self.set_long(field::OVERRUN, stats.overrun);
        self.set_long(field::READ, stats.read);
    }

    /// Shows `area` what lies there in the file.
    fn show(&self, area: &Area<'_>) -> Result {
        let bytes = self.ring.page_bytes();
        let each = bytes / PAGE_SIZE;
        if each == 0 {
            return Err(ENODEV);
        }
        // CAST: u32 to usize widens.
        let sub_buffers = self.sub_buffers() as usize;
        let whole = sub_buffers.saturating_add(1).saturating_mul(each);
        let end = area.first().checked_add(area.count()).ok_or(EINVAL)?;
        if area.count() == 0 || end > whole || area.first() % each != 0 {
            return Err(EINVAL);
        }
        for at in 0..area.count() {
            let in_file = area.first().wrapping_add(at);
            let offset = (in_file % each).wrapping_mul(PAGE_SIZE);
            match (in_file / each).checked_sub(1) {
                None => area.show(at, &self.about, 0, offset)?,
                Some(id) => {
                    // CAST: Both are below the number of sub-buffers.
                    let page = id.wrapping_add(self.first as usize) % sub_buffers;
                    area.show(at, self.ring.storage(), page as u32, offset)?;
                }
            }
        }
        Ok(())
    }
}

impl Mappings {
    /// None.
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    fn of(&mut self, cpu: u32) -> Option<(usize, &mut Mapping)> {
        let mut all = self.0.iter_mut().enumerate();
        all.find(|(_, mapping)| mapping.ring.cpu() == cpu)
    }

    /// Whether the ring of `cpu` is mapped.
    pub(super) fn has(&mut self, cpu: u32) -> bool {
        self.of(cpu).is_some()
    }

    /// Whether any ring is mapped.
    pub(super) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    fn map(&mut self, rings: &Timed, cpu: u32, area: &Area<'_>) -> Result {
        if let Some((_, mapping)) = self.of(cpu) {
            mapping.show(area)?;
            mapping.count = mapping.count.saturating_add(1);
            return Ok(());
        }
        let mut mapping = Mapping::new(rings.of(cpu).ok_or(ENODEV)?)?;
        mapping.show(area)?;
        mapping.count = 1;
        // On failure the kernel takes off what was shown.
        Ok(self.0.push(mapping)?)
    }

    fn unmap(&mut self, cpu: u32) {
        let Some((index, mapping)) = self.of(cpu) else {
            return;
        };
        mapping.count = mapping.count.saturating_sub(1);
        if mapping.count == 0 {
            drop(self.0.take(index));
        }
    }
}

impl Buffer {
    /// Maps the ring of `cpu` to `area`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for what lies outside of the ring, `ENOMEM`; `ENODEV` where
    /// sub-buffers are smaller than the processor's pages.
    ///
    /// Context: `mmap` of a file.
    pub(crate) fn map(&self, cpu: u32, area: &Area<'_>) -> Result {
        let mut mappings = self.mappings.lock();
        mappings.map(&self.rings.load(), cpu, area)
    }

    /// What is mapped of `cpu` is so once more. Context as for [`Buffer::map`].
    pub(crate) fn mapped_again(&self, cpu: u32) {
        if let Some((_, mapping)) = self.mappings.lock().of(cpu) {
            mapping.count = mapping.count.saturating_add(1);
        }
    }

    /// Undoes one [`Buffer::map`]. Context as there.
    pub(crate) fn unmap(&self, cpu: u32) {
        self.mappings.lock().unmap(cpu);
    }

    /// Hands out the next events of `cpu` to those who have mapped its ring.
    ///
    /// # Errors
    ///
    /// `ENODEV` if nobody has.
    ///
    /// Context: process, may sleep.
    pub(crate) fn hand_out(&self, cpu: u32) -> Result {
        let mut reading = self.reading();
        if !self.mappings.lock().has(cpu) {
            return Err(ENODEV);
        }
        let rings = self.rings.load();
        let mut reader = rings.of(cpu).and_then(|ring| ring.reader()).ok_or(ENODEV)?;
        let commands = &mut reading.state.commands;
        reader.hand_out(|note| commands.see(note.pid(), note.name()));
        Ok(())
    }

    /// Tells those who have mapped rings what was read of them. The caller holds
    /// the readers' lock and no reader.
    pub(super) fn tell_mappings(&self) {
        for mapping in &self.mappings.lock().0 {
            mapping.tell();
        }
    }
}
