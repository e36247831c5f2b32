// SPDX-License-Identifier: GPL-2.0

//! Entries of a shared table in which each key has at most one entry.
//!
//! One CPU stores a variable and another reads it, so both must find the same entry. A writer that
//! finds an entry claimed but not complete, because it interrupts the owner or races with it on
//! another CPU, does not wait: its hit is dropped, and counted as such.

use super::column::COMM_WORDS;
use super::entry::BucketEntry;
use super::table::SharedTable;
use super::table::{hash, mix, CLAIMED, COMPLETE, PROBES};
use crate::sys::{self, AtomicU64};

/// Number of slots that are cleared between two checks for rescheduling.
const CLEARED_AT_ONCE: usize = 1 << 10;

/// An entry with variables.
#[derive(Clone, Copy)]
pub(super) struct VarEntry<'a> {
    /// Hits and values.
    pub(super) bucket: BucketEntry<'a, AtomicU64>,
    pub(super) vars: &'a [AtomicU64],
    pub(super) slot: usize,
}

impl SharedTable {
    /// Returns the entry in `slot`; `rest` are its words behind the claim.
    #[inline(always)]
    fn parts<'a>(
        &self,
        slot: usize,
        hits: &'a AtomicU64,
        rest: &'a [AtomicU64],
    ) -> Option<VarEntry<'a>> {
        let folded = rest.get(..self.shape().folded())?;
        let vars = rest.get(self.before_vars()..)?;
        let bucket = BucketEntry { hits, folded };
        Some(VarEntry { bucket, vars, slot })
    }

    /// Returns the entry of a key, if it is complete.
    ///
    /// Context: any.
    #[inline(always)]
    pub(super) fn find_entry(&self, key: &[u64]) -> Option<VarEntry<'_>> {
        match *key {
            [key] if self.shape().is_word() => self.find_by_word(key),
            _ => self.find_by_words(key),
        }
    }

    /// Like [`SharedTable::find_entry`], for a key of one word; `None` if the table has longer
    /// keys.
    #[inline(always)]
    pub(super) fn find_of_word(&self, key: u64) -> Option<VarEntry<'_>> {
        match self.shape().is_word() {
            true => self.find_by_word(key),
            false => None,
        }
    }

    /// Returns, for a key of one word, the hits and the words behind them, which begin with the
    /// variables, if the entry is in the first slot of its search. The table must have such keys,
    /// and no values.
    #[inline(always)]
    pub(super) fn first_by_word(&self, key: u64) -> Option<(&AtomicU64, &[AtomicU64])> {
        let mixed = mix(key);
        let (claim, hits, rest) = self.slot(self.first_of_word(mixed))?;
        (claim.load_acquire() == mixed && mixed != 0).then_some((hits, rest))
    }

    #[inline(always)]
    fn find_by_word(&self, key: u64) -> Option<VarEntry<'_>> {
        let mixed = mix(key);
        if mixed == 0 {
            return self.of_zero();
        }
        let mut slot = self.first_of_word(mixed);
        for _ in 0..PROBES.min(self.slots()) {
            let (claim, hits, rest) = self.slot(slot)?;
            let found = claim.load_acquire();
            if found == mixed {
                return self.parts(slot, hits, rest);
            }
            if found == 0 {
                return None;
            }
            slot = self.next(slot);
        }
        None
    }

    /// Returns the entry of the key that mixes to 0.
    #[cold]
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn of_zero(&self) -> Option<VarEntry<'_>> {
        let (_, hits, rest) = self.slot(self.slots())?;
        self.parts(self.slots(), hits, rest)
    }

    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn find_by_words(&self, key: &[u64]) -> Option<VarEntry<'_>> {
        let hash = hash(key);
        let mut slot = self.first(hash);
        for _ in 0..PROBES.min(self.slots()) {
            let (claim, hits, rest) = self.slot(slot)?;
            let found = claim.load_acquire();
            if found == hash | COMPLETE && self.has_key(rest, key)? {
                return self.parts(slot, hits, rest);
            }
            if found == 0 {
                return None;
            }
            slot = self.next(slot);
        }
        None
    }

    /// Returns whether an entry with the words `rest` behind its hits has `key`.
    #[inline(always)]
    fn has_key(&self, rest: &[AtomicU64], key: &[u64]) -> Option<bool> {
        let shape = self.shape();
        if key.len() != shape.keys {
            return Some(false);
        }
        let start = shape.folded().wrapping_add(shape.comm);
        let own = rest.get(start..start.wrapping_add(shape.keys))?;
        let mut pairs = own.iter().zip(key);
        Some(pairs.all(|(own, key)| own.load_relaxed() == *key))
    }

    /// Returns the entry of a key. Makes the entry if there is room; only then calls `comm`, which
    /// returns the comm of the task.
    ///
    /// Context: any.
    #[inline(always)]
    pub(super) fn make_entry(
        &self,
        key: &[u64],
        comm: impl FnOnce() -> [u64; COMM_WORDS],
    ) -> Option<VarEntry<'_>> {
        match self.find_entry(key) {
            Some(entry) => Some(entry),
            None => match *key {
                [key] if self.shape().is_word() => self.make_by_word(key),
                _ => self.make_by_words(key, comm),
            },
        }
    }

    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn make_by_word(&self, key: u64) -> Option<VarEntry<'_>> {
        let mixed = mix(key);
        if mixed == 0 {
            return self.of_zero();
        }
        let mut slot = self.first_of_word(mixed);
        for _ in 0..PROBES.min(self.slots()) {
            let (claim, hits, rest) = self.slot(slot)?;
            let mut found = claim.load_acquire();
            if found == 0 {
                if !self.may_claim() {
                    return None;
                }
                found = match claim.cmpxchg_full(0, mixed) {
                    Ok(_) => mixed,
                    Err(other) => {
                        self.unclaim();
                        other
                    }
                };
            }
            if found == mixed {
                return self.parts(slot, hits, rest);
            }
            slot = self.next(slot);
        }
        None
    }

    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn make_by_words(
        &self,
        key: &[u64],
        comm: impl FnOnce() -> [u64; COMM_WORDS],
    ) -> Option<VarEntry<'_>> {
        let hash = hash(key);
        let complete = hash | COMPLETE;
        let claimed = complete ^ COMPLETE ^ CLAIMED;
        let mut slot = self.first(hash);
        for _ in 0..PROBES.min(self.slots()) {
            let (claim, hits, rest) = self.slot(slot)?;
            let mut found = claim.load_acquire();
            if found == 0 {
                if !self.may_claim() {
                    return None;
                }
                match claim.cmpxchg_full(0, claimed) {
                    Ok(_) => {
                        let behind = rest.get(self.shape().folded()..)?;
                        self.complete(behind, key, comm);
                        claim.store_release(complete);
                        return self.parts(slot, hits, rest);
                    }
                    Err(other) => {
                        self.unclaim();
                        found = other;
                    }
                }
            }
            if found == claimed {
                // The incomplete key may be the same one.
                return None;
            }
            if found == complete && self.has_key(rest, key)? {
                return self.parts(slot, hits, rest);
            }
            slot = self.next(slot);
        }
        None
    }

    /// Returns the words of the variables of the entry in `slot`.
    ///
    /// Context: any CPU.
    pub(super) fn vars_of(&self, slot: usize) -> &[AtomicU64] {
        let entry = self.slot(slot);
        let parts = entry.and_then(|(_, hits, rest)| self.parts(slot, hits, rest));
        parts.map_or(&[], |parts| parts.vars)
    }

    /// Removes all entries; no hit may add any meanwhile. First lookups stop finding them. Hits of
    /// other histograms that found an entry before may still read its variables; `wait` returns
    /// when they have ended. Only then are the variables zeroed, so that a set variable never reads
    /// as 0.
    ///
    /// Context: process, may sleep.
    pub(super) fn clear(&self, wait: impl FnOnce()) {
        for slot in 0..=self.slots() {
            if slot % CLEARED_AT_ONCE == 0 {
                sys::cond_resched();
            }
            if let Some((claim, ..)) = self.slot(slot) {
                claim.store_relaxed(0);
            }
        }
        wait();
        for slot in 0..=self.slots() {
            if slot % CLEARED_AT_ONCE == 0 {
                sys::cond_resched();
            }
            if let Some((_, hits, rest)) = self.slot(slot) {
                rest.iter().for_each(|word| word.store_relaxed(0));
                hits.store_relaxed(0);
            }
        }
        self.reset_counters();
    }
}

