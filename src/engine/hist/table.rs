// SPDX-License-Identifier: GPL-2.0

//! The entries of one CPU, or those that all CPUs share.
//!
//! A writer may be interrupted between any two instructions by another one on the same CPU.
//! Other CPUs only read, unless the table is shared. All memory is allocated when the table
//! is made; nothing is removed.
//!
//! An entry is found by open addressing with at most [`PROBES`] steps. Its words are::
//!
//! ```text
//! claim | hits | [ended | values ...] | [comm | comm] | [keys ...] | [variables ...]
//! ```
//!
//! In a table of one word `claim` is the key itself, [mixed](SALT) so that it is not 0; a
//! compare-exchange claims the entry and writes the key at once. In any other table it is a
//! tag of the key's hash with two bits: the entry is claimed, and its key is complete. A
//! writer that finds an entry claimed and not complete has interrupted its owner, or is faster
//! on another CPU, and takes another entry: the same key may be in several entries, which the
//! reader adds up.
//!
//! A hit adds 1 to `hits`, folds the values, and adds 1 to `ended`. No writer is between the
//! two if they are equal, however deeply writers are nested; so a reader that reads `ended`
//! first and `hits` last knows whether what it read belongs together.

use super::column::COMM_WORDS;
use super::entry::{BucketEntry, Read};
use super::stop::Stop;
use super::word::HistWord;
use crate::sys::{self, AllocError, AtomicU64, PublishedWord, Vec, Zeroed};

/// Most entries that are looked at to find a key. A table is at most four fifths full, so
/// keys are this far from their place only if their hashes are made for it.
pub(super) const PROBES: usize = 256;

/// Entries that [`HistTable::near`] looks at.
const NEAR: usize = 8;

/// Slots that are read before another task may run.
const SLOTS_AT_ONCE: usize = 1 << 13;

/// What a key of one word is combined with. The result must not be 0, which is a free
/// entry; the one key for which it is has an entry of its own.
const SALT: u64 = 0x5bf0_3635_dcd3_8a4d;

/// Multiplier of hashes: 2^64 divided by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Bit of a claim: an entry is claimed.
pub(super) const CLAIMED: u64 = 1;

/// Bits of a claim: an entry is claimed, and its key is complete.
pub(super) const COMPLETE: u64 = 3;

/// The words of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryShape {
    /// The number of values.
    pub values: usize,
    /// Words of a task's name: 0 or [`COMM_WORDS`].
    pub comm: usize,
    /// Words of the keys.
    pub keys: usize,
    /// Words of variables.
    pub vars: usize,
}

impl EntryShape {
    /// Returns whether the key is the claim itself.
    #[inline(always)]
    pub fn is_word(self) -> bool {
        self.keys == 1 && self.comm == 0
    }

    /// Returns the words of `ended` and the values.
    #[inline(always)]
    pub(super) fn folded(self) -> usize {
        match self.values {
            0 => 0,
            values => values.wrapping_add(1),
        }
    }

