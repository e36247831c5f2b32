// SPDX-License-Identifier: GPL-2.0

//! Reads a histogram: adds up the tables and sorts the entries.
//!
//! A snapshot refers to the keys in the tables, as keys do not change. The exception are
//! inter-event histograms, which are cleared in place, see [`Snapshot::is_cleared`].

use core::cmp::Ordering;
use core::ops::Deref;

use super::column::{Column, Fold, Key, KeySource, Value, COMM_WORDS, MAX_KEY_WORDS, MAX_VALUES};
use super::entry::{decode, Read};
use super::order;
use super::spec::Spec;
use super::stop::Stop;
use super::table::{HistTable, StoredKey};
use super::update::Histogram;
use super::word::HistWord;
use crate::sys::{AtomicU64, Vec};

/// Maximum number of attempts to read an entry consistently.
const TRIES: usize = 64;

/// Index of a row's first value.
const FIRST_VALUE: usize = 3;

/// Index of a row's hits.
const HITS: usize = 2;

/// The table number of the shared table; other numbers are CPUs.
const SHARED: u32 = u32::MAX;

/// The sorted contents of a histogram at one time. `H` is a reference to the histogram.
pub struct Snapshot<H> {
    histogram: H,
    /// The generation of the entries, see
    /// [`VarTable::generation`](super::variable::VarTable::generation).
    generation: u64,
    /// The rows: table, slot, hits and values of an entry.
    words: Vec<u64>,
    /// The numbers of the rows to show, sorted.
    rows: Vec<u32>,
    hits: u64,
    dropped: u64,
    torn: u64,
    /// Sum and maximum of each value over all rows.
    sums: [u64; MAX_VALUES],
    mosts: [u64; MAX_VALUES],
}

/// An entry.
#[derive(Clone, Copy)]
pub(super) struct ReadRow<'a> {
    place: ReadPlace<'a>,
    pub(super) hits: u64,
    /// The values, still [encoded](super::entry).
    values: &'a [u64],
}

/// Where an entry's key is stored.
#[derive(Clone, Copy)]
enum ReadPlace<'a> {
    /// Slot of a CPU's table.
    Own(&'a HistTable, usize),
    /// Slot of the shared table.
    Shared(&'a HistTable<AtomicU64>, usize),
}

/// The words of a key.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    place: ReadPlace<'a>,
    from: usize,
    length: usize,
}

impl<'a> Words<'a> {
    /// Returns word `n`; 0 if there is none.
    pub(super) fn get(self, n: usize) -> u64 {
        if n >= self.length {
            return 0;
        }
        let n = n.saturating_add(self.from);
        match self.place {
            ReadPlace::Own(table, slot) => table.key_word(slot, n),
            ReadPlace::Shared(table, slot) => table.key_word(slot, n),
        }
    }

    /// Compares word by word.
    pub(super) fn cmp(self, other: Words<'_>) -> Ordering {
        self.iter().cmp(other.iter())
    }

    /// Returns all words.
    pub(super) fn iter(self) -> impl Iterator<Item = u64> + 'a {
        (0..self.length).map(move |n| self.get(n))
    }
}

impl ReadRow<'_> {
    /// Returns the comm of the task, if it is kept.
    pub(super) fn comm(&self) -> [u64; COMM_WORDS] {
        fn words<W: HistWord>(stored: Option<StoredKey<'_, W>>) -> [u64; COMM_WORDS] {
            let word = |n| stored.as_ref().map_or(0, |stored| stored.comm_word(n));
            core::array::from_fn(word)
        }
        match self.place {
            ReadPlace::Own(table, slot) => words(table.stored(slot)),
            ReadPlace::Shared(table, slot) => words(table.stored(slot)),
        }
    }

    /// Returns the variable words of an inter-event histogram's entry.
    pub(super) fn vars(&self) -> &[AtomicU64] {
        match self.place {
            ReadPlace::Own(..) => &[],
            ReadPlace::Shared(table, slot) => table.vars_of(slot),
        }
    }

    /// Returns value `n`, 64 bits wide; signed if the value is.
    pub(super) fn value(&self, n: usize, value: &Value) -> u64 {
        let word = self.values.get(n).copied().unwrap_or(0);
        let (_, signed) = value.source.shape();
        match value.fold {
            Fold::Avg if signed => {
                // CAST: two's complement. A number of hits is less than 2^63.
                let mean = (word as i64).checked_div(self.hits as i64);
                mean.unwrap_or(0) as u64
            }
            Fold::Avg => word.checked_div(self.hits).unwrap_or(0),
            fold => decode(fold, signed, word),
        }
    }
}

