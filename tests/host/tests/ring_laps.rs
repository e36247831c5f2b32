// SPDX-License-Identifier: GPL-2.0

//! Readers that sleep while the writers go round, for as long as it takes the
//! sequences to return once and more. The rings here have few sequences, so that a
//! test can write as many sub-buffers.

use crate::ring_common;

use ferroprobe_engine::engine::ring::{Iter, Laps, Lost, Reader, Ring};
use ferroprobe_engine::sys::{set_hook, Pages};
use ring_common::{ring_of, task, write};
use std::cell::Cell;
use std::rc::Rc;

/// A sub-buffer has room for a note and one event.
const PAGE: usize = 64;

const LAP_BITS: u32 = 2;
const LAPS: u32 = 1 << LAP_BITS;

/// A ring with a number in each event, of which each has a sub-buffer.
struct Numbers {
    ring: Ring<Pages>,
    made: Cell<u64>,
}

impl Numbers {
    fn new(slots: u32, first: u32) -> Self {
        let laps = Laps {
            first,
            bits: LAP_BITS,
        };
        Self {
            ring: ring_of(slots + 1, PAGE, true, laps),
            made: Cell::new(0),
        }
    }

    fn slots(&self) -> u64 {
        self.ring.capacity().into()
    }

    /// Sub-buffers after which a sequence is used again.
    fn range(&self) -> u64 {
        self.slots() * u64::from(LAPS)
    }

    fn made(&self) -> u64 {
        self.made.get()
    }

    fn write(&self, count: u64) {
        for _ in 0..count {
            let number = self.made() + 1;
            self.made.set(number);
            let mut payload = [0; 12];
            payload[..8].copy_from_slice(&number.to_le_bytes());
            write(&self.ring, 10 * number, &payload).unwrap();
        }
    }

    fn snapshot(&self) -> Iter<&Ring<Pages>> {
        Iter::new(&self.ring, &self.ring.reader().unwrap()).unwrap()
    }
}

fn number(payload: &[u8]) -> u64 {
    u64::from_le_bytes(payload[..8].try_into().unwrap())
}

/// What is left of a snapshot: numbers, and how many were lost before each; how many
/// were lost at the end.
fn rest(mut snapshot: Iter<&Ring<Pages>>) -> (Vec<(u64, u64)>, u64) {
    let mut found = Vec::new();
    while let Some(event) = snapshot.peek() {
        found.push((number(event.payload()), event.lost));
        snapshot.advance();
    }
    (found, snapshot.lost_at_end())
}

fn read(reader: &mut Reader<'_, Pages>, most: u64) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for _ in 0..most {
        let Some(event) = reader.peek() else { break };
        found.push((number(event.payload()), event.lost));
        reader.consume();
    }
    found
}

/// Every ring, reader and sleep up to two ranges of sequences and a bit: `check` gets
/// the ring, the last number that was read, and what is to be found unread.
fn sleepers(mut check: impl FnMut(&Numbers, u64, &[(u64, u64)])) {
    for slots in 2..6 {
        for first in 0..LAPS {
            for before in [0, 1, 2, 7] {
                let range = u64::from(slots * LAPS);
                for sleep in 0..=2 * range + 3 {
                    let numbers = Numbers::new(slots, first);
                    numbers.write(before);
                    let seen = read(&mut numbers.ring.reader().unwrap(), u64::MAX);
                    let last = seen.last().map_or(0, |(number, _)| *number);
                    assert_eq!(last, before);
                    numbers.write(sleep);
                    let there = sleep.min(numbers.slots());
                    let oldest = numbers.made() - there + 1;
                    let expected: Vec<_> = (oldest..=numbers.made())
                        .map(|n| (n, if n == oldest { oldest - last - 1 } else { 0 }))
                        .collect();
                    check(&numbers, last, &expected);
                }
            }
        }
    }
}

#[test]
fn a_reader_wakes_to_the_last_lap_and_knows_what_was_lost() {
    sleepers(|numbers, _, expected| {
        let found = read(&mut numbers.ring.reader().unwrap(), u64::MAX);
        assert_eq!(found, expected);
        let stats = numbers.ring.stats();
        assert_eq!((stats.entries, stats.bytes), (0, 0));
        assert_eq!(stats.read + stats.overrun, numbers.made());
        assert!(!numbers.ring.whole_readable());
        // And it goes on from there.
        let made = numbers.made();
        numbers.write(2);
        let found = read(&mut numbers.ring.reader().unwrap(), u64::MAX);
        assert_eq!(found, [(made + 1, 0), (made + 2, 0)]);
    });
}

#[test]
fn those_who_wait_are_told() {
    sleepers(|numbers, last, expected| {
        let count = expected.len() as u64;
        let ring = &numbers.ring;
        assert_eq!(ring.readable(), count > 0);
        assert!(ring.whole_readable() || count < 2);
        // As the kernel's: the sub-buffer that the reader holds counts too.
        let used = count + u64::from(last > 0);
        assert_eq!(ring.is_filled(100), used >= numbers.slots());
        assert_eq!(ring.stats().entries, count);
    });
}

#[test]
fn the_oldest_event_is_found() {
    sleepers(|numbers, _, expected| {
        let oldest = numbers.ring.reader().unwrap().oldest();
        assert_eq!(oldest, expected.first().map(|(number, _)| number * 10));
    });
}

#[test]
fn a_snapshot_has_the_last_lap() {
    sleepers(|numbers, _, expected| {
        assert_eq!(rest(numbers.snapshot()), (expected.to_vec(), 0));
    });
}

