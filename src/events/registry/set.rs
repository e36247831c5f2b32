// SPDX-License-Identifier: GPL-2.0

//! The set of probes, in the order of definition.

use crate::{
    engine::definition::{
        ast::{Definition, Deletion},
        kind::ProbeKind,
    },
    events::probe::Probe,
    source::live::Original,
    sys::{AllocError, Vec},
};
use core::{iter, mem, slice};
use kernel::sync::Arc;

pub(super) struct Set {
    slots: Vec<SetSlot>,
    /// The names of the probes, to recognise new names quickly.
    names: NameBits,
}

/// A probe in the set. Copies of some of its properties let a write skip the probes that it does
/// not concern.
struct SetSlot {
    names: Digest,
    /// The last write that deleted it.
    deleted: u64,
    /// [`Probe::original`].
    original: Option<Original>,
    /// The kind, if the probe is in a module.
    in_module: Option<ProbeKind>,
    probe: Arc<Probe>,
}

impl SetSlot {
    fn new(probe: Arc<Probe>) -> Self {
        let definition = probe.definition();
        Self {
            names: Digest::of(definition),
            deleted: 0,
            original: probe.original(),
            in_module: probe.is_in_module().then_some(definition.kind),
            probe,
        }
    }
}

/// The probes that match a deletion, with their indices.
#[derive(Clone)]
pub(super) struct Matching<'a> {
    slots: iter::Enumerate<slice::Iter<'a, SetSlot>>,
    wanted: Wanted,
    write: u64,
    deletion: &'a Deletion,
}

impl<'a> Iterator for Matching<'a> {
    type Item = (usize, &'a Arc<Probe>);

    fn next(&mut self) -> Option<Self::Item> {
        let (wanted, write, deletion) = (self.wanted, self.write, self.deletion);
        let (index, slot) = self.slots.find(|(_, slot)| {
            let is_similar = wanted.may_be(slot.names) && slot.deleted != write;
            is_similar && deletion.matches(slot.probe.definition())
        })?;
        Some((index, &slot.probe))
    }
}

/// The probes with the names of a definition.
pub(super) struct Namesakes<'a> {
    slots: slice::Iter<'a, SetSlot>,
    wanted: Digest,
    write: u64,
    definition: &'a Definition,
}

impl<'a> Iterator for Namesakes<'a> {
    type Item = &'a Arc<Probe>;

    fn next(&mut self) -> Option<Self::Item> {
        for slot in self.slots.by_ref() {
            if slot.names != self.wanted || slot.deleted == self.write {
                continue;
            }
            let other = slot.probe.definition();
            if *other.event == *self.definition.event && *other.group == *self.definition.group {
                return Some(&slot.probe);
            }
        }
        None
    }
}

