// SPDX-License-Identifier: GPL-2.0

//! Adds up the tables of all CPUs and sorts the entries.

use core::cmp::Ordering;

use super::order;
use super::spec::{Column, Fold, Key, Source, Spec, Value};
use super::table::{decode, Shape};
use super::update::Histogram;
use crate::sys::{AllocError, Vec};

/// How often an entry is read until its hits and values belong together.
const TRIES: usize = 64;

/// What a histogram has counted, sorted.
pub struct Snapshot<'a> {
    pub(super) spec: &'a Spec,
    shape: Shape,
    /// For each row its keys, the name of a task, its hits and its values.
    words: Vec<u64>,
    /// The rows that are shown, sorted.
    rows: Vec<u32>,
    hits: u64,
    dropped: u64,
    torn: u64,
}

/// An entry.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    /// The words of all keys.
    pub(super) keys: &'a [u64],
    /// The name of a task, if it is kept.
    pub(super) comm: &'a [u64],
    /// The number of hits.
    pub(super) hits: u64,
    /// The values as they are folded.
    values: &'a [u64],
}

impl Row<'_> {
    /// Returns value `n`: as 64 bits, which are signed if the value is.
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
        let hits = self.tables().iter().map(|(_, table)| table.hits());
        hits.fold(0, u64::wrapping_add)
    }

    /// Returns what was counted up to now. Hits go on being counted; the hits of an entry
    /// belong together with its values, unless the snapshot [says](Snapshot::torn) otherwise.
    ///
    /// Context: process, may sleep.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    pub fn read(&self) -> Result<Snapshot<'_>, AllocError> {
        let spec = self.spec();
        let mut snapshot = Snapshot {
            spec,
            shape: Shape::of(spec),
            words: Vec::new(),
            rows: Vec::new(),
            hits: 0,
            dropped: 0,
            torn: 0,
        };
        for (_, table) in self.tables().iter() {
            snapshot.dropped = snapshot.dropped.wrapping_add(table.dropped());
            table.read(TRIES, |keys, comm, values, read| {
                snapshot.hits = snapshot.hits.wrapping_add(read.hits);
                snapshot.torn = snapshot.torn.wrapping_add(u64::from(!read.is_whole));
                let number = u32::try_from(snapshot.rows.len()).map_err(|_| AllocError)?;
                snapshot.words.extend_from_slice(keys)?;
                snapshot.words.extend_from_slice(comm)?;
                snapshot.words.push(read.hits)?;
                snapshot.words.extend_from_slice(values)?;
                snapshot.rows.push(number)
            })?;
        }
        snapshot.merge()?;
        snapshot.sort()?;
        Ok(snapshot)
    }
}