#[test]
fn a_reset_leaves_nothing_and_what_comes_then_is_read() {
    sleepers(|numbers, _, _| {
        numbers.ring.reader().unwrap().reset();
        assert_eq!(numbers.ring.stats(), Default::default());
        assert!(numbers.ring.reader().unwrap().peek().is_none());
        let made = numbers.made();
        numbers.write(1);
        let found = read(&mut numbers.ring.reader().unwrap(), u64::MAX);
        assert_eq!(found, [(made + 1, 0)]);
    });
}

/// A ring that keeps what it has is not full of what no reader comes to.
#[test]
fn a_ring_that_keeps_goes_on_after_it_was_read() {
    sleepers(|numbers, _, _| {
        numbers.ring.set_overwrite(false);
        read(&mut numbers.ring.reader().unwrap(), u64::MAX);
        numbers.write(numbers.slots());
        let payload = [0; 12];
        assert_eq!(
            write(&numbers.ring, u64::MAX >> 3, &payload),
            Err(Lost::Full)
        );
    });
}

/// Reading one event and no more leaves its sub-buffer, which has another, with the
/// reader; that one is not mistaken for the writers'.
#[test]
fn a_sub_buffer_that_is_read_in_part_stays_what_it_is() {
    const TWO_EVENTS: usize = 80;
    for sleep in 0..=2 * 3 * u64::from(LAPS) + 3 {
        let laps = Laps {
            first: 3,
            bits: LAP_BITS,
        };
        let ring = ring_of(4, TWO_EVENTS, true, laps);
        let numbers = Numbers {
            ring,
            made: Cell::new(0),
        };
        numbers.write(2);
        assert_eq!(read(&mut numbers.ring.reader().unwrap(), 1), [(1, 0)]);
        numbers.write(2 * sleep);
        let there = 2 * sleep.min(3);
        let oldest = numbers.made() + 1 - there;
        let mut expected = vec![(2, 0)];
        expected.extend((oldest..=numbers.made()).map(|n| (n, 0)));
        if let Some(first) = expected.get_mut(1) {
            first.1 = first.0 - 3;
        }
        assert_eq!(rest(numbers.snapshot()), (expected.clone(), 0), "{sleep}");
        assert_eq!(numbers.ring.reader().unwrap().oldest(), Some(20));
        let found = read(&mut numbers.ring.reader().unwrap(), u64::MAX);
        assert_eq!(found, expected, "{sleep}");
        assert_eq!(numbers.ring.stats().entries, 0);
    }
}

/// A snapshot that is looked at while the writers go round has nothing that is newer.
#[test]
fn a_snapshot_stays_before_its_end() {
    for slots in 2..6 {
        let range = u64::from(slots * LAPS);
        for sleep in 0..=2 * range + 3 {
            let numbers = Numbers::new(slots, 1);
            numbers.write(40);
            let mut snapshot = numbers.snapshot();
            let made = numbers.made();
            let oldest = made + 1 - numbers.slots();
            assert_eq!(snapshot.peek().map(|e| number(e.payload())), Some(oldest));
            snapshot.advance();
            numbers.write(sleep);
            let (found, lost) = rest(snapshot);
            assert!(found.iter().all(|(n, _)| *n <= made), "{found:?}");
            let last = found.last().map_or(oldest, |(n, _)| *n);
            assert!(last == made || last + lost >= made, "{found:?} {lost}");
        }
    }
}

/// Discarded events are counted with the sub-buffer on which they were, and not with
/// one that has its number later.
#[test]
fn what_was_discarded_is_not_counted_again() {
    for sleep in 0..=2 * 2 * u64::from(LAPS) + 3 {
        let numbers = Numbers::new(2, 1);
        numbers.write(3);
        // SAFETY: This thread is the only writer.
        let writer = unsafe { numbers.ring.writer() };
        let reserved = writer.reserve(12, task(), || 35);
        reserved.ok().unwrap().discard();
        numbers.write(sleep);
        let stats = numbers.ring.stats();
        assert_eq!(stats.recorded(), numbers.made(), "{sleep}");
        assert_eq!(rest(numbers.snapshot()).0.len() as u64, stats.entries);
    }
}

/// What is overrun costs a snapshot nothing.
#[test]
fn a_snapshot_does_not_walk_over_what_was_overrun() {
    let steps_after = |count: u64| {
        let numbers = Numbers {
            ring: ring_of(4, PAGE, true, Laps::ALL),
            made: Cell::new(0),
        };
        numbers.write(count);
        let steps = Rc::new(Cell::new(0u64));
        let counted = Rc::clone(&steps);
        set_hook(Some(Box::new(move || counted.set(counted.get() + 1))));
        let (found, lost) = rest(numbers.snapshot());
        set_hook(None);
        assert_eq!((found.len(), lost), (3, 0));
        steps.get()
    };
    assert_eq!(steps_after(100_000), steps_after(10));
}

/// The range of a ring that a module makes: begun in its last lap.
#[test]
fn the_whole_range_ends_without_a_trace() {
    for slots in [2, 3, 8] {
        let laps = Laps {
            first: u32::MAX,
            ..Laps::ALL
        };
        let ring = ring_of(slots + 1, PAGE, true, laps);
        let numbers = Numbers {
            ring,
            made: Cell::new(0),
        };
        for _ in 0..5 * slots {
            numbers.write(1);
            let expected = [(numbers.made(), 0)];
            assert_eq!(rest(numbers.snapshot()).0, expected);
            let found = read(&mut numbers.ring.reader().unwrap(), u64::MAX);
            assert_eq!(found, expected);
        }
        assert!(numbers.range() > 0);
    }
}
