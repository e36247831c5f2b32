// SPDX-License-Identifier: GPL-2.0

//! The beginnings of pairs of events, which wait for their ends.
//!
//! All CPUs share a table, as a pair may begin on one CPU and end on another. A bucket has eight
//! slots. A key may be in either of two adjacent buckets, in any slot. So a search loads two words,
//! and freeing a slot leaves no tombstone.
//!
//! Each bucket has a word with a byte for each slot, its tag: [`FREE`], [`TAKEN`] (claimed by a
//! reader or writer), or bits of the hash of a key. Whoever changes a slot claims it first, by a
//! compare-exchange of the word, and never waits: others treat a claimed slot as absent. So two
//! CPUs that begin a pair with one key at the same time may make two beginnings, of which the
//! second never ends; it is later superseded or expires. The word is only changed by
//! compare-exchanges and additions, so that later ones acquire what an earlier one released.
//! Each beginning is, in the end, one of [`PairCounts`], or still open.
//!
//! Context: any, with preemption disabled, but for what says otherwise.

use crate::engine::util::sort;
use crate::sys::{self, AllocError, AtomicU64, OnCpu, PerCpu, PublishedWord, Vec, Zeroed};

/// Maximum number of keys of a pair.
pub const MAX_PAIR_KEYS: usize = 2;

/// The keys of a pair; 0 for missing ones.
pub type PairKeys = [u64; MAX_PAIR_KEYS];

/// Number of words of a slot before its values: the keys and the time.
const BEFORE_VALUES: usize = MAX_PAIR_KEYS + 1;

/// Maximum number of values of a beginning, in words.
pub const MAX_PAIR_WORDS: usize = 24;

/// Number of words of a text value, with its NUL.
pub const PAIR_TEXT_WORDS: usize = 8;

/// Room for beginnings, if the definition does not set it.
pub const DEFAULT_PAIRS: usize = 4096;

/// Number of slots of a bucket: the bytes of a word.
const BUCKET: usize = 8;

/// Buckets in which a key may be.
const NEIGHBOURS: usize = 2;

/// Number of slots in which a key may be.
const SLOTS: usize = NEIGHBOURS * BUCKET;

/// 1 in each byte of a word.
const EACH: u64 = 0x0101_0101_0101_0101;

/// Buckets that are read between two checks for rescheduling.
const BUCKETS_AT_ONCE: usize = 1 << 10;

/// Age in nanoseconds from which a beginning may be replaced if there is no room.
const EXPIRES: u64 = 10_000_000_000;

/// The tag of a slot without a beginning.
const FREE: u8 = 0;

/// The tag of a claimed slot.
const TAKEN: u8 = 1;

/// Bit that is set in the tag of each key.
const HASHED: u8 = 2;

/// 2^64 divided by the golden ratio, and by the square root of 3, both odd: the high bits of a
/// product depend on all bits of the other factor.
const MULTIPLIERS: [u64; MAX_PAIR_KEYS] = [0x9e37_79b9_7f4a_7c15, 0x93cd_3a2c_8198_e269];

/// The numbers of beginnings and ends, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Beginnings.
    pub begun: u64,
    /// Beginnings that have ended.
    pub ended: u64,
    /// Beginnings whose key began again.
    pub superseded: u64,
    /// Beginnings replaced after ten seconds, because another one found no room.
    pub expired: u64,
    /// Beginnings without room, in the table or on the stack.
    pub lost: u64,
    /// Ends without a beginning.
    pub unmatched: u64,
}

/// Indices of the counters.
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

/// Returns counters of 0.
pub fn no_counts() -> PairCounters {
    core::array::from_fn(|_| PublishedWord::new(0))
}

/// The table of beginnings of one pair.
pub struct Beginnings {
    /// The tags of each bucket's slots; the two buckets of a key are adjacent.
    tags: Zeroed<[AtomicU64; NEIGHBOURS]>,
    /// For each slot the keys, the time, and the values.
    words: Zeroed<AtomicU64>,
    stride: usize,
    counters: PerCpu<PairCounters>,
    /// The number of beginnings that [`Beginnings::clear`] removed.
    forgotten: AtomicU64,
}

