// SPDX-License-Identifier: GPL-2.0

//! The entries of one CPU.
//!
//! One CPU writes, and a writer may be interrupted between any two instructions by another
//! one on the same CPU. Other CPUs only read. All memory is allocated when the table is
//! made; nothing is removed.
//!
//! An entry is found by open addressing with at most [`PROBES`] steps. Its words are::
//!
//! ```text
//! claim | hits | [ended | values ...] | [comm | comm] | [keys ...]
//! ```
//!
//! In a table of one word `claim` is the key itself, [mixed](SALT) so that it is not 0; a
//! compare-exchange claims the entry and writes the key at once. In any other table it is a
//! tag of the key's hash with two bits: the entry is claimed, and its key is complete. A
//! writer that finds an entry claimed and not complete has interrupted its owner, and takes
//! another entry: the same key may be in several entries, which the reader adds up.
//!
//! A hit adds 1 to `hits`, folds the values, and adds 1 to `ended`. No writer is between the
//! two if they are equal, however deeply writers are nested; so a reader that reads `ended`
//! first and `hits` last knows whether what it read belongs together.

use super::spec::{Fold, Spec, COMM_WORDS};
use crate::sys::{self, AllocError, PublishedWord, Vec};

/// Most entries that are looked at to find a key. A table is at most four fifths full, so
/// keys are this far from their place only if their hashes are made for it.
const PROBES: usize = 256;

/// Entries that [`Table::near`] looks at.
const NEAR: usize = 8;

/// Words of a table that are written before another task may run.
const WORDS_AT_ONCE: usize = 1 << 16;

/// Slots that are read before another task may run.
const SLOTS_AT_ONCE: usize = 1 << 13;

/// What a key of one word is combined with. The result must not be 0, which is a free
/// entry; the one key for which it is has an entry of its own.
const SALT: u64 = 0x5bf0_3635_dcd3_8a4d;

/// Multiplier of hashes: 2^64 divided by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Bit of a claim: an entry is claimed.
const CLAIMED: u64 = 1;

/// Bits of a claim: an entry is claimed, and its key is complete.
const COMPLETE: u64 = 3;

/// The words of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of values.
    pub values: usize,
    /// Words of a task's name: 0 or [`COMM_WORDS`].
    pub comm: usize,
    /// Words of the keys.
    pub keys: usize,
}

impl Shape {
    /// Returns the words of an entry of `spec`.
    pub fn of(spec: &Spec) -> Self {
        Self {
            values: spec.values.len(),
            comm: if spec.keeps_comm() { COMM_WORDS } else { 0 },
            keys: spec.key_words(),
        }
    }

    /// Returns whether the key is the claim itself.
    #[inline(always)]
    pub fn is_word(self) -> bool {
        self.keys == 1 && self.comm == 0
    }

    /// Returns the words of `ended` and the values.
    #[inline(always)]
    fn folded(self) -> usize {
        match self.values {
            0 => 0,
            values => values.wrapping_add(1),
        }
    }

    fn stride(self) -> usize {
        let behind = if self.is_word() {
            0
        } else {
            self.comm.saturating_add(self.keys)
        };
        self.folded().saturating_add(behind).saturating_add(2)
    }
}

/// The entries of one CPU.
pub struct Table {
    words: Vec<PublishedWord>,
    shape: Shape,
    /// Words of an entry.
    stride: usize,
    /// Words of an entry before its key, if the key is not the claim.
    before_key: usize,
    /// Entries that keys are hashed to.
    slots: usize,
    /// Most entries that may be claimed.
    limit: u64,
    claimed: PublishedWord,
    dropped: PublishedWord,
}

/// An entry to which a writer adds a hit.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    hits: &'a PublishedWord,
    /// `ended` and the values.
    folded: &'a [PublishedWord],
}

/// What a reader found in an entry.
#[derive(Debug, PartialEq, Eq)]
pub struct Read {
    /// The number of hits.
    pub hits: u64,
    /// Whether hits and values belong together.
    pub is_whole: bool,
}

