// SPDX-License-Identifier: GPL-2.0

//! The beginnings of pairs of events: what one event leaves for another one with the same key.
//!
//! All CPUs share a table, as a pair may begin on one CPU and end on another. Its slots are in
//! buckets; a key has two of these, where its slot is one that is free. So a search looks at a
//! bounded number of claims, which are beside each other, and a slot that becomes free leaves no
//! mark.
//!
//! A claim is 0 (free), [`TAKEN`] (somebody reads or writes the slot), or the hash of a key. Who
//! changes a slot takes it first, by a compare-exchange, and waits for nobody: a slot that is taken is
//! not there for others. So two CPUs that begin with one key at the same time may make two
//! beginnings, of which the second ends never; it is superseded or expires as any other.
//!
//! Each beginning is, in the end, one of [`PairCounts`], or still open.
//!
//! Context: any, with preemption disabled, but for what says otherwise.

use crate::sys::{self, AllocError, AtomicU64, OnCpu, PerCpu, PublishedWord, Vec, Zeroed};

/// Most keys of a pair.
pub const MAX_PAIR_KEYS: usize = 2;

/// Most words that a beginning leaves.
pub const MAX_PAIR_WORDS: usize = 24;

/// Words of a text that a beginning leaves, with its NUL.
pub const PAIR_TEXT_WORDS: usize = 8;

/// Beginnings for which there is room, if a definition does not say how many.
pub const DEFAULT_PAIRS: usize = 4096;

/// Slots of a bucket: a cache line of claims.
const BUCKET: usize = 8;

/// Slots that are read before another task may run.
const SLOTS_AT_ONCE: usize = 1 << 13;

/// After this time, a beginning may be replaced if there is no room: 10 s.
const EXPIRES: u64 = 10_000_000_000;

/// A claim of a slot that somebody reads or writes.
const TAKEN: u64 = 1;

/// A bit of the claims that are hashes.
const HASHED: u64 = 2;

/// 2^64 divided by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// What became of beginnings and ends, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Beginnings.
    pub begun: u64,
    /// Those that have ended.
    pub ended: u64,
    /// Those whose key has begun anew.
    pub superseded: u64,
    /// Those that were older than ten seconds when there was no room for another one.
    pub expired: u64,
    /// Those for which there was no room.
    pub lost: u64,
    /// Ends without a beginning.
    pub unmatched: u64,
}

/// The counters, by their indices.
#[derive(Clone, Copy)]
enum PairCounter {
    Begun,
    Ended,
    Superseded,
    Expired,
    Lost,
    Unmatched,
}

/// The counters of a CPU.
pub type PairCounters = [PublishedWord; 6];

/// Returns counters that are 0.
pub fn no_counts() -> PairCounters {
    core::array::from_fn(|_| PublishedWord::new(0))
}

/// The beginnings of one kind of pair.
pub struct Beginnings {
    claims: Zeroed<AtomicU64>,
    /// For each claim the keys, the time, and what was left.
    words: Zeroed<AtomicU64>,
    keys: usize,
    stride: usize,
    buckets: usize,
    counters: PerCpu<PairCounters>,
    /// Beginnings that were [cleared](Beginnings::clear).
    forgotten: AtomicU64,
}

/// A beginning that has not ended.
#[derive(Debug, PartialEq, Eq)]
pub struct OpenBeginning {
    /// When it was.
    pub time: u64,
    /// Its keys.
    pub keys: [u64; MAX_PAIR_KEYS],
    /// What it left.
    pub words: [u64; MAX_PAIR_WORDS],
}

impl Beginnings {
    /// Makes room for `room` beginnings that have `keys` and leave `values`, both in words.
    /// `counters` are all 0.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// Context: process, may sleep.
    pub fn new(
        room: usize,
        (keys, values): (usize, usize),
        counters: PerCpu<PairCounters>,
    ) -> Result<Self, AllocError> {
        // Half of the slots stay free: then both buckets of a key are rarely full.
        let buckets = room.saturating_mul(2).div_ceil(BUCKET).max(2);
        let slots = buckets.checked_mul(BUCKET).ok_or(AllocError)?;
        let keys = keys.min(MAX_PAIR_KEYS);
        let stride = keys
            .saturating_add(values.min(MAX_PAIR_WORDS))
            .saturating_add(1);
        Ok(Self {
            claims: Zeroed::new(slots)?,
            words: Zeroed::new(slots.checked_mul(stride).ok_or(AllocError)?)?,
            keys,
            stride,
            buckets,
            counters,
            forgotten: AtomicU64::new(0),
        })
    }

