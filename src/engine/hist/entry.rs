// SPDX-License-Identifier: GPL-2.0

//! An entry of a table: adding a hit, and reading while hits are added.

use super::column::Fold;
use super::word::HistWord;
use crate::sys;

/// An entry to which a writer adds a hit.
pub struct BucketEntry<'a, W> {
    pub(super) hits: &'a W,
    /// `ended` and the values.
    pub(super) folded: &'a [W],
}

/// What a reader found in an entry.
#[derive(Debug, PartialEq, Eq)]
pub struct Read {
    /// The number of hits.
    pub hits: u64,
    /// Whether hits and values are consistent.
    pub is_whole: bool,
}

impl<W> Clone for BucketEntry<'_, W> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for BucketEntry<'_, W> {}

impl<W: HistWord> BucketEntry<'_, W> {
    /// Begins a hit. [`BucketEntry::end`] must follow.
    ///
    /// Context: any, where the table is written.
    #[inline(always)]
    pub fn begin(self) {
        self.hits.increment();
        if !self.folded.is_empty() {
            // Readers that see the folded values also see the begun hit.
            sys::fence_release();
        }
    }

    /// Folds `value` into the entry's value `n`.
    ///
    /// Context: any, where the table is written.
    #[inline(always)]
    pub fn fold(self, n: usize, fold: Fold, signed: bool, value: u64) {
        let Some(word) = self.folded.get(n.wrapping_add(1)) else {
            return;
        };
        let value = encode(fold, signed, value);
        match fold {
            Fold::Sum | Fold::Avg => word.add(value),
            Fold::Min | Fold::Max => raise(word, value),
        }
    }

    /// Ends a hit.
    ///
    /// Context: any, where the table is written.
    #[inline(always)]
    pub fn end(self) {
        if let Some(ended) = self.folded.first() {
            // Readers that see the end also see the folded values.
            sys::fence_release();
            ended.increment();
        }
    }

    /// Reads the folded values to `out`. Retries, at most `tries` times, until hits and values are
    /// consistent.
    ///
    /// Context: any CPU.
    pub fn read(self, tries: usize, out: &mut [u64]) -> Read {
        let Some((ended, values)) = self.folded.split_first() else {
            return Read {
                hits: self.hits.load(),
                is_whole: true,
            };
        };
        let mut read = Read {
            hits: 0,
            is_whole: false,
        };
        for _ in 0..tries {
            let before = ended.load();
            sys::fence_acquire();
            for (to, word) in out.iter_mut().zip(values) {
                *to = word.load();
            }
            sys::fence_acquire();
            read.hits = self.hits.load();
            read.is_whole = read.hits == before;
            if read.is_whole {
                break;
            }
        }
        read
    }
}

/// Raises `word` to at least `value`.
///
/// Each turn after the first is due to another writer that raised it.
#[inline(always)]
fn raise(word: &impl HistWord, value: u64) {
    loop {
        let found = word.load();
        if found >= value || word.compare_exchange(found, value) {
            return;
        }
    }
}

/// The sign bit.
const SIGN: u64 = 1 << 63;

/// Encodes `value` so that minimum and maximum are found by raising a word that begins as 0.
#[inline(always)]
fn encode(fold: Fold, signed: bool, value: u64) -> u64 {
    let ordered = if signed { value ^ SIGN } else { value };
    match fold {
        Fold::Sum | Fold::Avg => value,
        Fold::Max => ordered,
        Fold::Min => !ordered,
    }
}

/// Reverses [`encode`].
pub(super) fn decode(fold: Fold, signed: bool, word: u64) -> u64 {
    let ordered = match fold {
        Fold::Sum | Fold::Avg => return word,
        Fold::Max => word,
        Fold::Min => !word,
    };
    if signed {
        ordered ^ SIGN
    } else {
        ordered
    }
}