impl Table {
    /// Makes an empty table for `spec`.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// Context: process, may sleep.
    pub fn new(spec: &Spec) -> Result<Self, AllocError> {
        Self::with_shape(Shape::of(spec), spec.size)
    }

    /// Makes an empty table of entries of `shape`, `size` of which may be claimed.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// Context: process, may sleep.
    pub fn with_shape(shape: Shape, size: usize) -> Result<Self, AllocError> {
        let stride = shape.stride();
        // Long entries are not made many more than are used.
        let spare = if stride > 8 { size / 4 } else { size };
        let slots = size.saturating_add(spare);
        // One more for the key that is 0 when it is mixed.
        let count = slots.checked_add(1).and_then(|n| n.checked_mul(stride));
        let count = count.ok_or(AllocError)?;
        let mut words = Vec::with_capacity(count)?;
        for n in 0..count {
            if n % WORDS_AT_ONCE == 0 {
                sys::cond_resched();
            }
            words.push(PublishedWord::new(0))?;
        }
        Ok(Self {
            words,
            shape,
            stride,
            before_key: shape.folded().saturating_add(shape.comm).saturating_add(2),
            slots,
            // CAST: A size in memory has at most 64 bits.
            limit: size as u64,
            claimed: PublishedWord::new(0),
            dropped: PublishedWord::new(0),
        })
    }

    /// Returns the words of an entry.
    #[inline(always)]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Counts a hit that found no entry.
    ///
    /// Context: any, on the owning CPU.
    #[inline(always)]
    pub fn drop_hit(&self) {
        self.dropped.increment();
    }

    /// Returns the number of hits that found no entry.
    pub fn dropped(&self) -> u64 {
        self.dropped.load()
    }

    /// Returns the number of hits in all entries.
    ///
    /// Context: process, may sleep.
    pub fn hits(&self) -> u64 {
        let mut hits = 0u64;
        for slot in 0..=self.slots {
            if slot % SLOTS_AT_ONCE == 0 {
                sys::cond_resched();
            }
            let own = self.slot(slot).map_or(0, |(_, hits, _)| hits.load());
            hits = hits.wrapping_add(own);
        }
        hits
    }

    /// Returns the slot where the search for a hash begins.
    #[inline(always)]
    fn first(&self, hash: u64) -> usize {
        // CAST: The product's high half is less than `slots`.
        ((u128::from(hash) * self.slots as u128) >> 64) as usize
    }

    #[inline(always)]
    fn next(&self, slot: usize) -> usize {
        let next = slot.wrapping_add(1);
        if next >= self.slots {
            0
        } else {
            next
        }
    }

    /// Returns the words of an entry: claim, hits, and the rest.
    #[inline(always)]
    fn slot(&self, slot: usize) -> Option<(&PublishedWord, &PublishedWord, &[PublishedWord])> {
        let start = slot.wrapping_mul(self.stride);
        let words = self.words.get(start..start.wrapping_add(self.stride))?;
        let [claim, hits, rest @ ..] = words else {
            return None;
        };
        Some((claim, hits, rest))
    }