/// A beginning that has not ended.
#[derive(Debug, PartialEq, Eq)]
pub struct OpenBeginning {
    /// When the pair began.
    pub time: u64,
    /// Its keys.
    pub keys: PairKeys,
    /// The values.
    pub words: [u64; MAX_PAIR_WORDS],
}

/// The beginnings that have not ended.
pub struct OpenBeginnings {
    /// The oldest of them, the oldest first.
    pub oldest: Vec<OpenBeginning>,
    /// The number of all open beginnings.
    pub count: usize,
}

impl Beginnings {
    /// Makes a table with room for `room` beginnings of `values` words each. `counters` must be 0.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// Context: process, may sleep.
    pub fn new(
        room: usize,
        values: usize,
        counters: PerCpu<PairCounters>,
    ) -> Result<Self, AllocError> {
        // Two thirds of the slots stay free, so that both buckets of a key are rarely full.
        let places = room.saturating_mul(3).div_ceil(SLOTS).max(1);
        let slots = places.checked_mul(SLOTS).ok_or(AllocError)?;
        let stride = values.min(MAX_PAIR_WORDS).saturating_add(BEFORE_VALUES);
        Ok(Self {
            tags: Zeroed::new(places)?,
            words: Zeroed::new(slots.checked_mul(stride).ok_or(AllocError)?)?,
            stride,
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

    #[inline(always)]
    fn hash([first, second]: PairKeys) -> u64 {
        let [first_by, second_by] = MULTIPLIERS;
        first.wrapping_mul(first_by) ^ second.wrapping_mul(second_by)
    }

    /// Returns the tag for a hash.
    #[inline(always)]
    fn tag(hash: u64) -> u8 {
        // CAST: Bits that do not choose the bucket. The lowest bits are useless: they depend on the
        // lowest bits of the keys alone, which are equal in addresses of structures.
        (hash >> 32) as u8 | HASHED
    }

    /// Returns the two buckets for a hash.
    #[inline(always)]
    fn buckets(&self, hash: u64) -> Option<[Bucket<'_>; NEIGHBOURS]> {
        // CAST: The product's high half is less than the length.
        let number = ((u128::from(hash) * self.tags.len() as u128) >> 64) as usize;
        let [first, second] = self.tags.get(number)?;
        let slot = number.wrapping_mul(SLOTS);
        let bucket = |tags, first| Bucket { tags, first };
        Some([
            bucket(first, slot),
            bucket(second, slot.wrapping_add(BUCKET)),
        ])
    }

    #[inline(always)]
    fn slot(&self, slot: usize) -> &[AtomicU64] {
        let start = slot.wrapping_mul(self.stride);
        let end = start.wrapping_add(self.stride);
        self.words.get(start..end).unwrap_or_default()
    }

    /// Claims the slot of a key in `bucket`; its tag is given.
    #[inline(always)]
    fn take<'a>(
        &'a self,
        bucket: Bucket<'a>,
        (tag, key): (u8, PairKeys),
    ) -> Option<TakenBeginning<'a>> {
        let mut places = bucket.with(tag);
        while let Some(place) = TagPlace::first(places) {
            places &= place.others();
            let [first, second, time, left @ ..] = self.slot(bucket.slot(place).number) else {
                continue;
            };
            let has_key = || [first.load_relaxed(), second.load_relaxed()] == key;
            // Others treat a claimed slot as absent, and it may have another key with the same tag.
            // If this key began before, it is seen here.
            if !has_key() {
                continue;
            }
            let Some(slot) = bucket.take(place, tag) else {
                continue;
            };
            if has_key() {
                return Some(TakenBeginning { slot, time, left });
            }
            slot.release(tag);
        }
        None
    }

    /// Claims the slot of the oldest beginning in `buckets`, if that has expired.
    #[cold]
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn take_expired<'a>(
        &self,
        buckets: [Bucket<'a>; NEIGHBOURS],
        now: u64,
    ) -> Option<TakenSlot<'a>> {
        let mut oldest: Option<(u64, Bucket<'a>, TagPlace, u8)> = None;
        for bucket in buckets {
            let held = bucket.tags.load_acquire();
            for place in TagPlace::all() {
                let time = self.time(bucket.first.wrapping_add(place.index()));
                let tag = place.tag(held);
                if tag > TAKEN && oldest.is_none_or(|(least, ..)| time < least) {
                    oldest = Some((time, bucket, place, tag));
                }
            }
        }
        let (time, bucket, place, tag) = oldest?;
        let has_expired = |time| now.saturating_sub(time) >= EXPIRES;
        if !has_expired(time) {
            return None;
        }
        let slot = bucket.take(place, tag)?;
        // It may have ended meanwhile, and another key with the same tag may have begun in the
        // slot.
        if !has_expired(self.time(slot.number)) {
            slot.release(tag);
            return None;
        }
        Some(slot)
    }

    fn time(&self, slot: usize) -> u64 {
        match self.slot(slot) {
            [_, _, time, ..] => time.load_relaxed(),
            _ => u64::MAX,
        }
    }

    /// Adds a beginning with `key` at the time `now`, and the values `left`.
    #[inline(always)]
    pub fn begin(&self, key: PairKeys, now: u64, left: &[u64], here: &OnCpu) {
        let hash = Self::hash(key);
        let [first, second] = key;
        self.count(PairCounter::Begun, here);
        match self.buckets(hash).and_then(Bucket::take_first) {
            Some(slot) => self.leave(slot, (Self::tag(hash), key), now, left),
            None => self.begin_among_others((first, second), now, left, here),
        }
    }

    /// Counts a beginning that cannot be added.
    #[inline(always)]
    pub fn lose(&self, here: &OnCpu) {
        self.count(PairCounter::Begun, here);
        self.count(PairCounter::Lost, here);
    }

    /// Writes a beginning to a slot that was claimed for it.
    #[inline(always)]
    fn leave(&self, slot: TakenSlot<'_>, (tag, key): (u8, PairKeys), now: u64, left: &[u64]) {
        // A reader that sees a new word also sees that the slot was claimed.
        sys::fence_release();
        if let [own_first, own_second, time, words @ ..] = self.slot(slot.number) {
            let [first, second] = key;
            own_first.store_relaxed(first);
            own_second.store_relaxed(second);
            time.store_relaxed(now);
            for (word, value) in words.iter().zip(left) {
                word.store_relaxed(*value);
            }
        }
        slot.release(tag);
    }

    /// The rest of [`Self::begin`], if the buckets of the key are not empty. The beginning has been
    /// counted.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn begin_among_others(
        &self,
        (first, second): (u64, u64),
        now: u64,
        left: &[u64],
        here: &OnCpu,
    ) {
        let key = [first, second];
        let hash = Self::hash(key);
        let tag = Self::tag(hash);
        let quick = self.buckets(hash).map(|[first, second]| {
            let taken = first.take_free_without(tag);
            (taken, second.with(tag) == 0)
        });
        let slot = match quick {
            Some((Some(slot), true)) => Some(slot),
            other => {
                let taken = other.and_then(|(taken, _)| taken);
                self.take_any(taken, (hash, key), now, here)
            }
        };
        match slot {
            Some(slot) => self.leave(slot, (tag, key), now, left),
            None => self.count(PairCounter::Lost, here),
        }
    }