    #[inline(always)]
    fn count(&self, what: PairCounter, here: &OnCpu) {
        // CAST: The number of a variant.
        if let Some(counter) = self.counters.this_cpu(here).get(what as usize) {
            counter.increment();
        }
    }

    /// Returns the claim of a key.
    #[inline(always)]
    fn hash(key: &[u64]) -> u64 {
        let mixed = key.iter().fold(0u64, |hash, word| {
            (hash ^ word).wrapping_mul(MULTIPLIER).rotate_left(29)
        });
        mixed | HASHED
    }

    /// Returns the first slots of the buckets of a hash.
    #[inline(always)]
    fn buckets_of(&self, hash: u64) -> [usize; 2] {
        let of = |hash: u64| {
            // CAST: The product's high half is less than the number of buckets.
            let bucket = ((u128::from(hash) * self.buckets as u128) >> 64) as usize;
            bucket.wrapping_mul(BUCKET)
        };
        [of(hash), of(hash.wrapping_mul(MULTIPLIER))]
    }

    #[inline(always)]
    fn bucket(&self, first: usize) -> &[AtomicU64] {
        let end = first.wrapping_add(BUCKET);
        self.claims.get(first..end).unwrap_or_default()
    }

    #[inline(always)]
    fn slot(&self, slot: usize) -> &[AtomicU64] {
        let start = slot.wrapping_mul(self.stride);
        let end = start.wrapping_add(self.stride);
        self.words.get(start..end).unwrap_or_default()
    }

    /// Takes the slot of `key`, if that has one; returns the slot and its claim.
    #[inline(always)]
    fn take(&self, hash: u64, key: &[u64]) -> Option<(usize, &AtomicU64)> {
        for first in self.buckets_of(hash) {
            for (n, claim) in self.bucket(first).iter().enumerate() {
                if claim.load_relaxed() != hash || claim.cmpxchg_full(hash, TAKEN).is_err() {
                    continue;
                }
                let slot = first.wrapping_add(n);
                let words = self.slot(slot).iter();
                if words
                    .zip(key)
                    .all(|(word, key)| word.load_relaxed() == *key)
                {
                    return Some((slot, claim));
                }
                claim.store_release(hash);
            }
        }
        None
    }

    /// Takes a free slot for `hash`.
    #[inline(always)]
    fn take_free(&self, hash: u64) -> Option<(usize, &AtomicU64)> {
        for first in self.buckets_of(hash) {
            for (n, claim) in self.bucket(first).iter().enumerate() {
                if claim.load_relaxed() == 0 && claim.cmpxchg_full(0, TAKEN).is_ok() {
                    return Some((first.wrapping_add(n), claim));
                }
            }
        }
        None
    }

    /// Takes the slot of the oldest beginning where `hash` has its place, if that has expired.
    #[cold]
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn take_expired(&self, hash: u64, now: u64) -> Option<(usize, &AtomicU64)> {
        let mut oldest: Option<(u64, usize, &AtomicU64, u64)> = None;
        for first in self.buckets_of(hash) {
            for (n, claim) in self.bucket(first).iter().enumerate() {
                let held = claim.load_acquire();
                let slot = first.wrapping_add(n);
                let time = self.slot(slot).get(self.keys);
                let time = time.map_or(u64::MAX, AtomicU64::load_relaxed);
                if held > TAKEN && oldest.is_none_or(|(least, ..)| time < least) {
                    oldest = Some((time, slot, claim, held));
                }
            }
        }
        let (time, slot, claim, held) = oldest?;
        if now.saturating_sub(time) < EXPIRES || claim.cmpxchg_full(held, TAKEN).is_err() {
            return None;
        }
        Some((slot, claim))
    }