    /// Returns the entry of a key of one word, which is made if there is room.
    ///
    /// Context: any, on the owning CPU.
    #[inline(always)]
    pub fn word_entry(&self, key: u64) -> Option<Entry<'_>> {
        let mixed = key ^ SALT;
        let first = self.first(mixed.wrapping_mul(MULTIPLIER));
        let (claim, hits, folded) = self.slot(first)?;
        if claim.load() == mixed && mixed != 0 {
            return Some(Entry { hits, folded });
        }
        self.find_word(mixed, first)
    }

    /// Returns the number of hits of the entry of a key of one word, in a table of such keys;
    /// `None` if the entry is not near the place where the search begins.
    ///
    /// Context: any, on the owning CPU.
    #[inline(always)]
    pub fn near_word(&self, key: u64) -> Option<&PublishedWord> {
        let mixed = key ^ SALT;
        let mut slot = self.first(mixed.wrapping_mul(MULTIPLIER));
        for _ in 0..NEAR {
            let (claim, hits, _) = self.slot(slot)?;
            let found = claim.load();
            if found == mixed {
                // The key that is 0 when it is mixed has another place.
                return (mixed != 0).then_some(hits);
            }
            if found == 0 {
                break;
            }
            slot = self.next(slot);
        }
        None
    }

    /// As [`Table::near_word`], in a table of keys of `N` words that are not the claim.
    ///
    /// Context: any, on the owning CPU.
    #[inline(always)]
    pub fn near<const N: usize>(&self, key: [u64; N]) -> Option<&PublishedWord> {
        let hash = hash(&key);
        let complete = hash | COMPLETE;
        let mut slot = self.first(hash);
        for _ in 0..NEAR {
            let start = slot.wrapping_mul(self.stride);
            let words = self.words.get(start..start.wrapping_add(self.stride))?;
            let [claim, hits, ..] = words else { break };
            let found = claim.load();
            if found == complete {
                let own: &[PublishedWord; N] = words.get(self.before_key..)?.first_chunk()?;
                let mut pairs = own.iter().zip(key);
                if pairs.all(|(own, key)| own.load() == key) {
                    return Some(hits);
                }
            }
            if found == 0 {
                break;
            }
            slot = self.next(slot);
        }
        None
    }

    /// As [`Table::word_entry`], for a key that is not where the search begins.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn find_word(&self, mixed: u64, first: usize) -> Option<Entry<'_>> {
        if mixed == 0 {
            let (_, hits, folded) = self.slot(self.slots)?;
            return Some(Entry { hits, folded });
        }
        let mut slot = first;
        for _ in 0..PROBES.min(self.slots) {
            let (claim, hits, folded) = self.slot(slot)?;
            let mut found = claim.load();
            if found == 0 {
                if !self.may_claim() {
                    return None;
                }
                found = mixed;
                if !claim.compare_exchange(0, mixed) {
                    // A nested writer was faster, maybe with the same key.
                    self.unclaim();
                    found = claim.load();
                }
            }
            if found == mixed {
                return Some(Entry { hits, folded });
            }
            slot = self.next(slot);
        }
        None
    }

    /// Takes one of the entries that may be claimed.
    fn may_claim(&self) -> bool {
        if self.claimed.load() >= self.limit {
            return false;
        }
        self.claimed.increment();
        true
    }

    /// Gives back what [`Table::may_claim`] took.
    fn unclaim(&self) {
        self.claimed.add(u64::MAX);
    }

    /// Returns the entry of a key of any number of words, which is made if there is room;
    /// `comm` returns the name of the task, which is called only then.
    ///
    /// Context: any, on the owning CPU.
    #[inline(always)]
    pub fn entry(
        &self,
        key: &[u64],
        comm: impl FnOnce() -> [u64; COMM_WORDS],
    ) -> Option<Entry<'_>> {
        let hash = hash(key);
        let complete = hash | COMPLETE;
        let mut slot = self.first(hash);
        for _ in 0..PROBES.min(self.slots) {
            let (claim, hits, rest) = self.slot(slot)?;
            let (folded, behind) = rest.split_at_checked(self.shape.folded())?;
            let found = claim.load();
            if found == complete {
                let words = behind.get(self.shape.comm..)?;
                if words
                    .iter()
                    .map(PublishedWord::load)
                    .eq(key.iter().copied())
                {
                    return Some(Entry { hits, folded });
                }
            }
            if found == 0 {
                if !self.may_claim() {
                    return None;
                }
                let claimed = complete ^ COMPLETE ^ CLAIMED;
                if claim.compare_exchange(0, claimed) {
                    self.complete(behind, key, comm);
                    claim.compare_exchange(claimed, complete);
                    return Some(Entry { hits, folded });
                }
                // A nested writer took it. Should it have the same key, there are two
                // entries of it.
                self.unclaim();
            }
            slot = self.next(slot);
        }
        None
    }

    /// Writes the key of an entry that was claimed.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn complete(
        &self,
        words: &[PublishedWord],
        key: &[u64],
        comm: impl FnOnce() -> [u64; COMM_WORDS],
    ) {
        let Some((comm_words, key_words)) = words.split_at_checked(self.shape.comm) else {
            return;
        };
        if !comm_words.is_empty() {
            put(comm_words, &comm());
        }
        put(key_words, key);
        // The key is complete before the claim says so.
        sys::fence_release();
    }

    /// Calls `each` with the key, the name of the task, the values and the reading of each
    /// entry that has hits. An entry is read at most `tries` times until its hits and values
    /// belong together.
    ///
    /// Context: any CPU.
    ///
    /// # Errors
    ///
    /// [`AllocError`], and what `each` returns.
    pub fn read(
        &self,
        tries: usize,
        mut each: impl FnMut(&[u64], &[u64], &[u64], Read) -> Result<(), AllocError>,
    ) -> Result<(), AllocError> {
        let mut key = Vec::new();
        let mut comm = Vec::new();
        let mut values = Vec::new();
        for slot in 0..=self.slots {
            let Some((claim, hits, rest)) = self.slot(slot) else {
                break;
            };
            let Some((folded, behind)) = rest.split_at_checked(self.shape.folded()) else {
                break;
            };
            let claimed = claim.load();
            key.clear();
            comm.clear();
            if self.shape.is_word() {
                // The last entry belongs to the key that is 0 when it is mixed.
                if claimed == 0 && slot != self.slots {
                    continue;
                }
                key.push(claimed ^ SALT)?;
            } else {
                if claimed & COMPLETE != COMPLETE {
                    continue;
                }
                sys::fence_acquire();
                let Some((comm_words, key_words)) = behind.split_at_checked(self.shape.comm) else {
                    break;
                };
                for word in comm_words {
                    comm.push(word.load())?;
                }
                for word in key_words {
                    key.push(word.load())?;
                }
            }
            values.clear();
            for _ in 0..self.shape.values {
                values.push(0)?;
            }
            let entry = Entry { hits, folded };
            let read = entry.read(tries, &mut values);
            if read.hits != 0 {
                each(&key, &comm, &values, read)?;
            }
        }
        Ok(())
    }
}

