// SPDX-License-Identifier: GPL-2.0

//! A table of entries: of one CPU, or shared by all.
//!
//! A writer may interrupt another one on the same CPU between any two instructions. Other CPUs only
//! read, unless the table is shared. All memory is allocated in advance; nothing is removed.
//!
//! Entries are found by open addressing, in at most [`PROBES`] steps. The words of an entry:
//!
//! ```text
//! claim | hits | [ended | values ...] | [comm | comm] | [keys ...] | [variables ...]
//! ```
//!
//! If keys are one word, `claim` is the key itself, [mixed](SALT) so that it is not 0; one
//! compare-exchange claims the entry and writes the key. Otherwise `claim` is a tag of the key's
//! hash and two bits: the entry is claimed, and its key is complete. A writer that finds an entry
//! claimed but not complete has interrupted the owner, or races with it on another CPU; it takes
//! another entry. So a key may have several entries, which the reader adds up.
//!
//! A hit increments `hits`, folds the values, and increments `ended`. If the two are equal, no
//! writer is in between, however deeply writers are nested; so a reader that reads `ended` first
//! and `hits` last knows whether its data is consistent.

use super::column::COMM_WORDS;
use super::entry::{BucketEntry, Read};
use super::stop::Stop;
use super::word::HistWord;
use crate::sys::{self, AllocError, AtomicU64, PublishedWord, Vec, Zeroed};

/// Maximum number of entries that are probed for a key. As a table is at most four fifths full,
/// only crafted hashes need more.
pub(super) const PROBES: usize = 256;

/// Number of entries that [`HistTable::near`] probes.
const NEAR: usize = 8;

/// Number of slots that are read between two checks for rescheduling.
const SLOTS_AT_ONCE: usize = 1 << 13;

/// XORed into a key of one word, so that it is not 0, which marks a free entry. The one key for
/// which the result is 0 has an extra entry.
const SALT: u64 = 0x5bf0_3635_dcd3_8a4d;

/// Multiplier of hashes: 2^64 divided by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Bit of a claim: the entry is claimed.
pub(super) const CLAIMED: u64 = 1;

/// Bits of a claim: the entry is claimed and its key is complete.
pub(super) const COMPLETE: u64 = 3;

/// The layout of an entry, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryShape {
    /// Values.
    pub values: usize,
    /// The comm: 0 or [`COMM_WORDS`].
    pub comm: usize,
    /// Keys.
    pub keys: usize,
    /// Variables.
    pub vars: usize,
}

impl EntryShape {
    /// Returns whether the key is the claim itself.
    #[inline(always)]
    pub fn is_word(self) -> bool {
        self.keys == 1 && self.comm == 0
    }

    /// Returns the words of `ended` and values.
    #[inline(always)]
    pub(super) fn folded(self) -> usize {
        match self.values {
            0 => 0,
            values => values.wrapping_add(1),
        }
    }

    /// Returns the words from `ended` up to the variables.
    fn before_vars(self) -> usize {
        match self.is_word() {
            true => 0,
            false => self.comm.wrapping_add(self.keys),
        }
    }

    fn stride(self) -> usize {
        let behind = self.before_vars().saturating_add(self.vars);
        self.folded().saturating_add(behind).saturating_add(2)
    }
}

/// A table of entries.
pub struct HistTable<W: HistWord = PublishedWord> {
    words: Zeroed<W>,
    shape: EntryShape,
    /// Number of words of an entry.
    stride: usize,
    /// Number of words of an entry before its key, if the key is not the claim.
    before_key: usize,
    /// Number of words of an entry from `ended` up to its variables.
    before_vars: usize,
    /// Number of slots that keys hash to. One more follows, for the key that mixes to 0.
    slots: usize,
    /// Number of keys for which there is room.
    room: usize,
    /// `room` as the limit of claimed entries. In a shared table each CPU may exceed it by one,
    /// while all claim at the same time.
    limit: u64,
    claimed: W,
    dropped: W,
}

/// A table that all CPUs share.
pub type SharedTable = HistTable<AtomicU64>;

/// The key of an entry, which no longer changes, and the comm of its task.
pub(super) enum StoredKey<'a, W> {
    Word(u64),
    /// Any other key.
    Words {
        comm: &'a [W],
        keys: &'a [W],
    },
}