impl Snapshot<'_> {
    /// Returns the number of hits in all entries.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Returns the number of hits for which there was no room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the number of entries.
    pub fn entries(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of entries that were written all the time while they were read, so
    /// that their values may have a few hits more or less than is shown.
    pub fn torn(&self) -> u64 {
        self.torn
    }

    /// Calls `each` with the words of the keys, the hits and the values of every entry.
    pub fn for_each(&self, mut each: impl FnMut(&[u64], u64, &[u64])) {
        for row in self.rows() {
            let mut values = [0; super::spec::MAX_VALUES];
            for (n, (to, value)) in values.iter_mut().zip(&self.spec.values).enumerate() {
                *to = row.value(n, value);
            }
            let values = values.get(..self.spec.values.len()).unwrap_or_default();
            each(row.keys, row.hits, values);
        }
    }

    /// Returns the entries, in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().filter_map(|&number| self.row(number))
    }

    fn stride(&self) -> usize {
        let Shape { values, comm, keys } = self.shape;
        keys.saturating_add(comm)
            .saturating_add(values)
            .saturating_add(1)
    }

    fn row(&self, number: u32) -> Option<Row<'_>> {
        let stride = self.stride();
        let start = usize::try_from(number).ok()?.checked_mul(stride)?;
        let words = self.words.get(start..start.checked_add(stride)?)?;
        let (keys, rest) = words.split_at_checked(self.shape.keys)?;
        let (comm, rest) = rest.split_at_checked(self.shape.comm)?;
        let (hits, values) = rest.split_first()?;
        Some(Row {
            keys,
            comm,
            hits: *hits,
            values,
        })
    }

    /// Adds up the rows with equal keys, which several CPUs and nested writers have made.
    fn merge(&mut self) -> Result<(), AllocError> {
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
        let first = self.shape.keys.saturating_add(self.shape.comm);
        // CAST: as many as there are in memory.
        let at = |number: u32, n: usize| (number as usize).saturating_mul(stride).saturating_add(n);
        for n in first..stride {
            let added = self.words.get(at(from, n)).copied().unwrap_or(0);
            let column = n.saturating_sub(first).checked_sub(1);
            let value = column.and_then(|column| self.spec.values.get(column));
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
        let (a, b) = (self.row(a), self.row(b));
        a.map(|row| row.keys).cmp(&b.map(|row| row.keys))
    }

    /// Sorts as the trigger says; what is equal by that, by the keys.
    fn sort(&mut self) -> Result<(), AllocError> {
        let mut rows = core::mem::take(&mut self.rows);
        order::sort(&mut rows, |a, b| {
            let (Some(a), Some(b)) = (self.row(a), self.row(b)) else {
                return Ordering::Equal;
            };
            let sorts = self.spec.sorts.iter().map(|sort| {
                let order = self.compare(sort.by, a, b);
                if sort.descending {
                    order.reverse()
                } else {
                    order
                }
            });
            let all = (0..self.spec.keys.len()).map(|n| self.compare(Column::Key(n), a, b));
            let mut orders = Iterator::chain(sorts, all);
            let decided = orders.find(|&order| order != Ordering::Equal);
            decided.unwrap_or(Ordering::Equal)
        })?;
        self.rows = rows;
        Ok(())
    }

    fn compare(&self, column: Column, a: Row<'_>, b: Row<'_>) -> Ordering {
        match column {
            Column::Hits => a.hits.cmp(&b.hits),
            Column::Value(n) => {
                let Some(value) = self.spec.values.get(n) else {
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
                let Some(key) = self.spec.keys.get(n) else {
                    return Ordering::Equal;
                };
                key.compare(self.key(n, a), self.key(n, b))
            }
        }
    }

    /// Returns the words of key `n`.
    pub(super) fn key<'r>(&self, n: usize, row: Row<'r>) -> &'r [u64] {
        let before = self.spec.keys.iter().take(n).map(Key::words);
        let start = before.fold(0, usize::saturating_add);
        let words = self.spec.keys.get(n).map_or(0, Key::words);
        let end = start.saturating_add(words);
        row.keys.get(start..end).unwrap_or_default()
    }
}

impl Value {
    /// Returns whether it is shown and sorted with its sign. Sums are not, as in the kernel.
    pub(super) fn is_signed(&self) -> bool {
        let (_, signed) = self.source.shape();
        signed && self.fold != Fold::Sum
    }
}

impl Key {
    /// Compares as the kernel does: numbers by their width and sign, texts by their bytes.
    fn compare(&self, a: &[u64], b: &[u64]) -> Ordering {
        match self.source {
            Source::Text { .. } | Source::Comm => {
                let bytes = |words: &[u64]| words.first().copied().map(u64::swap_bytes);
                let each = |n: usize| {
                    bytes(a.get(n..).unwrap_or_default())
                        .cmp(&bytes(b.get(n..).unwrap_or_default()))
                };
                let mut orders = (0..a.len()).map(each);
                let decided = orders.find(|&order| order != Ordering::Equal);
                decided.unwrap_or(Ordering::Equal)
            }
            Source::Stack => a.cmp(b),
            source => {
                let (width, signed) = source.shape();
                let unused = 64u32.saturating_sub(u32::from(width).saturating_mul(8));
                let high = |words: &[u64]| words.first().map(|word| word.wrapping_shl(unused));
                if signed {
                    // CAST: two's complement.
                    let signed = |words: &[u64]| high(words).map(|word| word as i64);
                    signed(a).cmp(&signed(b))
                } else {
                    high(a).cmp(&high(b))
                }
            }
        }
    }
}
