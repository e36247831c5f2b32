// SPDX-License-Identifier: GPL-2.0

//! The counters of a ring, as the per-CPU `stats` file prints them.

use super::reader::Passed;
use super::state::{Ring, Storage};
use crate::sys::{self, AtomicU64};

/// How often the totals are read again while writers move from one sub-buffer to the next.
const ATTEMPTS: u32 = 8;

/// The counters of one ring, since it was created or last reset.
///
/// Exact for a ring without writers. While writers run each number is correct for some
/// moment of the reading, but not all for the same moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events that can still be read.
    pub entries: u64,
    /// Events overwritten before they were read.
    pub overrun: u64,
    /// Events lost because interrupts filled the ring while they interrupted a writer.
    pub commit_overrun: u64,
    /// Number of bytes of data that can still be read, event headers included.
    pub bytes: u64,
    /// Events lost because the ring was full and does not overwrite.
    pub dropped: u64,
    /// Events consumed.
    pub read: u64,
    /// Events lost because they were larger than a sub-buffer.
    pub too_large: u64,
}

impl Stats {
    /// Returns the events recorded since the reset: those that can be read, were read, or
    /// were overwritten. The kernel's `entries-written` excludes those that were read.
    pub fn recorded(&self) -> u64 {
        self.entries
            .wrapping_add(self.overrun)
            .wrapping_add(self.read)
    }

    /// Returns the sums of both.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            entries: self.entries.wrapping_add(other.entries),
            overrun: self.overrun.wrapping_add(other.overrun),
            commit_overrun: self.commit_overrun.wrapping_add(other.commit_overrun),
            bytes: self.bytes.wrapping_add(other.bytes),
            dropped: self.dropped.wrapping_add(other.dropped),
            read: self.read.wrapping_add(other.read),
            too_large: self.too_large.wrapping_add(other.too_large),
        }
    }

    /// Returns the number of events that found no room.
    pub fn lost(&self) -> u64 {
        self.commit_overrun
            .wrapping_add(self.dropped)
            .wrapping_add(self.too_large)
    }
}

impl<S: Storage> Ring<S> {
    /// Returns the counters. Takes no lock.
    ///
    /// [`Reader::oldest`] returns the time of the oldest event.
    ///
    /// Context: any.
    ///
    /// [`Reader::oldest`]: super::Reader::oldest
    pub fn stats(&self) -> Stats {
        let total = self.totals();
        let base = &self.reader.0.base;
        let since = |now: u64, then: &AtomicU64| now.wrapping_sub(then.load_relaxed());
        Stats {
            overrun: since(total.overrun, &base.overrun),
            commit_overrun: since(total.commit_overrun, &base.commit_overrun),
            dropped: since(total.dropped, &base.dropped),
            read: since(total.read, &base.read),
            too_large: since(total.too_large, &base.too_large),
            ..total
        }
    }

    /// Restarts the counters from 0.
    pub(super) fn set_base(&self) {
        let total = self.totals();
        let base = &self.reader.0.base;
        base.overrun.store_relaxed(total.overrun);
        base.commit_overrun.store_relaxed(total.commit_overrun);
        base.dropped.store_relaxed(total.dropped);
        base.read.store_relaxed(total.read);
        base.too_large.store_relaxed(total.too_large);
    }

    /// Continues the counters from `before`, which another ring has counted; `overrun` more
    /// events were overrun in the migration.
    pub(super) fn go_on_from(&self, before: &Stats, overrun: u64) {
        let base = &self.reader.0.base;
        let go_on = |base: &AtomicU64, count: u64| {
            base.store_relaxed(base.load_relaxed().wrapping_sub(count));
        };
        go_on(&base.overrun, before.overrun.wrapping_add(overrun));
        go_on(&base.commit_overrun, before.commit_overrun);
        go_on(&base.dropped, before.dropped);
        go_on(&base.read, before.read);
        go_on(&base.too_large, before.too_large);
    }

    /// Returns the number of events that found no room since the ring was created, without
    /// those that were too large.
    pub(super) fn losses(&self) -> u64 {
        let counters = &self.counters.0;
        let dropped = counters.dropped.load_relaxed();
        dropped.wrapping_add(counters.commit_overrun.load_relaxed())
    }

    fn totals(&self) -> Stats {
        let (Passed { events, .. }, bytes) = self.reached();
        let carried = &self.reader.0;
        let events = events.wrapping_add(carried.carried_events.load_relaxed());
        let bytes = bytes.wrapping_add(carried.carried_bytes.load_relaxed());
        let counters = &self.counters.0;
        let overrun = counters.overrun.load_relaxed();
        let read = self.reader.0.read_events.load_relaxed();
        let gone = overrun.wrapping_add(read);
        let overrun_bytes = counters.overrun_bytes.load_relaxed();
        let read_bytes = self.reader.0.read_bytes.load_relaxed();
        let gone_bytes = overrun_bytes.wrapping_add(read_bytes);
        Stats {
            entries: events.saturating_sub(gone),
            overrun,
            commit_overrun: counters.commit_overrun.load_relaxed(),
            bytes: bytes.saturating_sub(gone_bytes),
            dropped: counters.dropped.load_relaxed(),
            read,
            too_large: counters.too_large.load_relaxed(),
        }
    }

    /// Returns what is published: events and losses, and bytes, since the ring was created.
    pub(super) fn reached(&self) -> (Passed, u64) {
        let mut reached = (Passed::default(), 0);
        for _ in 0..ATTEMPTS {
            let published = self.published();
            if let Some(page) = self.tail_page(published.seq()) {
                let mut passed = page.before();
                passed.events = passed.events.wrapping_add(page.kept(published));
                let bytes = page.bytes_before.load_relaxed();
                let data = published.data_bytes();
                reached = (passed, bytes.wrapping_add(data));
            }
            // The page may have been reused for another sub-buffer if the writers have
            // moved on by a lap; they publish the next sub-buffer before they do.
            sys::fence_acquire();
            if self.published().seq() == published.seq() {
                break;
            }
        }
        reached
    }
}