#[inline(always)]
fn hash(key: &[u64]) -> u64 {
    let mut hash = 0u64;
    for word in key {
        hash = (hash.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER);
    }
    hash
}

/// Writes `values` to words that are 0.
fn put(words: &[PublishedWord], values: &[u64]) {
    for (word, value) in words.iter().zip(values) {
        word.add(*value);
    }
}

impl Entry<'_> {
    /// Begins a hit. [`Entry::end`] must follow.
    ///
    /// Context: any, on the owning CPU.
    #[inline(always)]
    pub fn begin(self) {
        self.hits.increment();
        if !self.folded.is_empty() {
            // What is folded is seen with this hit or later.
            sys::fence_release();
        }
    }

    /// Folds `value` into value `n`.
    ///
    /// Context: any, on the owning CPU.
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
    /// Context: any, on the owning CPU.
    #[inline(always)]
    pub fn end(self) {
        if let Some(ended) = self.folded.first() {
            // What was folded is seen before the end.
            sys::fence_release();
            ended.increment();
        }
    }

    /// Reads the values, as they are folded, to `out`; at most `tries` times until they
    /// belong together.
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
/// Each turn after the first is due to an interrupt that raised it.
#[inline(always)]
fn raise(word: &PublishedWord, value: u64) {
    loop {
        let found = word.load();
        if found >= value || word.compare_exchange(found, value) {
            return;
        }
    }
}

/// The sign bit.
const SIGN: u64 = 1 << 63;

/// Returns `value` as it is folded: the least and the greatest are found by raising a word
/// that begins as 0.
#[inline(always)]
fn encode(fold: Fold, signed: bool, value: u64) -> u64 {
    let ordered = if signed { value ^ SIGN } else { value };
    match fold {
        Fold::Sum | Fold::Avg => value,
        Fold::Max => ordered,
        Fold::Min => !ordered,
    }
}

/// Returns the value that was folded.
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
