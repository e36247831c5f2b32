// SPDX-License-Identifier: GPL-2.0

//! What a transaction notes at each event that it concerns, so that it looks at no other.
//!
//! Transactions have numbers, from 1 on, and a mark is valid for the one with its number: none
//! has to be removed when a transaction ends or fails. All this is read and written with the
//! registry lock held.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// What writes note at an event. Only writes use it.
pub(super) struct WriteMarks {
    /// The number of the event's probes in the registry.
    probes: AtomicUsize,
    /// The number of the last write that added or deleted a probe.
    write: AtomicU64,
    /// The number of the event's probes if that write succeeds.
    planned: AtomicUsize,
}

impl WriteMarks {
    /// Those of an event without probes.
    pub(super) const fn new() -> Self {
        Self {
            probes: AtomicUsize::new(0),
            write: AtomicU64::new(0),
            planned: AtomicUsize::new(0),
        }
    }

    /// Returns the number of probes if the write with the number `write` succeeds.
    pub(super) fn probes_after(&self, write: u64) -> usize {
        if self.write.load(Relaxed) == write {
            self.planned.load(Relaxed)
        } else {
            self.probes.load(Relaxed)
        }
    }

    /// Notes that the write with the number `write` adds a probe.
    pub(super) fn add_probe(&self, write: u64) {
        self.plan_probes(write, self.probes_after(write).saturating_add(1));
    }

    /// Notes that the write with the number `write` deletes a probe. Returns how many are left.
    pub(super) fn delete_probe(&self, write: u64) -> usize {
        let left = self.probes_after(write).saturating_sub(1);
        self.plan_probes(write, left);
        left
    }

    fn plan_probes(&self, write: u64, count: usize) {
        self.planned.store(count, Relaxed);
        self.write.store(write, Relaxed);
    }

    /// Notes that the write with the number `write` has succeeded.
    pub(super) fn accept_probes(&self, write: u64) {
        let count = self.probes_after(write);
        self.probes.store(count, Relaxed);
    }

    /// Returns whether no write has added a probe yet that has succeeded.
    pub(super) fn is_new(&self) -> bool {
        self.probes.load(Relaxed) == 0
    }

    /// Returns whether the write with the number `write` removes the event.
    pub(super) fn is_removed_in(&self, write: u64) -> bool {
        self.write.load(Relaxed) == write && self.planned.load(Relaxed) == 0
    }
}

/// The last change of plans that concerned an event. Only changes use it.
pub(super) struct ChangeMark(AtomicU64);

impl ChangeMark {
    /// That of an event which no change has concerned.
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Notes that the change with the number `number` concerns the event.
    pub(super) fn put_in(&self, number: u64) {
        self.0.store(number, Relaxed);
    }

    /// Returns whether the change with the number `number` concerns it, and no later one does.
    pub(super) fn is_in(&self, number: u64) -> bool {
        self.0.load(Relaxed) == number
    }
}
