// SPDX-License-Identifier: GPL-2.0

//! Address ranges whose code was unloaded, and may hold other code by now.
//!
//! An address in a module is meaningful only for the load in which it was recorded: after the
//! module is unloaded, another one may be loaded there, and the kernel would name the address by
//! the new code. So a range in [`Reused`] has a time: addresses recorded up to then cannot be named
//! any more.
//!
//! The number of ranges is limited. When it is exceeded, two neighbours are merged into one range
//! with the later time, so that an address may lack its name, but never gets a wrong one. Readers
//! take no lock, so that they can run in any context; a reader retries if a range is marked
//! meanwhile.

use crate::sys::{fence_acquire, fence_release, AllocError, AtomicU64, Vec};
use core::ops::Range;

/// Maximum number of ranges.
const ROOM: usize = 128;

/// Maximum number of attempts of a reader. They are exhausted only if the kernel panics while a
/// writer is at work.
const TRIES: usize = 10_000;

/// Address ranges, each with the last time at which its former code could be recorded. The times
/// come from one clock.
pub struct Reused {
    /// A sequence counter: odd while a range is marked.
    sequence: AtomicU64,
    /// Identifies the clock of the times.
    clock: u64,
    /// The number of ranges.
    count: AtomicU64,
    /// The ranges by ascending start.
    ranges: Vec<Marked>,
}

/// An atomic [`Mark`].
struct Marked {
    start: AtomicU64,
    end: AtomicU64,
    until: AtomicU64,
}

/// A range and its time.
#[derive(Clone, Copy)]
struct Mark {
    start: u64,
    end: u64,
    until: u64,
}

impl Marked {
    fn get(&self) -> Mark {
        Mark {
            start: self.start.load_relaxed(),
            end: self.end.load_relaxed(),
            until: self.until.load_relaxed(),
        }
    }

    fn set(&self, mark: Mark) {
        self.start.store_relaxed(mark.start);
        self.end.store_relaxed(mark.end);
        self.until.store_relaxed(mark.until);
    }
}

/// A span of time in which no range was marked: names of addresses are valid for all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    sequence: u64,
    clock: u64,
    from: u64,
    to: u64,
}

impl TimeSpan {
    /// Contains no time.
    pub const NONE: Self = Self {
        sequence: 0,
        clock: 0,
        from: 1,
        to: 0,
    };
}

impl Reused {
    /// Makes an empty set, for times of `clock`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn new(clock: u64) -> Result<Self, AllocError> {
        let mut ranges = Vec::with_capacity(ROOM)?;
        for _ in 0..ROOM {
            ranges.push(Marked {
                start: AtomicU64::new(0),
                end: AtomicU64::new(0),
                until: AtomicU64::new(0),
            })?;
        }
        Ok(Self {
            sequence: AtomicU64::new(0),
            clock,
            count: AtomicU64::new(0),
            ranges,
        })
    }

    /// Marks `range` as reused: records up to the time `until` mean its former code.
    ///
    /// Not reentrant.
    pub fn mark(&self, range: Range<u64>, until: u64) {
        let sequence = self.sequence.load_relaxed();
        self.sequence.store_relaxed(sequence.wrapping_add(1));
        fence_release();
        self.add(Mark {
            start: range.start,
            end: range.end,
            until,
        });
        self.sequence.store_release(sequence.wrapping_add(2));
    }

    /// Returns whether a record of `time` means former code by `address`. Look the name up first,
    /// then call this, so that the name is not wrong.
    ///
    /// Context: any.
    pub fn is_other(&self, address: u64, time: u64) -> bool {
        let found = self.read(|marks| {
            let is_it =
                |mark: Mark| mark.start <= address && address < mark.end && time <= mark.until;
            marks.iter().map(Marked::get).any(is_it)
        });
        // If in doubt, show no name.
        found.is_none_or(|(_, is_other)| is_other)
    }

    /// Returns the span around `time`.
    ///
    /// Context: any.
    pub fn span(&self, time: u64) -> TimeSpan {
        let found = self.read(|marks| {
            let (mut from, mut to) = (0, u64::MAX);
            for mark in marks.iter().map(Marked::get) {
                match time <= mark.until {
                    true => to = to.min(mark.until),
                    false => from = from.max(mark.until.saturating_add(1)),
                }
            }
            (from, to)
        });
        found.map_or(TimeSpan::NONE, |(sequence, (from, to))| TimeSpan {
            sequence,
            clock: self.clock,
            from,
            to,
        })
    }

    /// Returns whether `span` contains `time` of this clock, and no range was marked since.
    ///
    /// Context: any.
    #[inline]
    pub fn is_in(&self, span: &TimeSpan, time: u64) -> bool {
        span.from <= time
            && time <= span.to
            && span.clock == self.clock
            && span.sequence == self.sequence.load_acquire()
    }

    /// Calls `look` with the ranges, and returns its result and the sequence; `None` if ranges are
    /// being marked all the time.
    fn read<R>(&self, look: impl Fn(&[Marked]) -> R) -> Option<(u64, R)> {
        for _ in 0..TRIES {
            let sequence = self.sequence.load_acquire();
            if sequence & 1 != 0 {
                continue;
            }
            let marks = self.ranges.get(..self.count()).unwrap_or_default();
            let result = look(marks);
            fence_acquire();
            if self.sequence.load_relaxed() == sequence {
                return Some((sequence, result));
            }
        }
        None
    }

    /// Returns the number of ranges.
    fn count(&self) -> usize {
        // CAST: At most the room.
        (self.count.load_relaxed() as usize).min(self.ranges.len())
    }

    fn get(&self, index: usize) -> Option<Mark> {
        self.ranges.get(index).map(Marked::get)
    }

    fn set(&self, index: usize, mark: Mark) {
        if let Some(range) = self.ranges.get(index) {
            range.set(mark);
        }
    }

    fn set_count(&self, count: usize) {
        // CAST: usize to u64 widens.
        self.count.store_relaxed(count as u64);
    }

    /// Adds `new`, and removes ranges that it contains.
    fn add(&self, new: Mark) {
        let mut kept = 0usize;
        for index in 0..self.count() {
            let Some(old) = self.get(index) else { break };
            let is_within = |one: Mark, of: Mark| {
                of.start <= one.start && one.end <= of.end && one.until <= of.until
            };
            if is_within(new, old) {
                return self.close(index, kept);
            }
            if !is_within(old, new) {
                self.set(kept, old);
                kept = kept.wrapping_add(1);
            }
        }
        self.set_count(kept);
        if kept >= ROOM {
            self.join_nearest();
        }
        // Make room by moving those behind it.
        let mut at = self.count();
        self.set_count(at.saturating_add(1));
        while let Some(before) = at.checked_sub(1) {
            match self.get(before) {
                Some(old) if old.start > new.start => self.set(at, old),
                _ => break,
            }
            at = before;
        }
        self.set(at, new);
    }

    /// Moves the ranges from `index` on to `kept`.
    fn close(&self, index: usize, mut kept: usize) {
        for index in index..self.count() {
            if let Some(old) = self.get(index) {
                self.set(kept, old);
                kept = kept.wrapping_add(1);
            }
        }
        self.set_count(kept);
    }

    /// Merges the two neighbours with the smallest gap.
    fn join_nearest(&self) {
        let mut nearest = (u64::MAX, 0usize);
        for index in 1..self.count() {
            let before = index.wrapping_sub(1);
            if let Some((first, second)) = self.get(before).zip(self.get(index)) {
                let gap = second.start.saturating_sub(first.end);
                if gap < nearest.0 {
                    nearest = (gap, before);
                }
            }
        }
        let (_, first) = nearest;
        let second = first.wrapping_add(1);
        if let Some((one, other)) = self.get(first).zip(self.get(second)) {
            let joined = Mark {
                start: one.start,
                end: one.end.max(other.end),
                until: one.until.max(other.until),
            };
            self.set(first, joined);
            self.close(second.wrapping_add(1), second);
        }
    }
}