impl Set {
    /// Makes an empty set.
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            names: NameBits::new(),
        }
    }

    /// Returns the number of probes.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the probes.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Probe>> + Clone {
        self.slots.iter().map(|slot| &slot.probe)
    }

    /// Returns the known original instruction bytes at the probes' locations.
    pub(super) fn originals(&self) -> impl Iterator<Item = &Original> {
        self.slots.iter().filter_map(|slot| slot.original.as_ref())
    }

    /// Returns the kinds of probes in modules.
    pub(super) fn in_modules(&self) -> impl Iterator<Item = ProbeKind> + Clone + '_ {
        self.slots.iter().filter_map(|slot| slot.in_module)
    }

    /// Returns the probe at `index`.
    pub(super) fn get(&self, index: usize) -> Option<&Arc<Probe>> {
        self.slots.get(index).map(|slot| &slot.probe)
    }

    /// Replaces the probe at `index` by `probe` of the same event. Returns the former probe.
    pub(super) fn replace(&mut self, index: usize, probe: Arc<Probe>) -> Option<Arc<Probe>> {
        let slot = self.slots.get_mut(index)?;
        Some(mem::replace(slot, SetSlot::new(probe)).probe)
    }

    /// Returns the probes with the names of `definition`, except those that `write` has deleted.
    pub(super) fn named<'a>(&'a self, definition: &'a Definition, write: u64) -> Namesakes<'a> {
        let wanted = Digest::of(definition);
        let slots = match self.names.may_have(wanted) {
            true => &*self.slots,
            false => &[],
        };
        Namesakes {
            slots: slots.iter(),
            wanted,
            write,
            definition,
        }
    }

    /// Returns whether a probe has the names of `definition`.
    pub(super) fn has(&self, definition: &Definition) -> bool {
        self.named(definition, NO_WRITE).next().is_some()
    }

    /// Returns the probes that `write` has deleted.
    pub(super) fn deleted(&self, write: u64) -> impl Iterator<Item = &Arc<Probe>> {
        let slots = self.slots.iter().filter(move |slot| slot.deleted == write);
        slots.map(|slot| &slot.probe)
    }

    /// Returns indices and probes that match `deletion`, except those that `write` has deleted.
    pub(super) fn matching<'a>(&'a self, deletion: &'a Deletion, write: u64) -> Matching<'a> {
        Matching {
            slots: self.slots.iter().enumerate(),
            wanted: Wanted::by(deletion),
            write,
            deletion,
        }
    }

    /// Notes that `write` deletes the probe at `index`.
    pub(super) fn delete(&mut self, index: usize, write: u64) {
        if let Some(slot) = self.slots.get_mut(index) {
            slot.deleted = write;
        }
    }

    /// Reserves memory for `additional` probes.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub(super) fn reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        if additional > 0 {
            self.names.make_room()?;
        }
        self.slots.reserve(additional)
    }

    /// Adds a probe; there is room.
    pub(super) fn push(&mut self, probe: Arc<Probe>) {
        let slot = SetSlot::new(probe);
        self.names.add(slot.names);
        let _ = self.slots.push(slot);
    }

    /// Removes the probe at `index` from the set.
    pub(super) fn take(&mut self, index: usize) -> Option<Arc<Probe>> {
        let taken = self.slots.take(index).map(|slot| slot.probe);
        if self.slots.is_empty() {
            // The set keeps the memory.
            self.names.clear();
        }
        taken
    }

    /// Moves all probes to the end of `set`, which has room, and calls `moved` with each.
    pub(super) fn move_to(&mut self, set: &mut Self, moved: impl Fn(&Probe)) {
        for slot in mem::take(&mut self.slots) {
            moved(&slot.probe);
            set.names.add(slot.names);
            let _ = set.slots.push(slot);
        }
        self.names = NameBits::new();
    }

    /// Removes the last probe from the set.
    pub(super) fn pop(&mut self) -> Option<Arc<Probe>> {
        self.slots.pop().map(|slot| slot.probe)
    }

    /// Removes the probes that `write` has deleted, and passes them to `taken`, the latest first.
    pub(super) fn take_deleted(&mut self, write: u64, mut taken: impl FnMut(Arc<Probe>)) {
        for index in (0..self.slots.len()).rev() {
            if self
                .slots
                .get(index)
                .is_some_and(|slot| slot.deleted == write)
            {
                if let Some(probe) = self.take(index) {
                    taken(probe);
                }
            }
        }
    }
}

/// A number that no write has.
pub(super) const NO_WRITE: u64 = u64::MAX;

/// A hash of the names of a group and an event.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Digest {
    // Compared first: many events have the same group.
    event: u32,
    group: u32,
}

impl Digest {
    fn of(definition: &Definition) -> Self {
        Self {
            event: digest(&definition.event),
            group: digest(&definition.group),
        }
    }
}

/// A Bloom filter of names, with one hash function. Most definitions have new names; this
/// recognises them without a look at each probe.
struct NameBits(Vec<u64>);

impl NameBits {
    /// With a thousand names, one in eight lookups of a new name is a false positive. Twice the
    /// bits halve that.
    const BITS: u32 = 8192;

    const fn new() -> Self {
        Self(Vec::new())
    }

    /// Allocates the filter.
    fn make_room(&mut self) -> Result<(), AllocError> {
        while self.0.len() < (Self::BITS / u64::BITS) as usize {
            self.0.push(0)?;
        }
        Ok(())
    }

    /// Removes all names, and keeps the memory.
    fn clear(&mut self) {
        self.0.iter_mut().for_each(|word| *word = 0);
    }

    /// Returns the index and the bit of a name.
    fn place(names: Digest) -> (usize, u64) {
        let bit = (names.event ^ names.group.rotate_left(16)) % Self::BITS;
        // CAST: Lossless.
        ((bit / u64::BITS) as usize, 1 << (bit % u64::BITS))
    }

    /// Adds a name; the filter is allocated.
    fn add(&mut self, names: Digest) {
        let (word, bit) = Self::place(names);
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    /// Returns false if the name has certainly not been added.
    fn may_have(&self, names: Digest) -> bool {
        let (word, bit) = Self::place(names);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }
}

/// The hashes that a deletion matches; `None` matches any.
#[derive(Clone, Copy)]
struct Wanted {
    group: Option<u32>,
    event: Option<u32>,
}

impl Wanted {
    fn by(deletion: &Deletion) -> Self {
        Self {
            group: deletion.group.as_deref().map(digest),
            event: deletion.event.as_deref().map(digest),
        }
    }

    fn may_be(self, names: Digest) -> bool {
        self.group.is_none_or(|group| group == names.group)
            && self.event.is_none_or(|event| event == names.event)
    }
}

/// The FNV-1a hash of a name.
fn digest(name: &[u8]) -> u32 {
    name.iter().fold(0x811c_9dc5, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