    /// Claims a slot for a key that may have begun before: its own slot, a free one, or an expired
    /// one. `taken` is a free slot that is already claimed.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn take_any<'a>(
        &'a self,
        taken: Option<TakenSlot<'a>>,
        (hash, key): (u64, PairKeys),
        now: u64,
        here: &OnCpu,
    ) -> Option<TakenSlot<'a>> {
        let tag = Self::tag(hash);
        let buckets = self.buckets(hash)?;
        for bucket in buckets {
            if let Some(TakenBeginning { slot, .. }) = self.take(bucket, (tag, key)) {
                self.count(PairCounter::Superseded, here);
                if let Some(free) = taken {
                    free.release(FREE);
                }
                return Some(slot);
            }
        }
        if taken.is_some() {
            return taken;
        }
        let free = buckets.iter().find_map(Bucket::take_free);
        free.or_else(|| {
            let expired = self.take_expired(buckets, now)?;
            self.count(PairCounter::Expired, here);
            Some(expired)
        })
    }

    /// Ends the beginning with `key`: writes its values to `left`, and returns its time; `None` if
    /// there is none.
    #[inline(always)]
    pub fn end(&self, key: PairKeys, left: &mut [u64], here: &OnCpu) -> Option<u64> {
        let hash = Self::hash(key);
        let like = (Self::tag(hash), key);
        let [first, second] = key;
        let buckets = self.buckets(hash);
        match buckets.and_then(|[first, _]| self.take_first(first, like)) {
            Some(taken) => Some(self.end_in(taken, left, here)),
            None => self.end_among_others((first, second), left, here),
        }
    }

    /// The rest of [`Self::end`], if the key's first bucket has other beginnings.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn end_among_others(
        &self,
        (first, second): (u64, u64),
        left: &mut [u64],
        here: &OnCpu,
    ) -> Option<u64> {
        let key = [first, second];
        let hash = Self::hash(key);
        let like = (Self::tag(hash), key);
        let mut buckets = self.buckets(hash)?.into_iter();
        let Some(taken) = buckets.find_map(|bucket| self.take(bucket, like)) else {
            self.count(PairCounter::Unmatched, here);
            return None;
        };
        Some(self.end_in(taken, left, here))
    }

    /// Ends a beginning whose slot is claimed.
    #[inline(always)]
    fn end_in(&self, taken: TakenBeginning<'_>, left: &mut [u64], here: &OnCpu) -> u64 {
        let time = taken.time.load_relaxed();
        for (to, word) in left.iter_mut().zip(taken.left) {
            *to = word.load_relaxed();
        }
        taken.slot.release(FREE);
        self.count(PairCounter::Ended, here);
        time
    }

    /// Claims the first slot of `bucket` like [`Self::take`], if it is the only used one.
    #[inline(always)]
    fn take_first<'a>(
        &'a self,
        bucket: Bucket<'a>,
        (tag, key): (u8, PairKeys),
    ) -> Option<TakenBeginning<'a>> {
        if bucket.tags.load_relaxed() != u64::from(tag) {
            return None;
        }
        let [first, second, time, left @ ..] = self.slot(bucket.first) else {
            return None;
        };
        let has_key = || [first.load_relaxed(), second.load_relaxed()] == key;
        if !has_key() {
            return None;
        }
        let slot = bucket.take_alone(tag)?;
        if has_key() {
            return Some(TakenBeginning { slot, time, left });
        }
        slot.release(tag);
        None
    }

    /// Expires all beginnings. No pair may begin or end meanwhile.
    ///
    /// Context: process, may sleep.
    pub fn clear(&self) {
        let mut forgotten = 0;
        for (n, tags) in self.tags.as_flattened().iter().enumerate() {
            if n % BUCKETS_AT_ONCE == 0 {
                sys::cond_resched();
            }
            let held = tags.load_relaxed();
            let open = TagPlace::all().filter(|place| place.tag(held) != FREE);
            // CAST: At most eight.
            forgotten = u64::wrapping_add(forgotten, open.count() as u64);
            tags.store_relaxed(0);
        }
        self.forgotten.fetch_add_relaxed(forgotten);
    }

    /// Returns the counters.
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

    /// Returns the `most` oldest open beginnings. Skips those that are being changed. Allocates
    /// memory for twice as many.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// Context: process, may sleep.
    pub fn open(&self, most: usize) -> Result<OpenBeginnings, AllocError> {
        let (mut oldest, mut count) = (Vec::new(), 0usize);
        // Younger beginnings need not be collected.
        let mut youngest = u64::MAX;
        for (n, tags) in self.tags.as_flattened().iter().enumerate() {
            if n % BUCKETS_AT_ONCE == 0 {
                sys::cond_resched();
            }
            for place in TagPlace::all() {
                let before = place.tag(tags.load_acquire());
                if before <= TAKEN {
                    continue;
                }
                let slot = n.wrapping_mul(BUCKET).wrapping_add(place.index());
                let one = self.read(slot);
                sys::fence_acquire();
                // Another CPU may have changed the slot meanwhile. The time distinguishes a
                // beginning from a later one with the same key.
                if place.tag(tags.load_relaxed()) != before || self.time(slot) != one.time {
                    continue;
                }
                count = count.saturating_add(1);
                if one.time > youngest {
                    continue;
                }
                oldest.push(one)?;
                if oldest.len() >= most.saturating_mul(2) {
                    leave_oldest(&mut oldest, most);
                    youngest = oldest.last().map_or(0, |one: &OpenBeginning| one.time);
                }
            }
        }
        leave_oldest(&mut oldest, most);
        Ok(OpenBeginnings { oldest, count })
    }

    fn read(&self, slot: usize) -> OpenBeginning {
        let mut one = OpenBeginning {
            time: 0,
            keys: [0; MAX_PAIR_KEYS],
            words: [0; MAX_PAIR_WORDS],
        };
        let mut words = self.slot(slot).iter();
        for (to, word) in one.keys.iter_mut().zip(words.by_ref().take(MAX_PAIR_KEYS)) {
            *to = word.load_relaxed();
        }
        one.time = words.next().map_or(0, AtomicU64::load_relaxed);
        for (to, word) in one.words.iter_mut().zip(words) {
            *to = word.load_relaxed();
        }
        one
    }
}