impl<W: HistWord> StoredKey<'_, W> {
    /// Returns word `n` of the key; 0 if there is none.
    pub(super) fn key_word(&self, n: usize) -> u64 {
        match self {
            Self::Word(word) if n == 0 => *word,
            Self::Word(_) => 0,
            Self::Words { keys, .. } => keys.get(n).map_or(0, HistWord::load),
        }
    }

    /// Returns word `n` of the comm; 0 if there is none.
    pub(super) fn comm_word(&self, n: usize) -> u64 {
        match self {
            Self::Word(_) => 0,
            Self::Words { comm, .. } => comm.get(n).map_or(0, HistWord::load),
        }
    }
}

impl<W: HistWord> HistTable<W> {
    /// Makes an empty table for entries of `shape`, of which `size` may be claimed.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// Context: process, may sleep.
    pub fn with_shape(shape: EntryShape, size: usize) -> Result<Self, AllocError> {
        let stride = shape.stride();
        let slots = size.saturating_add(spare(stride, size));
        // The entry behind the slots is for the key that mixes to 0.
        let count = slots.checked_add(1).and_then(|n| n.checked_mul(stride));
        let count = count.ok_or(AllocError)?;
        let words = Zeroed::new(count)?;
        Ok(Self {
            words,
            shape,
            stride,
            before_key: shape.folded().saturating_add(shape.comm).saturating_add(2),
            before_vars: shape.folded().saturating_add(shape.before_vars()),
            slots,
            room: size,
            // CAST: A size in memory has at most 64 bits.
            limit: size as u64,
            claimed: W::zeroed(),
            dropped: W::zeroed(),
        })
    }

    /// Returns the layout of an entry.
    #[inline(always)]
    pub fn shape(&self) -> EntryShape {
        self.shape
    }

    /// Returns the bytes of an entry of `shape`, with its share of the spare slots.
    pub(super) fn bytes_of_entry(shape: EntryShape) -> usize {
        let bytes = shape.stride().saturating_mul(size_of::<W>());
        bytes.saturating_add(spare(shape.stride(), bytes))
    }

    /// Returns the number of keys for which there is room.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Counts a hit without an entry.
    ///
    /// Context: any, where the table is written.
    #[inline(always)]
    pub fn drop_hit(&self) {
        self.dropped.increment();
    }

    /// Returns the number of hits without an entry.
    pub fn dropped(&self) -> u64 {
        self.dropped.load()
    }

    /// Returns the number of hits in all entries.
    ///
    /// Context: process, may sleep.
    pub fn hits(&self) -> u64 {
        let of = |slot| self.slot(slot).map_or(0, |(_, hits, _)| hits.load());
        // `claimed` does not include the entry behind the slots.
        let mut hits = of(self.slots);
        let mut left = self.claimed.load();
        for slot in 0..self.slots {
            if left == 0 {
                break;
            }
            if slot % SLOTS_AT_ONCE == 0 {
                sys::cond_resched();
            }
            let own = of(slot);
            hits = hits.wrapping_add(own);
            left = left.wrapping_sub(u64::from(own != 0));
        }
        hits
    }

    /// Returns the slot at which the search for `hash` begins.
    #[inline(always)]
    pub(super) fn first(&self, hash: u64) -> usize {
        // CAST: The product's high half is less than `slots`.
        ((u128::from(hash) * self.slots as u128) >> 64) as usize
    }

    /// Like [`HistTable::first`], for a key of one word that is already [mixed](mix).
    #[inline(always)]
    pub(super) fn first_of_word(&self, mixed: u64) -> usize {
        self.first(mixed.wrapping_mul(MULTIPLIER))
    }

    /// Returns the words of an entry from `ended` up to its variables.
    #[inline(always)]
    pub(super) fn before_vars(&self) -> usize {
        self.before_vars
    }

    /// Returns the number of slots that keys are hashed to.
    #[inline(always)]
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Resets the numbers of claimed entries and dropped hits.
    pub(super) fn reset_counters(&self) {
        for counter in [&self.claimed, &self.dropped] {
            counter.add(counter.load().wrapping_neg());
        }
    }

    #[inline(always)]
    pub(super) fn next(&self, slot: usize) -> usize {
        let next = slot.wrapping_add(1);
        if next >= self.slots {
            0
        } else {
            next
        }
    }

    /// Returns the words of an entry: claim, hits, and the rest.
    #[inline(always)]
    pub(super) fn slot(&self, slot: usize) -> Option<(&W, &W, &[W])> {
        let start = slot.wrapping_mul(self.stride);
        let words = self.words.get(start..start.wrapping_add(self.stride))?;
        let [claim, hits, rest @ ..] = words else {
            return None;
        };
        Some((claim, hits, rest))
    }

