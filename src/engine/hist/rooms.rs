// SPDX-License-Identifier: GPL-2.0

//! How many entries a histogram has room for, and where.
//!
//! A hit counts in the table of its CPU, which is the fastest. If each CPU had room for all
//! keys, a machine with a hundred CPUs would need a hundred times the memory. So the tables of
//! the CPUs are bounded, and all CPUs share one for the keys that find no room there. A
//! histogram that is not large has none, unless a CPU may come later: the hits of such a CPU
//! are all counted in it.

use super::column::COMM_WORDS;
use super::spec::Spec;
use super::table::{EntryShape, HistTable, SharedTable};
use crate::sys::{AllocError, AtomicU64, PerCpu};

/// Entries of a CPU's own table, if `size=` is not less: the default of `size=`.
const LEAST: usize = 2048;

/// Bytes that a CPU's own table with more entries than [`LEAST`] may have.
const MOST_BYTES: usize = 512 << 10;

impl EntryShape {
    /// Returns the words of an entry of `spec`.
    pub fn of(spec: &Spec) -> Self {
        Self {
            values: spec.values.len(),
            comm: if spec.keeps_comm() { COMM_WORDS } else { 0 },
            keys: spec.key_words(),
            vars: spec.inter.as_ref().map_or(0, |inter| inter.words),
        }
    }
}

impl Spec {
    /// Returns the entries of the table of each CPU that is present.
    fn own_entries(&self) -> usize {
        if self.inter.is_some() {
            // All CPUs find the variables in the table that they share.
            return 0;
        }
        let bytes = HistTable::<AtomicU64>::bytes_of_entry(EntryShape::of(self));
        let fitting = MOST_BYTES.checked_div(bytes).unwrap_or(0);
        self.size.min(fitting.max(LEAST))
    }

    /// Returns the bytes of all tables on a machine with so many CPUs, and maybe more to come.
    pub fn bytes(&self, present: usize, all_present: bool) -> usize {
        let own = self.own_entries();
        let has_shared = own < self.size || !all_present;
        let shared = if has_shared { self.size } else { 0 };
        let entries = own.saturating_mul(present).saturating_add(shared);
        entries.saturating_mul(HistTable::<AtomicU64>::bytes_of_entry(EntryShape::of(self)))
    }

    /// Makes an empty table of a CPU. Of one that is not present it has no room.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// Context: process, may sleep.
    pub fn own_table(&self, is_present: bool) -> Result<HistTable, AllocError> {
        let entries = if is_present { self.own_entries() } else { 0 };
        HistTable::with_shape(EntryShape::of(self), entries)
    }

    /// Makes the empty table that all CPUs share, if the tables `own` of the CPUs have not
    /// enough room.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// Context: process, may sleep.
    pub fn shared_table(&self, own: &PerCpu<HistTable>) -> Result<Option<SharedTable>, AllocError> {
        if own.iter().all(|(_, table)| table.room() >= self.size) {
            return Ok(None);
        }
        HistTable::with_shape(EntryShape::of(self), self.size).map(Some)
    }
}