/// Sorts `all` by time, and keeps the `most` oldest.
fn leave_oldest(all: &mut Vec<OpenBeginning>, most: usize) {
    sort::sort_by_key(all, |one| one.time);
    all.truncate(most);
}

/// The lowest bit of a slot's tag in the word of its bucket.
#[derive(Clone, Copy)]
struct TagPlace(u32);

impl TagPlace {
    /// Returns the places of all slots.
    fn all() -> impl Iterator<Item = Self> {
        (0..u64::BITS).step_by(8).map(Self)
    }

    /// Returns the first place whose highest bit is set in `marks`.
    #[inline(always)]
    fn first(marks: u64) -> Option<Self> {
        (marks != 0).then(|| Self(marks.trailing_zeros() & !7))
    }

    /// Returns a mask of all other places.
    #[inline(always)]
    fn others(self) -> u64 {
        !(0xff << self.0)
    }

    /// Returns the slot's index in the bucket.
    #[inline(always)]
    fn index(self) -> usize {
        // CAST: Less than eight.
        (self.0 / 8) as usize
    }

    /// Returns this slot's tag in `word`.
    #[inline(always)]
    fn tag(self, word: u64) -> u8 {
        // CAST: The lowest byte.
        (word >> self.0) as u8
    }
}

/// Returns a word with the highest bit of each byte set that equals `tag` in `word`.
#[inline(always)]
fn with(word: u64, tag: u8) -> u64 {
    let other = word ^ EACH.wrapping_mul(u64::from(tag));
    // The highest bit of each nonzero byte. No sum carries into the next byte.
    let low = EACH.wrapping_mul(0x7f);
    let sum = (other & low).wrapping_add(low);
    !(sum | other | low)
}

