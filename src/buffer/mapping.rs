// SPDX-License-Identifier: GPL-2.0

//! Rings that tasks have mapped.
//!
//! What is mapped is a page that describes the ring, then two sub-buffers that are
//! copied to, then those of the ring. A task reads the one that the description calls
//! the reader's, and asks for the next. That is one of the ring as it lies there,
//! when it is taken; what writers added to it meanwhile is copied, and so has
//! another number: who asks sees by that whether there was more. As long as a ring is
//! mapped it stays the ring of its CPU.
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
    engine::ring::{Note, COMMIT_LENGTH},
    kapi::{mapping::Area, pages::PAGE_SIZE},
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
    /// Two sub-buffers, in turn.
    copies: Pages,
    /// Where a copy is made.
    copy: Vec<u8>,
    /// What is handed out.
    current: Current,
    /// How often it is mapped.
    count: usize,
}

/// The sub-buffer that those who have mapped a ring may read.
struct Current {
    /// Its number in what is mapped.
    id: u32,
    /// Bytes of data on it.
    bytes: u32,
    /// Events that were lost before it.
    lost: u64,
    /// [`Ring::taken`](crate::engine::ring::Ring::taken) of one that is the ring's.
    taken: Option<u64>,
}

/// Where the commit of a sub-buffer is, in words.
const COMMIT_WORD: usize = 2;

/// Sub-buffers that are copied to.
const COPIES: u32 = 2;

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
        let bytes = ring.page_bytes();
        let mut copy = Vec::with_capacity(bytes)?;
        for _ in 0..bytes {
            copy.push(0)?;
        }
        let mapping = Self {
            ring: ring.clone(),
            about: Pages::new(1, bytes)?,
            // CAST: Two.
            copies: Pages::new(COPIES as usize, bytes)?,
            copy,
            // A copy of nothing.
            current: Current {
                id: 0,
                bytes: 0,
                lost: 0,
                taken: None,
            },
            count: 0,
        };
        // CAST: At most that of the largest sub-buffer.
        let bytes = bytes as u32;
        mapping.set(field::PAGE_SIZE, bytes);
        mapping.set(field::LENGTH, ABOUT_BYTES);
        mapping.set(field::SUB_BUFFER_SIZE, bytes);
        mapping.set(field::SUB_BUFFERS, mapping.sub_buffers());
        mapping.describe();
        Ok(mapping)
    }

    fn sub_buffers(&self) -> u32 {
        self.ring.capacity().saturating_add(1 + COPIES)
    }

    fn set(&self, at: usize, value: u32) {
        if let Some(word) = self.about.page(0).and_then(|words| words.get(at)) {
            word.store_relaxed(value);
        }
    }

    fn set_long(&self, at: usize, value: u64) {
        // CAST: One half and the other.
        self.set(at, value as u32);
        self.set(at.wrapping_add(1), (value >> 32) as u32);
    }

    /// Writes to the description what changes.
    fn describe(&self) {
        let stats = self.ring.stats();
        self.set_long(field::READER_LOST, self.current.lost);
        self.set(field::READER_READ, self.current.bytes);
        self.set(field::READER_ID, self.current.id);
        self.set_long(field::ENTRIES, stats.recorded());
        self.set_long(field::OVERRUN, stats.overrun);
        self.set_long(field::READ, stats.read);
    }

    /// Hands out the next sub-buffer, or what was added to the one before; leaves
    /// what there is where that is nothing.
    fn hand_out(&mut self, mut each: impl FnMut(&Note)) {
        let Some(mut reader) = self.ring.reader() else {
            return;
        };
        if let Some(handed) = reader.hand_out(&mut each) {
            self.current = Current {
                id: handed.page.wrapping_add(COPIES),
                bytes: handed.bytes,
                lost: 0,
                taken: Some(self.ring.taken()),
            };
            return;
        }
        let copied = reader.read_page_with(&mut self.copy, false, each);
        drop(reader);
        if let Some(copied) = copied {
            self.show_copy(copied.lost);
        }
    }

    /// Makes the copy the current sub-buffer.
    fn show_copy(&mut self, lost: u64) {
        let id = u32::from(self.current.id == 0);
        let words = self.copies.page(id).unwrap_or_default();
        for (word, bytes) in words.iter().zip(self.copy.chunks_exact(size_of::<u32>())) {
            let bytes = bytes.first_chunk().copied().unwrap_or_default();
            word.store_relaxed(u32::from_ne_bytes(bytes));
        }
        let bytes = words.get(COMMIT_WORD).map_or(0, |word| word.load_relaxed());
        self.current = Current {
            id,
            bytes: bytes & COMMIT_LENGTH,
            lost,
            taken: None,
        };
    }

    /// Takes back what other readers have given back to the writers: what is
    /// there then is a copy of nothing.
    fn take_back(&mut self) {
        if self
            .current
            .taken
            .is_some_and(|taken| taken != self.ring.taken())
        {
            self.copy.fill(0);
            self.show_copy(0);
        }
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
            // CAST: At most the number of sub-buffers.
            let index = (in_file / each) as u32;
            let (pages, page) = match index.checked_sub(1) {
                None => (&self.about, 0),
                Some(copy) if copy < COPIES => (&self.copies, copy),
                Some(id) => (self.ring.storage(), id.wrapping_sub(COPIES)),
            };
            area.show(at, pages, page, offset)?;
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
        let mut mappings = self.mappings.lock();
        let (_, mapping) = mappings.of(cpu).ok_or(ENODEV)?;
        let commands = &mut reading.state.commands;
        mapping.hand_out(|note| commands.see(note.pid(), note.name()));
        Ok(())
    }

    /// Tells those who have mapped rings what was read of them. The caller holds
    /// the readers' lock and no reader.
    pub(super) fn tell_mappings(&self) {
        for mapping in self.mappings.lock().0.iter_mut() {
            mapping.take_back();
            mapping.describe();
        }
    }
}