impl Histogram {
    /// Returns the number of hits in all entries.
    ///
    /// Context: process, may sleep.
    pub fn hits(&self) -> u64 {
        let shared = self.shared().map(HistTable::hits);
        let own = self.tables().iter().map(|(_, table)| table.hits());
        own.chain(shared).fold(0, u64::wrapping_add)
    }

    /// See [`Snapshot::of`].
    ///
    /// # Errors
    ///
    /// [`Stop`].
    ///
    /// Context: process, may sleep.
    pub fn read(&self) -> Result<Snapshot<&Self>, Stop> {
        Snapshot::of(self)
    }
}

impl<H> Snapshot<H> {
    /// Replaces the reference to the histogram.
    pub(super) fn refer_by<G>(self, histogram: G) -> Snapshot<G> {
        Snapshot {
            histogram,
            generation: self.generation,
            words: self.words,
            rows: self.rows,
            hits: self.hits,
            dropped: self.dropped,
            torn: self.torn,
            sums: self.sums,
            mosts: self.mosts,
        }
    }
}

impl<H: Deref<Target = Histogram>> Snapshot<H> {
    /// Reads the hits that `histogram` has counted so far. Hits continue to be counted; hits and
    /// values of each entry are consistent, except for [`Snapshot::torn`] entries.
    ///
    /// # Errors
    ///
    /// [`Stop`].
    ///
    /// Context: process, may sleep.
    pub fn of(histogram: H) -> Result<Self, Stop> {
        let generation = histogram.var_table().map_or(0, |table| table.generation());
        let mut snapshot = Self {
            histogram,
            generation,
            words: Vec::new(),
            rows: Vec::new(),
            hits: 0,
            dropped: 0,
            torn: 0,
            sums: [0; MAX_VALUES],
            mosts: [0; MAX_VALUES],
        };
        snapshot.fill()?;
        snapshot.merge()?;
        snapshot.sort()?;
        snapshot.total();
        Ok(snapshot)
    }

    pub(super) fn spec(&self) -> &Spec {
        self.histogram.spec()
    }

    /// Returns whether the histogram has been cleared since. Discard what was read of entries
    /// before the call: their keys may have changed.
    pub(super) fn is_cleared(&self) -> bool {
        let table = self.histogram.var_table();
        table.is_some_and(|table| !table.is_as_since(self.generation))
    }

    /// Returns value and entry for which the last snapshot of the buffer was taken.
    pub(super) fn taken(&self) -> Option<(u64, ReadRow<'_>)> {
        let var_table = self.histogram.var_table()?;
        let slot = var_table.taken_at.load_relaxed().checked_sub(1)?;
        let place = ReadPlace::Shared(&var_table.table, usize::try_from(slot).ok()?);
        let row = ReadRow {
            place,
            hits: 0,
            values: &[],
        };
        Some((var_table.taken_for.load_relaxed(), row))
    }

    /// Reads all tables.
    fn fill(&mut self) -> Result<(), Stop> {
        let (mut words, mut rows) = (Vec::new(), Vec::new());
        let (mut hits, mut torn) = (0u64, 0u64);
        let mut add = |table: u32, slot: usize, values: &[u64], read: Read| {
            hits = hits.wrapping_add(read.hits);
            torn = torn.wrapping_add(u64::from(!read.is_whole));
            let row = u32::try_from(rows.len()).map_err(|_| Stop::NoMemory)?;
            // CAST: A slot in memory has at most 64 bits.
            words.extend_from_slice(&[table.into(), slot as u64, read.hits])?;
            words.extend_from_slice(values)?;
            Ok(rows.push(row)?)
        };
        let mut dropped = 0u64;
        for (cpu, table) in self.histogram.tables().iter() {
            dropped = dropped.wrapping_add(table.dropped());
            table.read(TRIES, |slot, values, read| add(cpu, slot, values, read))?;
        }
        if let Some(table) = self.histogram.shared() {
            dropped = dropped.wrapping_add(table.dropped());
            table.read(TRIES, |slot, values, read| add(SHARED, slot, values, read))?;
        }
        (self.words, self.rows) = (words, rows);
        (self.hits, self.torn, self.dropped) = (hits, torn, dropped);
        Ok(())
    }