    /// Returns the entry of a key of one word. Makes the entry if there is room.
    ///
    /// Context: any, where the table is written.
    #[inline(always)]
    pub fn word_entry(&self, key: u64) -> Option<BucketEntry<'_, W>> {
        let mixed = key ^ SALT;
        let first = self.first(mixed.wrapping_mul(MULTIPLIER));
        let (claim, hits, folded) = self.slot(first)?;
        if claim.load() == mixed && mixed != 0 {
            return Some(BucketEntry { hits, folded });
        }
        self.find_word(mixed, first)
    }

    /// Continues the search of [`HistTable::word_entry`] behind the first slot.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn find_word(&self, mixed: u64, first: usize) -> Option<BucketEntry<'_, W>> {
        if mixed == 0 {
            let (_, hits, folded) = self.slot(self.slots)?;
            return Some(BucketEntry { hits, folded });
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
                    // A nested writer claimed the slot first, maybe for the same key.
                    self.unclaim();
                    found = claim.load();
                }
            }
            if found == mixed {
                return Some(BucketEntry { hits, folded });
            }
            slot = self.next(slot);
        }
        None
    }

    /// Counts one more claimed entry; returns false if there is no room.
    pub(super) fn may_claim(&self) -> bool {
        if self.claimed.load() >= self.limit {
            return false;
        }
        self.claimed.increment();
        true
    }

    /// Undoes [`HistTable::may_claim`].
    pub(super) fn unclaim(&self) {
        self.claimed.add(u64::MAX);
    }

    /// Returns the entry of a key of any length. Makes the entry if there is room; only then calls
    /// `comm`, which returns the comm of the task.
    ///
    /// Context: any, where the table is written.
    #[inline(always)]
    pub fn entry(
        &self,
        key: &[u64],
        comm: impl FnOnce() -> [u64; COMM_WORDS],
    ) -> Option<BucketEntry<'_, W>> {
        self.entry_at(hash(key), key, comm)
    }

    /// [`HistTable::entry`] of a stack.
    ///
    /// Context: any, where the table is written.
    #[inline(always)]
    pub fn stack_entry(&self, key: &[u64]) -> Option<BucketEntry<'_, W>> {
        self.entry_at(hash_of_stack(key), key, || [0; COMM_WORDS])
    }

    #[inline(always)]
    fn entry_at(
        &self,
        hash: u64,
        key: &[u64],
        comm: impl FnOnce() -> [u64; COMM_WORDS],
    ) -> Option<BucketEntry<'_, W>> {
        let complete = hash | COMPLETE;
        let mut slot = self.first(hash);
        for _ in 0..PROBES.min(self.slots) {
            let (claim, hits, rest) = self.slot(slot)?;
            let (folded, behind) = rest.split_at_checked(self.shape.folded())?;
            let found = claim.load();
            if found == complete {
                W::fence_key();
                let words = behind.get(self.shape.comm..)?;
                if words.iter().map(HistWord::load).eq(key.iter().copied()) {
                    return Some(BucketEntry { hits, folded });
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
                    return Some(BucketEntry { hits, folded });
                }
                // A nested writer claimed the slot first. If it has the same key, that key now has
                // two entries.
                self.unclaim();
            }
            slot = self.next(slot);
        }
        None
    }

    /// Writes the key of a claimed entry and marks it complete.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    pub(super) fn complete(
        &self,
        words: &[W],
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
        // The key is visible before the claim says that it is complete.
        sys::fence_release();
    }

    /// Calls `each` with slot, values and reading of each entry that has hits. Reads an entry at
    /// most `tries` times until hits and values are consistent.
    ///
    /// Context: any CPU; process, may sleep.
    ///
    /// # Errors
    ///
    /// [`Stop`], and what `each` returns.
    pub fn read(
        &self,
        tries: usize,
        mut each: impl FnMut(usize, &[u64], Read) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut values = Vec::new();
        for _ in 0..self.shape.values {
            values.push(0)?;
        }
        for slot in 0..=self.slots {
            if slot % SLOTS_AT_ONCE == 0 {
                Stop::check()?;
            }
            let Some((_, hits, rest)) = self.slot(slot) else {
                break;
            };
            let Some(folded) = rest.get(..self.shape.folded()) else {
                break;
            };
            if self.stored(slot).is_none() {
                continue;
            }
            let entry = BucketEntry { hits, folded };
            let read = entry.read(tries, &mut values);
            if read.hits != 0 {
                each(slot, &values, read)?;
            }
        }
        Ok(())
    }

    /// Returns the key of the entry in `slot`, if it is complete.
    ///
    /// Context: any CPU.
    pub(super) fn stored(&self, slot: usize) -> Option<StoredKey<'_, W>> {
        let (claim, _, rest) = self.slot(slot)?;
        let claimed = claim.load();
        if self.shape.is_word() {
            // The entry behind the slots belongs to the key that mixes to 0.
            let is_free = claimed == 0 && slot != self.slots;
            return (!is_free).then_some(StoredKey::Word(claimed ^ SALT));
        }
        if claimed & COMPLETE != COMPLETE {
            return None;
        }
        sys::fence_acquire();
        let behind = rest.get(self.shape.folded()..)?;
        let (comm, keys) = behind.split_at_checked(self.shape.comm)?;
        Some(StoredKey::Words { comm, keys })
    }

    /// Returns word `n` of the key of the entry in `slot`; 0 if there is none.
    ///
    /// Context: any CPU.
    pub fn key_word(&self, slot: usize, n: usize) -> u64 {
        self.stored(slot).map_or(0, |stored| stored.key_word(n))
    }
}

