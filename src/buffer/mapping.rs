// SPDX-License-Identifier: GPL-2.0

//! The rings that tasks have mapped.
//!
//! A mapping consists of a description of the ring (the meta page), two sub-buffers for copies, and
//! the sub-buffers of the ring. A task reads the sub-buffer that the description names, and
//! requests the next one. If possible, the next sub-buffer itself is handed out. Events that
//! writers add to it afterwards are copied; the copy has another id, from which the task sees that
//! there was more. A mapped ring stays the ring of its CPU.
//!
//! The list of mappings has a lock of its own, which is taken after all others: a task that maps
//! holds the lock of its address space, and other tasks may wait for that while they hold any lock
//! under which user memory is accessed. So a new mapping shows an empty copy, and the ring is first
//! used when the task requests a sub-buffer.
//!
//! C header: [`include/uapi/linux/trace_mmap.h`](srctree/include/uapi/linux/trace_mmap.h)

use super::rings::{RingSet, Shared};
use crate::{
    engine::ring::{Note, COMMIT_LENGTH},
    kapi::{mapping::Area, pages::PAGE_SIZE},
    sys::{Pages, Vec},
};
use kernel::prelude::*;

/// The mapped rings.
pub(super) struct Mappings(pub(super) Vec<Mapping>);

/// A mapped ring.
pub(super) struct Mapping {
    ring: Shared,
    /// The description, padded with zeros to the size of a sub-buffer.
    about: Pages,
    /// Two sub-buffers, used in turn.
    copies: Pages,
    /// Memory for making a copy.
    copy: Vec<u8>,
    /// The sub-buffer that is handed out.
    current: CurrentMapping,
    /// The number of mappings.
    pub(super) count: usize,
}

/// The sub-buffer that tasks may read now.
struct CurrentMapping {
    /// Its id: its index in the mapping, without the description.
    id: u32,
    /// Number of bytes of data in it.
    bytes: u32,
    /// Events that were lost before it.
    lost: u64,
    /// [`Ring::taken`](crate::engine::ring::Ring::taken) if it is a sub-buffer of the
    /// ring; `None` for a copy.
    taken: Option<u64>,
}

/// Offset of the commit field of a sub-buffer, in words.
const COMMIT_WORD: usize = 2;

/// Number of sub-buffers for copies.
const COPIES: u32 = 2;

/// Size of the description in bytes.
const ABOUT_BYTES: u32 = 80;

/// Offsets of the fields of the description, in words.
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
            // CAST: The constant 2.
            copies: Pages::new(COPIES as usize, bytes)?,
            copy,
            // An empty copy.
            current: CurrentMapping {
                id: 0,
                bytes: 0,
                lost: 0,
                taken: None,
            },
            count: 0,
        };
        // CAST: At most the size of the largest sub-buffer.
        let bytes = bytes as u32;
        mapping.set(field::PAGE_SIZE, bytes);
        mapping.set(field::LENGTH, ABOUT_BYTES);
        mapping.set(field::SUB_BUFFER_SIZE, bytes);
        mapping.set(field::SUB_BUFFERS, mapping.sub_buffers());
        mapping.describe();
        Ok(mapping)
    }

    fn sub_buffers(&self) -> u32 {
        // CAST: The ring's pages are numbered in 32 bits.
        (self.ring.page_count() as u32).saturating_add(COPIES)
    }

    fn set(&self, at: usize, value: u32) {
        if let Some(word) = self.about.page(0).and_then(|words| words.get(at)) {
            word.store_relaxed(value);
        }
    }

    fn set_long(&self, at: usize, value: u64) {
        // CAST: The low half, then the high half.
        self.set(at, value as u32);
        self.set(at.wrapping_add(1), (value >> 32) as u32);
    }

    /// Updates the fields of the description that change.
    pub(super) fn describe(&self) {
        let stats = self.ring.stats();
        self.set_long(field::READER_LOST, self.current.lost);
        self.set(field::READER_READ, self.current.bytes);
        self.set(field::READER_ID, self.current.id);
        self.set_long(field::ENTRIES, stats.recorded());
        self.set_long(field::OVERRUN, stats.overrun);
        self.set_long(field::READ, stats.read);
    }

    /// Hands out the next sub-buffer, or a copy of what was added to the previous one.
    /// Changes nothing if there is nothing to read.
    pub(super) fn hand_out(&mut self, mut each: impl FnMut(&Note)) {
        let Some(mut reader) = self.ring.reader() else {
            return;
        };
        if let Some(handed) = reader.hand_out(&mut each) {
            self.current = CurrentMapping {
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
        self.current = CurrentMapping {
            id,
            bytes: bytes & COMMIT_LENGTH,
            lost,
            taken: None,
        };
    }

    /// Withdraws the current sub-buffer if another reader has given it back to the
    /// writers. An empty copy replaces it.
    pub(super) fn take_back(&mut self) {
        if self
            .current
            .taken
            .is_some_and(|taken| taken != self.ring.taken())
        {
            self.copy.fill(0);
            self.show_copy(0);
        }
    }

    /// Maps to `area` the pages at its offset in the file.
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
                None => (self.about.view(), 0),
                Some(copy) if copy < COPIES => (self.copies.view(), copy),
                Some(id) => (self.ring.view(), id.wrapping_sub(COPIES)),
            };
            area.show(at, pages, page, offset)?;
        }
        Ok(())
    }
}

impl Mappings {
    /// Makes an empty list.
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn of(&mut self, cpu: u32) -> Option<(usize, &mut Mapping)> {
        let mut all = self.0.iter_mut().enumerate();
        all.find(|(_, mapping)| mapping.ring.cpu() == cpu)
    }

    /// Returns whether the ring of `cpu` is mapped.
    pub(super) fn has(&mut self, cpu: u32) -> bool {
        self.of(cpu).is_some()
    }

    /// Returns whether any ring is mapped.
    pub(super) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    pub(super) fn map(&mut self, rings: &RingSet, cpu: u32, area: &Area<'_>) -> Result {
        if let Some((_, mapping)) = self.of(cpu) {
            mapping.show(area)?;
            mapping.count = mapping.count.saturating_add(1);
            return Ok(());
        }
        let mut mapping = Mapping::new(rings.of(cpu).ok_or(ENODEV)?)?;
        mapping.show(area)?;
        mapping.count = 1;
        // On failure the kernel removes the pages that were mapped.
        Ok(self.0.push(mapping)?)
    }

    pub(super) fn unmap(&mut self, cpu: u32) {
        let Some((index, mapping)) = self.of(cpu) else {
            return;
        };
        mapping.count = mapping.count.saturating_sub(1);
        if mapping.count == 0 {
            drop(self.0.take(index));
        }
    }
}
