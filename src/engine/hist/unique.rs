// SPDX-License-Identifier: GPL-2.0

//! Entries of a table that all CPUs share, of which each key has one at most.
//!
//! Variables are stored by one CPU and read by another, so both must find the same entry. A
//! writer that finds the entry of its key claimed but not complete, because it interrupts the
//! owner or is faster on another CPU, does not wait: its hit is lost, and counted as such.

use super::column::COMM_WORDS;
use super::entry::BucketEntry;
use super::table::SharedTable;
use super::table::{hash, mix, CLAIMED, COMPLETE, PROBES};
use crate::sys::{self, AtomicU64};

/// Slots that are cleared before another task may run.
const CLEARED_AT_ONCE: usize = 1 << 10;

/// An entry that has variables.
#[derive(Clone, Copy)]
pub(super) struct VarEntry<'a> {
    /// What is counted.
    pub(super) bucket: BucketEntry<'a, AtomicU64>,
    /// The words of the variables.
    pub(super) vars: &'a [AtomicU64],
    /// Its slot.
    pub(super) slot: usize,
}

impl SharedTable {
    /// Returns the parts of the entry in `slot` whose words behind the claim are these.
    #[inline(always)]
    fn parts<'a>(
        &self,
        slot: usize,
        hits: &'a AtomicU64,
        rest: &'a [AtomicU64],
    ) -> Option<VarEntry<'a>> {
        let (folded, behind) = rest.split_at_checked(self.shape().folded())?;
        let vars = behind.get(self.shape().before_vars()..)?;
        let bucket = BucketEntry { hits, folded };
        Some(VarEntry { bucket, vars, slot })
    }

    /// Returns the entry of a key, if it has one that is complete.
    ///
    /// Context: any.
    #[inline(always)]
    pub(super) fn find_entry(&self, key: &[u64]) -> Option<VarEntry<'_>> {
        match *key {
            [key] if self.shape().is_word() => self.find_by_word(key),
            _ => self.find_by_words(key),
        }
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

    /// Returns the entry of the key that is 0 when it is mixed.
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

    /// Returns whether an entry whose words behind the number of hits are `rest` is of `key`.
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

    /// Returns the entry of a key, which is made if there is room; `comm` returns the name of
    /// the task, which is called only then.
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
                // Maybe the same key, which is not known yet.
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

    /// Removes all entries, which no hit uses any more; a lookup on another CPU finds none of
    /// them from then on.
    ///
    /// Context: process, may sleep.
    pub(super) fn clear(&self) {
        for slot in 0..=self.slots() {
            if slot % CLEARED_AT_ONCE == 0 {
                sys::cond_resched();
            }
            if let Some((claim, ..)) = self.slot(slot) {
                claim.store_relaxed(0);
            }
        }
        for slot in 0..=self.slots() {
            if slot % CLEARED_AT_ONCE == 0 {
                sys::cond_resched();
            }
            if let Some((_, hits, rest)) = self.slot(slot) {
                rest.iter().for_each(|word| word.store_relaxed(0));
                hits.store_relaxed(0);
            }
        }
        self.forget_losses();
    }
}
