// SPDX-License-Identifier: GPL-2.0

//! The size of a histogram's tables.
//!
//! The fastest place to count a hit is a table of the CPU. But with room for all keys on each CPU,
//! a machine with a hundred CPUs would need a hundred times the memory. So a CPU's table has
//! limited room, and one shared table takes the keys that do not fit. A small histogram has no
//! shared table, unless a CPU may be added later: hits on such a CPU are counted in the shared
//! table.

use super::column::COMM_WORDS;
use super::spec::Spec;
use super::table::{EntryShape, HistTable, SharedTable};
use crate::sys::{AllocError, AtomicU64, PerCpu};

/// Number of entries of a CPU's table, or `size=` if that is less: the default of `size=`.
const LEAST: usize = 2048;

/// Maximum number of bytes of a CPU's table that has more than [`LEAST`] entries.
const MOST_BYTES: usize = 512 << 10;

impl EntryShape {
    /// Returns the entry layout for `spec`.
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
    /// Returns the entries of the table of each present CPU.
    fn own_entries(&self) -> usize {
        if self.inter.is_some() {
            // Variables are found in the shared table only.
            return 0;
        }
        let bytes = HistTable::<AtomicU64>::bytes_of_entry(EntryShape::of(self));
        let fitting = MOST_BYTES.checked_div(bytes).unwrap_or(0);
        self.size.min(fitting.max(LEAST))
    }

    /// Returns the bytes of all tables for `present` CPUs; unless `all_present`, with the shared
    /// table that later CPUs need.
    pub fn bytes(&self, present: usize, all_present: bool) -> usize {
        let own = self.own_entries();
        let has_shared = own < self.size || !all_present;
        let shared = if has_shared { self.size } else { 0 };
        let entries = own.saturating_mul(present).saturating_add(shared);
        entries.saturating_mul(HistTable::<AtomicU64>::bytes_of_entry(EntryShape::of(self)))
    }

    /// Makes an empty table for a CPU; without room if the CPU is not present.
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

    /// Makes the empty shared table, if the tables `own` of the CPUs have too little room.
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