// Not for the model checker, whose atomics exist in its models only.
#[cfg(test)]
#[cfg(feature = "hooks")]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_before_is_other() {
        let reused = Reused::new(0).unwrap();
        assert!(!reused.is_other(0x1000, 5));
        reused.mark(0x1000..0x2000, 10);
        let is_other = |address, time| reused.is_other(address, time);
        assert!(is_other(0x1000, 5) && is_other(0x1fff, 10));
        assert!(!is_other(0xfff, 5) && !is_other(0x2000, 5) && !is_other(0x1000, 11));
    }

    #[test]
    fn a_range_that_goes_again_replaces_what_it_contains() {
        let reused = Reused::new(0).unwrap();
        for time in 1..1000 {
            reused.mark(0x1000..0x2000, time);
            reused.mark(0x5000..0x5100, time);
        }
        reused.mark(0x1800..0x1900, 7);
        assert_eq!(reused.count(), 2);
        reused.mark(0x1800..0x2800, 2000);
        assert_eq!(reused.count(), 3);
        assert!(reused.is_other(0x1000, 999) && !reused.is_other(0x1000, 1000));
        assert!(reused.is_other(0x1900, 1500) && reused.is_other(0x50ff, 3));
        reused.mark(0..0x8000, 3000);
        assert_eq!(reused.count(), 1);
    }

    #[test]
    fn without_room_neighbours_become_one() {
        let reused = Reused::new(0).unwrap();
        // They come in any order.
        let all = |each: &dyn Fn(u64)| (0..1000).for_each(|n| each(n * 7919 % 1000));
        all(&|n| reused.mark(n << 16..(n << 16) + 0x1000, n));
        assert_eq!(reused.count(), ROOM);
        all(&|n| assert!(reused.is_other(n << 16, n), "{n}"));
        // What was recorded after all of them has its name.
        all(&|n| assert!(!reused.is_other(n << 16, 1000), "{n}"));
        assert!(!reused.is_other(1 << 40, 0));
        let starts: std::vec::Vec<_> = (0..ROOM).map(|at| reused.get(at).unwrap().start).collect();
        assert!(starts.is_sorted());
    }

    #[test]
    fn a_span_ends_where_a_range_got_other_code() {
        let reused = Reused::new(0).unwrap();
        let before = reused.span(3);
        assert!(reused.is_in(&before, 0) && reused.is_in(&before, u64::MAX));
        let other = Reused::new(1).unwrap();
        assert!(!other.is_in(&before, 3) && !reused.is_in(&TimeSpan::NONE, 0));
        reused.mark(0x1000..0x2000, 10);
        assert!(!reused.is_in(&before, 3));
        reused.mark(0x3000..0x4000, 20);
        for (time, from, to) in [(3, 0, 10), (10, 0, 10), (11, 11, 20), (21, 21, u64::MAX)] {
            let span = reused.span(time);
            assert_eq!((span.from, span.to), (from, to), "{time}");
            assert!(reused.is_in(&span, from) && reused.is_in(&span, to));
            assert!(!reused.is_in(&span, to.wrapping_add(1)));
        }
    }

    #[test]
    fn who_cannot_read_names_nothing() {
        let reused = Reused::new(0).unwrap();
        reused.sequence.store_relaxed(1);
        assert!(reused.is_other(0x1000, 5));
        assert_eq!(reused.span(5), TimeSpan::NONE);
    }
}