impl HistTable {
    /// Returns the hits of the entry of a key of one word, in a table without longer keys; `None`
    /// if the first [`NEAR`] slots do not have it.
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
                // The key that mixes to 0 has a slot of its own.
                return (mixed != 0).then_some(hits);
            }
            if found == 0 {
                break;
            }
            slot = self.next(slot);
        }
        None
    }

    /// Like [`HistTable::near_word`], for a key of `N` words that is not stored in the claim.
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

    /// Like [`HistTable::near`], for the key that is a stack with these frames, of 8 bytes each.
    /// Hashes and compares only as many words as it has frames.
    ///
    /// Context: any, on the owning CPU.
    #[inline(always)]
    pub fn near_stack(&self, frames: &[u8]) -> Option<&PublishedWord> {
        let mut hash = 0;
        for frame in frames.chunks_exact(FRAME) {
            hash = hash_with(hash, address(frame));
        }
        let complete = hash | COMPLETE;
        let mut slot = self.first(hash);
        for _ in 0..NEAR {
            let start = slot.wrapping_mul(self.stride);
            let words = self.words.get(start..start.wrapping_add(self.stride))?;
            let [claim, hits, ..] = words else { break };
            let found = claim.load();
            if found == complete && is_stack(words.get(self.before_key..)?, frames) {
                return Some(hits);
            }
            if found == 0 {
                break;
            }
            slot = self.next(slot);
        }
        None
    }
}

/// Returns whether the words of `key` are `frames`, and zeroes behind them.
#[inline(always)]
fn is_stack(key: &[PublishedWord], frames: &[u8]) -> bool {
    let mut own = key.iter();
    for frame in frames.chunks_exact(FRAME) {
        if own.next().is_none_or(|word| word.load() != address(frame)) {
            return false;
        }
    }
    own.next().is_none_or(|word| word.load() == 0)
}

/// The bytes of a frame.
const FRAME: usize = 8;

/// Returns the address that `frame` has, [`FRAME`] bytes.
#[inline(always)]
fn address(frame: &[u8]) -> u64 {
    frame
        .first_chunk()
        .map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// Returns the hash of a stack: of its frames, without the zeroes behind them.
#[inline(always)]
fn hash_of_stack(key: &[u64]) -> u64 {
    let mut hash = 0;
    for frame in key {
        if *frame == 0 {
            break;
        }
        hash = hash_with(hash, *frame);
    }
    hash
}

/// Returns the number of slots besides the `size` that may be claimed. Large entries have fewer
/// spare ones.
fn spare(stride: usize, size: usize) -> usize {
    if stride > 8 {
        size / 4
    } else {
        size
    }
}

/// Mixes a key of one word. Only one key results in 0.
#[inline(always)]
pub(super) fn mix(key: u64) -> u64 {
    key ^ SALT
}

#[inline(always)]
pub(super) fn hash(key: &[u64]) -> u64 {
    let mut hash = 0u64;
    for word in key {
        hash = hash_with(hash, *word);
    }
    hash
}

#[inline(always)]
fn hash_with(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER)
}

/// Writes `values` to words that are 0.
fn put(words: &[impl HistWord], values: &[u64]) {
    for (word, value) in words.iter().zip(values) {
        word.add(*value);
    }
}