    /// Returns the words between the values and the variables.
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

/// A number of entries.
pub struct HistTable<W: HistWord = PublishedWord> {
    words: Zeroed<W>,
    shape: EntryShape,
    /// Words of an entry.
    stride: usize,
    /// Words of an entry before its key, if the key is not the claim.
    before_key: usize,
    /// Words of an entry behind the number of hits and before its variables.
    before_vars: usize,
    /// Entries that keys are hashed to.
    slots: usize,
    /// Keys for which there is room.
    room: usize,
    /// The same, as the most entries that may be claimed. Of a shared table, each CPU may claim one more, if
    /// all do at the same time.
    limit: u64,
    claimed: W,
    dropped: W,
}

/// The table that all CPUs share.
pub type SharedTable = HistTable<AtomicU64>;

/// The key of an entry, which does not change any more, and the name of its task.
pub(super) enum StoredKey<'a, W> {
    /// A key of one word.
    Word(u64),
    /// Any other key.
    Words {
        /// The name.
        comm: &'a [W],
        /// The key.
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

    /// Returns word `n` of the name; 0 if there is none.
    pub(super) fn comm_word(&self, n: usize) -> u64 {
        match self {
            Self::Word(_) => 0,
            Self::Words { comm, .. } => comm.get(n).map_or(0, HistWord::load),
        }
    }
}

impl<W: HistWord> HistTable<W> {
    /// Makes an empty table of entries of `shape`, `size` of which may be claimed.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// Context: process, may sleep.
    pub fn with_shape(shape: EntryShape, size: usize) -> Result<Self, AllocError> {
        let stride = shape.stride();
        let slots = size.saturating_add(spare(stride, size));
        // One more for the key that is 0 when it is mixed.
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

    /// Returns the words of an entry.
    #[inline(always)]
    pub fn shape(&self) -> EntryShape {
        self.shape
    }

    /// Returns the bytes of an entry of `shape`, with its part of the spare ones.
    pub(super) fn bytes_of_entry(shape: EntryShape) -> usize {
        let bytes = shape.stride().saturating_mul(size_of::<W>());
        bytes.saturating_add(spare(shape.stride(), bytes))
    }

    /// Returns the number of keys for which there is room.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Counts a hit that found no entry.
    ///
    /// Context: any, where the table is written.
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
        let of = |slot| self.slot(slot).map_or(0, |(_, hits, _)| hits.load());
        // The last entry is not claimed.
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

    /// Returns the slot where the search for a hash begins.
    #[inline(always)]
    pub(super) fn first(&self, hash: u64) -> usize {
        // CAST: The product's high half is less than `slots`.
        ((u128::from(hash) * self.slots as u128) >> 64) as usize
    }

    /// As [`HistTable::first`], of a key of one word that is [mixed](mix).
    #[inline(always)]
    pub(super) fn first_of_word(&self, mixed: u64) -> usize {
        self.first(mixed.wrapping_mul(MULTIPLIER))
    }

    /// Returns the number of words of an entry behind the number of hits and before its variables.
    #[inline(always)]
    pub(super) fn before_vars(&self) -> usize {
        self.before_vars
    }

    /// Returns the number of slots that keys are hashed to.
    #[inline(always)]
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Counts from 0 again what was claimed and lost.
    pub(super) fn forget_losses(&self) {
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

    /// Returns the entry of a key of one word, which is made if there is room.
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

    /// As [`HistTable::word_entry`], for a key that is not where the search begins.
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
                    // A nested writer was faster, maybe with the same key.
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

    /// Takes one of the entries that may be claimed.
    pub(super) fn may_claim(&self) -> bool {
        if self.claimed.load() >= self.limit {
            return false;
        }
        self.claimed.increment();
        true
    }

    /// Gives back what [`HistTable::may_claim`] took.
    pub(super) fn unclaim(&self) {
        self.claimed.add(u64::MAX);
    }

    /// Returns the entry of a key of any number of words, which is made if there is room;
    /// `comm` returns the name of the task, which is called only then.
    ///
    /// Context: any, where the table is written.
    #[inline(always)]
    pub fn entry(
        &self,
        key: &[u64],
        comm: impl FnOnce() -> [u64; COMM_WORDS],
    ) -> Option<BucketEntry<'_, W>> {
        let hash = hash(key);
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
        // The key is complete before the claim says so.
        sys::fence_release();
    }

    /// Calls `each` with the slot, the values and the reading of each entry that has hits. An
    /// entry is read at most `tries` times until its hits and values belong together.
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

    /// Returns the key of the entry in `slot`, if it has one that is complete.
    ///
    /// Context: any CPU.
    pub(super) fn stored(&self, slot: usize) -> Option<StoredKey<'_, W>> {
        let (claim, _, rest) = self.slot(slot)?;
        let claimed = claim.load();
        if self.shape.is_word() {
            // The last entry belongs to the key that is 0 when it is mixed.
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

    /// As [`HistTable::near_word`], in a table of keys of `N` words that are not the claim.
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
}

/// Returns the slots that a table has beside those that may be claimed, `size`. Long entries
/// are not made many more than are used.
fn spare(stride: usize, size: usize) -> usize {
    if stride > 8 {
        size / 4
    } else {
        size
    }
}

/// Returns a key of one word so that it is not 0, but for one key.
#[inline(always)]
pub(super) fn mix(key: u64) -> u64 {
    key ^ SALT
}

#[inline(always)]
pub(super) fn hash(key: &[u64]) -> u64 {
    let mut hash = 0u64;
    for word in key {
        hash = (hash.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER);
    }
    hash
}

/// Writes `values` to words that are 0.
fn put(words: &[impl HistWord], values: &[u64]) {
    for (word, value) in words.iter().zip(values) {
        word.add(*value);
    }
}