    /// Returns the number of hits in all entries.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Returns the number of hits without an entry.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the number of entries.
    pub fn entries(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of entries that changed during every attempt to read them. Their values
    /// may be off by a few hits.
    pub fn torn(&self) -> u64 {
        self.torn
    }

    /// Calls `each` with the words of the keys, the hits and the values of every entry.
    pub fn for_each(&self, mut each: impl FnMut(&[u64], u64, &[u64])) {
        let spec = self.spec();
        for row in self.rows() {
            let mut values = [0; MAX_VALUES];
            for (n, (to, value)) in values.iter_mut().zip(&spec.values).enumerate() {
                *to = row.value(n, value);
            }
            let values = values.get(..spec.values.len()).unwrap_or_default();
            let mut keys = [0; MAX_KEY_WORDS];
            for (to, word) in keys.iter_mut().zip(self.keys(row).iter()) {
                *to = word;
            }
            let keys = keys.get(..spec.key_words()).unwrap_or_default();
            each(keys, row.hits, values);
        }
    }

    /// Returns the entries, in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = ReadRow<'_>> {
        self.rows.iter().filter_map(|&number| self.row(number))
    }

    /// Returns entry `n` of [`Snapshot::rows`].
    pub(super) fn nth(&self, n: usize) -> Option<ReadRow<'_>> {
        self.row(*self.rows.get(n)?)
    }

    fn stride(&self) -> usize {
        self.spec().values.len().saturating_add(FIRST_VALUE)
    }

    fn row(&self, number: u32) -> Option<ReadRow<'_>> {
        let stride = self.stride();
        let start = usize::try_from(number).ok()?.checked_mul(stride)?;
        let words = self.words.get(start..start.checked_add(stride)?)?;
        let [table, slot, hits, values @ ..] = words else {
            return None;
        };
        let slot = usize::try_from(*slot).ok()?;
        let place = match u32::try_from(*table).ok()? {
            SHARED => ReadPlace::Shared(self.histogram.shared()?, slot),
            cpu => ReadPlace::Own(self.histogram.tables().get(cpu)?, slot),
        };
        Some(ReadRow {
            place,
            hits: *hits,
            values,
        })
    }

    /// Adds up rows with equal keys, made by several CPUs or nested writers.
    fn merge(&mut self) -> Result<(), Stop> {
        let mut rows = core::mem::take(&mut self.rows);
        order::sort(&mut rows, |a, b| self.compare_keys(a, b))?;
        let mut merged: Vec<u32> = Vec::new();
        for &number in &rows {
            match merged.last() {
                Some(&first) if self.compare_keys(first, number) == Ordering::Equal => {
                    self.add(first, number);
                }
                _ => merged.push(number)?,
            }
        }
        self.rows = merged;
        Ok(())
    }

    /// Adds row `from` to row `to`.
    fn add(&mut self, to: u32, from: u32) {
        let stride = self.stride();
        // CAST: as many as there are in memory.
        let at = |number: u32, n: usize| (number as usize).saturating_mul(stride).saturating_add(n);
        for n in HITS..stride {
            let added = self.words.get(at(from, n)).copied().unwrap_or(0);
            let column = n.checked_sub(FIRST_VALUE);
            let value = column.and_then(|column| self.histogram.spec().values.get(column));
            let Some(word) = self.words.get_mut(at(to, n)) else {
                return;
            };
            *word = match value.map(|value| value.fold) {
                Some(Fold::Min | Fold::Max) => added.max(*word),
                Some(Fold::Sum | Fold::Avg) | None => added.wrapping_add(*word),
            };
        }
    }

    fn compare_keys(&self, a: u32, b: u32) -> Ordering {
        match (self.row(a), self.row(b)) {
            (Some(a), Some(b)) => self.keys(a).cmp(self.keys(b)),
            _ => Ordering::Equal,
        }
    }

    /// Computes sum and maximum of each value.
    fn total(&mut self) {
        let (mut sums, mut mosts) = ([0u64; MAX_VALUES], [0u64; MAX_VALUES]);
        for row in self.rows() {
            let values = self.spec().values.iter().enumerate();
            for ((sum, most), (n, value)) in sums.iter_mut().zip(&mut mosts).zip(values) {
                let number = row.value(n, value);
                *sum = sum.wrapping_add(number);
                *most = match value.is_signed() {
                    // CAST: two's complement. A negative number has no bar, so 0 is the least.
                    true => (number as i64).max(*most as i64) as u64,
                    false => number.max(*most),
                };
            }
        }
        (self.sums, self.mosts) = (sums, mosts);
    }

    /// Returns the sum of value `n` over all entries.
    pub(super) fn sum(&self, n: usize) -> u64 {
        self.sums.get(n).copied().unwrap_or(0)
    }

    /// Returns the maximum of value `n` over all entries.
    pub(super) fn most(&self, n: usize) -> u64 {
        self.mosts.get(n).copied().unwrap_or(0)
    }

    /// Sorts by the trigger's sort keys, then by the histogram's keys.
    fn sort(&mut self) -> Result<(), Stop> {
        let mut rows = core::mem::take(&mut self.rows);
        order::sort(&mut rows, |a, b| {
            let (Some(a), Some(b)) = (self.row(a), self.row(b)) else {
                return Ordering::Equal;
            };
            let sorts = self.spec().sorts.iter().map(|sort| {
                let order = self.compare(sort.by, a, b);
                if sort.descending {
                    order.reverse()
                } else {
                    order
                }
            });
            let all = (0..self.spec().keys.len()).map(|n| self.compare(Column::Key(n), a, b));
            let mut orders = Iterator::chain(sorts, all);
            let decided = orders.find(|&order| order != Ordering::Equal);
            decided.unwrap_or(Ordering::Equal)
        })?;
        self.rows = rows;
        Ok(())
    }

    pub(super) fn compare(&self, column: Column, a: ReadRow<'_>, b: ReadRow<'_>) -> Ordering {
        match column {
            Column::Hits => a.hits.cmp(&b.hits),
            Column::Value(n) => {
                let Some(value) = self.spec().values.get(n) else {
                    return Ordering::Equal;
                };
                let (left, right) = (a.value(n, value), b.value(n, value));
                if value.is_signed() {
                    // CAST: two's complement.
                    (left as i64).cmp(&(right as i64))
                } else {
                    left.cmp(&right)
                }
            }
            Column::Key(n) => {
                let Some(key) = self.spec().keys.get(n) else {
                    return Ordering::Equal;
                };
                key.compare(self.key(n, a), self.key(n, b))
            }
        }
    }

    /// Returns the words of all keys.
    fn keys<'r>(&self, row: ReadRow<'r>) -> Words<'r> {
        Words {
            place: row.place,
            from: 0,
            length: self.spec().key_words(),
        }
    }

    pub(super) fn key<'r>(&self, n: usize, row: ReadRow<'r>) -> Words<'r> {
        let keys = &self.spec().keys;
        let before = keys.iter().take(n).map(Key::words);
        Words {
            place: row.place,
            from: before.fold(0, usize::saturating_add),
            length: keys.get(n).map_or(0, Key::words),
        }
    }
}