// The atomics of the model checker exist only in its models.
#[cfg(test)]
#[cfg(feature = "hooks")]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::rc::Rc;
    use std::sync::atomic::{AtomicU64 as Count, Ordering};

    use super::*;
    use crate::engine::hist::table::{EntryShape, HistTable};
    use crate::sys::set_hook;

    fn table(keys: usize, size: usize) -> SharedTable {
        let shape = EntryShape {
            values: 0,
            comm: 0,
            keys,
            vars: 2,
        };
        HistTable::with_shape(shape, size).unwrap()
    }

    /// The key of each slot that has one.
    fn keys(table: &SharedTable) -> Vec<Vec<u64>> {
        let mut found = vec![];
        for slot in 0..=table.slots() {
            if table.stored(slot).is_some() && table.slot(slot).unwrap().1.load_relaxed() > 0 {
                let words = (0..table.shape().keys).map(|n| table.key_word(slot, n));
                found.push(words.collect());
            }
        }
        found
    }

    #[test]
    fn no_key_has_two_entries() {
        for words in [1, 2, 3] {
            let table = table(words, 64);
            let lost = Count::new(0);
            std::thread::scope(|scope| {
                for thread in 0..4u64 {
                    let (table, lost) = (&table, &lost);
                    scope.spawn(move || {
                        for n in 0..20_000u64 {
                            let key = [(n * 7 + thread) % 50, 1, 2];
                            let key = &key[..words];
                            match table.make_entry(key, || [0, 0]) {
                                Some(entry) => entry.bucket.begin(),
                                None => _ = lost.fetch_add(1, Ordering::Relaxed),
                            }
                        }
                    });
                }
            });
            let mut all = keys(&table);
            assert_eq!(all.len(), 50, "{words}");
            all.sort();
            all.dedup();
            assert_eq!(all.len(), 50, "{words}");
            assert_eq!(table.hits() + lost.into_inner(), 80_000);
        }
    }

    #[test]
    fn an_interrupt_finds_the_same_entry_or_none() {
        for words in [1, 2] {
            // At each atomic operation once.
            for at in 0..20 {
                let table = Rc::new(table(words, 8));
                let found = Rc::new(Cell::new(None));
                let (nested, result) = (table.clone(), found.clone());
                let left = Cell::new(at);
                set_hook(Some(Box::new(move || {
                    let n = left.get();
                    left.set(n - 1);
                    if n == 0 {
                        let entry = nested.make_entry(&[5, 6][..words], || [0, 0]);
                        result.set(entry.map(|entry| entry.slot));
                    }
                })));
                let own = table.make_entry(&[5, 6][..words], || [0, 0]);
                set_hook(None);
                let own = own.map(|entry| entry.slot);
                if let Some(nested) = found.get() {
                    assert!(own.is_none_or(|own| own == nested), "{words} {at}");
                }
                let again = table.make_entry(&[5, 6][..words], || [0, 0]);
                let slot = again.map(|entry| entry.slot);
                assert!(slot.is_some() && (own.is_none() || own == slot));
            }
        }
    }

    #[test]
    fn entries_are_found_until_they_are_cleared() {
        for words in [1, 2] {
            let table = table(words, 128);
            let mut slots = BTreeMap::new();
            for n in 0..100u64 {
                // One of these keys mixes to 0.
                let key = [if n == 7 { mix(0) } else { n }, n];
                assert!(table.find_entry(&key[..words]).is_none() || words == 1 && n == 7);
                let entry = table.make_entry(&key[..words], || [0, 0]).unwrap();
                entry.bucket.begin();
                slots.insert(key, entry.slot);
            }
            for (key, slot) in &slots {
                let found = table.find_entry(&key[..words]).unwrap();
                assert_eq!(found.slot, *slot);
                assert_eq!(found.vars.len(), 2);
            }
            table.drop_hit();
            table.clear(|| ());
            assert_eq!((table.hits(), table.dropped()), (0, 0));
            for key in slots.keys().filter(|key| key[0] != mix(0)) {
                assert!(table.find_entry(&key[..words]).is_none());
            }
        }
    }
}