/// Eight slots.
#[derive(Clone, Copy)]
struct Bucket<'a> {
    /// The word of the tags.
    tags: &'a AtomicU64,
    /// The number of the first slot.
    first: usize,
}

impl<'a> Bucket<'a> {
    /// Returns the highest bits of the slots with this tag.
    #[inline(always)]
    fn with(&self, tag: u8) -> u64 {
        with(self.tags.load_relaxed(), tag)
    }

    /// Claims the first slot if both buckets are empty.
    #[inline(always)]
    fn take_first([first, second]: [Self; NEIGHBOURS]) -> Option<TakenSlot<'a>> {
        if first.tags.load_relaxed() | second.tags.load_relaxed() != 0 {
            return None;
        }
        first.take_alone(FREE)
    }

    /// Claims the first slot if it has this tag and the others are free.
    #[inline(always)]
    fn take_alone(&self, tag: u8) -> Option<TakenSlot<'a>> {
        let taken = u64::from(TAKEN);
        self.tags.cmpxchg_acquire(u64::from(tag), taken).ok()?;
        Some(self.slot(TagPlace(0)))
    }

    /// Claims a free slot if no slot has this tag.
    #[inline(always)]
    fn take_free_without(&self, tag: u8) -> Option<TakenSlot<'a>> {
        let found = self.tags.load_relaxed();
        let place = TagPlace::first(with(found, FREE))?;
        if with(found, tag) != 0 {
            return None;
        }
        let taken = found | u64::from(TAKEN) << place.0;
        self.tags.cmpxchg_acquire(found, taken).ok()?;
        Some(self.slot(place))
    }

    /// Claims a free slot.
    #[inline(always)]
    fn take_free(&self) -> Option<TakenSlot<'a>> {
        while let Some(place) = TagPlace::first(self.with(FREE)) {
            // Otherwise another writer claimed it first.
            if let Some(slot) = self.take(place, FREE) {
                return Some(slot);
            }
        }
        None
    }

    #[inline(always)]
    fn slot(&self, place: TagPlace) -> TakenSlot<'a> {
        TakenSlot {
            tags: self.tags,
            place,
            number: self.first.wrapping_add(place.index()),
        }
    }

    /// Claims the slot at `place` if it has this tag.
    ///
    /// Each iteration after the first is caused by another writer that changed a slot of the
    /// bucket.
    #[inline(always)]
    fn take(&self, place: TagPlace, tag: u8) -> Option<TakenSlot<'a>> {
        let mut found = self.tags.load_relaxed();
        let change = u64::from(tag ^ TAKEN) << place.0;
        while place.tag(found) == tag {
            match self.tags.cmpxchg_acquire(found, found ^ change) {
                Ok(_) => return Some(self.slot(place)),
                Err(other) => found = other,
            }
        }
        None
    }
}