impl Value {
    /// Returns whether the value is shown and sorted as signed.
    pub(super) fn is_signed(&self) -> bool {
        self.source.shape().1
    }
}

impl Key {
    /// Compares numbers by width and sign, strings by bytes.
    fn compare(&self, a: Words<'_>, b: Words<'_>) -> Ordering {
        match self.source {
            KeySource::Text { .. } | KeySource::Comm => {
                let (a, b) = (a.iter(), b.iter());
                a.map(u64::swap_bytes).cmp(b.map(u64::swap_bytes))
            }
            KeySource::Stack | KeySource::UserStack => a.cmp(b),
            source @ KeySource::Array { .. } => {
                let (_, signed) = source.shape();
                // Flipping the sign bit maps signed order to unsigned order.
                let flip = if signed { 1 << 63 } else { 0 };
                let order = |word: u64| word ^ flip;
                a.iter().map(order).cmp(b.iter().map(order))
            }
            source => {
                let (width, signed) = source.shape();
                if signed {
                    // CAST: two's complement.
                    return (a.get(0) as i64).cmp(&(b.get(0) as i64));
                }
                let unused = 64u32.saturating_sub(u32::from(width).saturating_mul(8));
                let high = |words: Words<'_>| words.get(0).wrapping_shl(unused);
                high(a).cmp(&high(b))
            }
        }
    }
}