    /// Notes a beginning with `key` at the time `now`, and what it leaves.
    #[inline(always)]
    pub fn begin(&self, key: &[u64], now: u64, left: &[u64], here: &OnCpu) {
        let hash = Self::hash(key);
        self.count(PairCounter::Begun, here);
        let found = self.take(hash, key);
        if found.is_some() {
            self.count(PairCounter::Superseded, here);
        }
        let taken = match found.or_else(|| self.take_free(hash)) {
            Some(taken) => taken,
            None => match self.take_expired(hash, now) {
                Some(taken) => {
                    self.count(PairCounter::Expired, here);
                    taken
                }
                None => return self.count(PairCounter::Lost, here),
            },
        };
        let (slot, claim) = taken;
        let all = key.iter().chain(core::iter::once(&now)).chain(left);
        for (word, value) in self.slot(slot).iter().zip(all) {
            word.store_relaxed(*value);
        }
        claim.store_release(hash);
    }

    /// Ends the beginning with `key`, if there is one: writes what it left to `left`, and returns
    /// its time.
    #[inline(always)]
    pub fn end(&self, key: &[u64], left: &mut [u64], here: &OnCpu) -> Option<u64> {
        let hash = Self::hash(key);
        let Some((slot, claim)) = self.take(hash, key) else {
            self.count(PairCounter::Unmatched, here);
            return None;
        };
        let (_, behind) = self.slot(slot).split_at_checked(self.keys)?;
        let (time, words) = behind.split_first()?;
        let time = time.load_relaxed();
        for (to, word) in left.iter_mut().zip(words) {
            *to = word.load_relaxed();
        }
        claim.store_release(0);
        self.count(PairCounter::Ended, here);
        Some(time)
    }

    /// Forgets all beginnings: they have expired. Nothing may begin or end at the same time.
    ///
    /// Context: process, may sleep.
    pub fn clear(&self) {
        let mut forgotten = 0;
        for (n, claim) in self.claims.iter().enumerate() {
            if n % SLOTS_AT_ONCE == 0 {
                sys::cond_resched();
            }
            let is_open = claim.load_relaxed() != 0;
            forgotten = u64::wrapping_add(forgotten, u64::from(is_open));
            claim.store_relaxed(0);
        }
        self.forgotten.fetch_add_relaxed(forgotten);
    }

    /// Returns what has been counted so far.
    ///
    /// Context: any.
    pub fn counts(&self) -> PairCounts {
        let mut counts = PairCounts {
            expired: self.forgotten.load_relaxed(),
            ..PairCounts::default()
        };
        for (_, counters) in self.counters.iter() {
            let [begun, ended, superseded, expired, lost, unmatched] =
                counters.each_ref().map(PublishedWord::load);
            counts.begun = counts.begun.wrapping_add(begun);
            counts.ended = counts.ended.wrapping_add(ended);
            counts.superseded = counts.superseded.wrapping_add(superseded);
            counts.expired = counts.expired.wrapping_add(expired);
            counts.lost = counts.lost.wrapping_add(lost);
            counts.unmatched = counts.unmatched.wrapping_add(unmatched);
        }
        counts
    }

    /// Returns the beginnings that have not ended, the oldest first; those that change at the
    /// moment are left out.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// Context: process, may sleep.
    pub fn open(&self) -> Result<Vec<OpenBeginning>, AllocError> {
        let mut open = Vec::new();
        for (slot, claim) in self.claims.iter().enumerate() {
            if slot % SLOTS_AT_ONCE == 0 {
                sys::cond_resched();
            }
            let before = claim.load_acquire();
            if before <= TAKEN {
                continue;
            }
            let mut one = OpenBeginning {
                time: 0,
                keys: [0; MAX_PAIR_KEYS],
                words: [0; MAX_PAIR_WORDS],
            };
            let mut words = self.slot(slot).iter();
            for (to, word) in one.keys.iter_mut().zip(words.by_ref().take(self.keys)) {
                *to = word.load_relaxed();
            }
            one.time = words.next().map_or(0, AtomicU64::load_relaxed);
            for (to, word) in one.words.iter_mut().zip(words) {
                *to = word.load_relaxed();
            }
            sys::fence_acquire();
            // Who has changed it in between has taken it; the time tells a beginning from one
            // with the same key.
            let again = self.slot(slot).get(self.keys).map(AtomicU64::load_relaxed);
            if claim.load_relaxed() == before && again == Some(one.time) {
                open.push(one)?;
            }
        }
        open.sort_unstable_by_key(|one| one.time);
        Ok(open)
    }
}