/// A beginning whose slot is claimed.
struct TakenBeginning<'a> {
    slot: TakenSlot<'a>,
    time: &'a AtomicU64,
    left: &'a [AtomicU64],
}

struct TakenSlot<'a> {
    tags: &'a AtomicU64,
    place: TagPlace,
    number: usize,
}

impl TakenSlot<'_> {
    /// Releases the slot with this tag, after all accesses to it.
    #[inline(always)]
    fn release(self, tag: u8) {
        // The tag is `TAKEN`, and nobody else changes it: no carry into another byte.
        let change = u64::from(tag).wrapping_sub(u64::from(TAKEN));
        self.tags.add_release(change << self.place.0);
    }
}

#[cfg(test)]
mod tests {
    use super::Beginnings;
    use std::collections::HashSet;

    #[test]
    fn keys_that_are_alike_have_different_tags() {
        for step in [1u64, 8, 64, 512, 4096] {
            let keys = (0..1000u64).map(|n| 0xffff_8880_0000_0000 + n * step);
            let keys: Vec<u64> = keys.collect();
            let tags = |keys: &mut dyn Iterator<Item = [u64; 2]>| {
                let tags = keys.map(|key| Beginnings::tag(Beginnings::hash(key)));
                tags.collect::<HashSet<u8>>().len()
            };
            for tags in [
                tags(&mut keys.iter().map(|&key| [key, 0])),
                tags(&mut keys.iter().map(|&key| [7, key])),
                tags(&mut keys.iter().map(|&key| [key, 7])),
            ] {
                assert!(tags > 64, "{tags} tags of keys {step} apart");
            }
        }
    }
}
