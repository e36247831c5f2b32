// SPDX-License-Identifier: GPL-2.0

//! Marks on events, so that a transaction only looks at the events that it concerns.
//!
//! Transactions are numbered from 1. A mark is valid for the transaction whose number it has, so it
//! need not be cleared when a transaction ends or fails. Marks are accessed with the registry lock
//! held.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Marks of writes to `kprobe_events`.
pub(super) struct WriteMarks {
    /// The number of the event's probes.
    probes: AtomicUsize,
    /// The last write that added or deleted a probe.
    write: AtomicU64,
    /// The number of probes if that write succeeds.
    planned: AtomicUsize,
}

impl WriteMarks {
    /// Makes the marks of an event without probes.
    pub(super) const fn new() -> Self {
        Self {
            probes: AtomicUsize::new(0),
            write: AtomicU64::new(0),
            planned: AtomicUsize::new(0),
        }
    }

    /// Returns the number of probes if `write` succeeds.
    pub(super) fn probes_after(&self, write: u64) -> usize {
        if self.write.load(Relaxed) == write {
            self.planned.load(Relaxed)
        } else {
            self.probes.load(Relaxed)
        }
    }

    /// Notes that `write` adds a probe.
    pub(super) fn add_probe(&self, write: u64) {
        self.plan_probes(write, self.probes_after(write).saturating_add(1));
    }

    /// Notes that `write` deletes a probe. Returns how many are left.
    pub(super) fn delete_probe(&self, write: u64) -> usize {
        let left = self.probes_after(write).saturating_sub(1);
        self.plan_probes(write, left);
        left
    }

    fn plan_probes(&self, write: u64, count: usize) {
        self.planned.store(count, Relaxed);
        self.write.store(write, Relaxed);
    }

    /// Notes that `write` has succeeded.
    pub(super) fn accept_probes(&self, write: u64) {
        let count = self.probes_after(write);
        self.probes.store(count, Relaxed);
    }

    /// Returns whether no successful write has added a probe yet.
    pub(super) fn is_new(&self) -> bool {
        self.probes.load(Relaxed) == 0
    }

    /// Returns whether `write` removes the event.
    pub(super) fn is_removed_in(&self, write: u64) -> bool {
        self.write.load(Relaxed) == write && self.planned.load(Relaxed) == 0
    }
}

/// The last change of plans that concerned an event.
pub(super) struct ChangeMark(AtomicU64);

impl ChangeMark {
    /// Makes the mark of an event that no change has concerned.
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Notes that change `number` concerns the event.
    pub(super) fn set(&self, number: u64) {
        self.0.store(number, Relaxed);
    }

    /// Returns whether change `number` was the last to concern the event.
    pub(super) fn is(&self, number: u64) -> bool {
        self.0.load(Relaxed) == number
    }
}
