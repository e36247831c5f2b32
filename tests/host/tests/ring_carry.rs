// SPDX-License-Identifier: GPL-2.0

//! A ring that takes over what another holds: nothing is lost that fits, the
//! newest stays, every loss is marked where it was, and the counters go on.

use crate::ring_common;

use ferroprobe_engine::engine::ring::{Iter, Laps, Lost, Pieces, Ring};
use ferroprobe_engine::sys::Pages;
use proptest::prelude::*;
use ring_common::{ring, ring_of, write};
use std::sync::Arc;

const BYTES: usize = 4096;

/// A ring that is resized now and then, its writer and its reader.
struct Chain {
    ring: Arc<Ring<Pages>>,
    overwrite: bool,
    laps: Laps,
    /// Numbers of the events that were made, and of the last one read.
    made: u64,
    last: u64,
}

impl Chain {
    fn new(pages: u32, overwrite: bool) -> Self {
        Self::with_laps(pages, overwrite, Laps::ALL)
    }

    fn with_laps(pages: u32, overwrite: bool, laps: Laps) -> Self {
        Self {
            ring: Arc::new(ring_of(pages, BYTES, overwrite, laps)),
            overwrite,
            laps,
            made: 0,
            last: 0,
        }
    }

    fn write(&mut self, count: u32, length: usize) {
        for _ in 0..count {
            self.made += 1;
            let mut payload = vec![0; length.max(16)];
            payload[..8].copy_from_slice(&self.made.to_le_bytes());
            match write(&self.ring, self.made * 10, &payload) {
                Ok(_) => {}
                Err(Lost::Full) => assert!(!self.overwrite),
                Err(error) => panic!("{error:?}"),
            }
        }
    }

    fn read(&mut self, count: u32) {
        let mut reader = self.ring.reader().unwrap();
        for _ in 0..count {
            let Some(event) = reader.peek() else {
                break;
            };
            let number = u64::from_le_bytes(event.payload()[..8].try_into().unwrap());
            assert_eq!(number, self.last + event.lost + 1, "lost {}", event.lost);
            assert_eq!(event.ts, number * 10);
            self.last = number;
            reader.consume();
        }
    }

    /// Resizes, with `early` events in the new ring before it takes over.
    fn resize(&mut self, pages: u32, early: u32, length: usize) {
        let old = self.ring.clone();
        self.ring = Arc::new(ring_of(pages, BYTES, self.overwrite, self.laps));
        self.write(early, length);
        let held = self.numbers_in(&old);
        assert!(taken_over(&self.ring, &old));
        assert_eq!(self.numbers_in(&old), held, "the old ring has changed");
        self.check_sums();
    }

    fn numbers_in(&self, ring: &Arc<Ring<Pages>>) -> Vec<u64> {
        let reader = ring.reader().unwrap();
        let mut snapshot = Iter::new(ring.clone(), &reader).unwrap();
        drop(reader);
        let mut numbers = Vec::new();
        while let Some(event) = snapshot.peek() {
            numbers.push(u64::from_le_bytes(event.payload()[..8].try_into().unwrap()));
            snapshot.advance();
        }
        numbers
    }

    fn numbers(&self) -> Vec<u64> {
        self.numbers_in(&self.ring)
    }

    fn check_sums(&self) {
        let stats = self.ring.stats();
        assert_eq!(stats.entries, self.numbers().len() as u64, "{stats:?}");
        assert_eq!(stats.recorded() + stats.dropped, self.made, "{stats:?}");
        assert_eq!(stats.commit_overrun + stats.too_large, 0);
    }
}

fn taken_over(new: &Ring<Pages>, old: &Ring<Pages>) -> bool {
    let mut room = Pieces::of([old].into_iter()).expect("memory");
    new.take_over(old, &mut room)
}

#[test]
fn a_larger_ring_keeps_all() {
    let mut chain = Chain::new(5, true);
    chain.write(300, 16);
    chain.read(10);
    let before = chain.ring.stats();
    chain.resize(9, 0, 16);
    assert_eq!(chain.ring.stats(), before);
    assert_eq!(chain.numbers(), (11..=300).collect::<Vec<_>>());
    chain.write(5, 16);
    assert_eq!(chain.numbers(), (11..=305).collect::<Vec<_>>());
    chain.read(1000);
    assert_eq!(chain.last, 305);
    assert_eq!(chain.ring.stats().bytes, 0);
}

#[test]
fn a_smaller_ring_keeps_the_newest() {
    let mut chain = Chain::new(17, true);
    chain.write(1000, 16);
    chain.read(3);
    chain.resize(4, 0, 16);
    let left = chain.ring.stats().entries;
    assert!((100..900).contains(&left), "{left}");
    assert_eq!(chain.numbers(), (1001 - left..=1000).collect::<Vec<_>>());
    assert_eq!(chain.ring.stats().overrun, 1000 - 3 - left);
    chain.read(1000);
    assert_eq!(chain.last, 1000);
}

#[test]
fn what_was_taken_over_is_overrun_first() {
    let mut chain = Chain::new(4, true);
    chain.write(200, 16);
    chain.resize(5, 0, 16);
    chain.write(2000, 16);
    chain.check_sums();
    let left = chain.ring.stats().entries;
    assert_eq!(chain.numbers(), (2201 - left..=2200).collect::<Vec<_>>());
    chain.read(5000);
    assert_eq!(chain.last, 2200);
}

#[test]
fn nothing_is_taken_over_from_what_does_not_fit() {
    let old = ring(4, BYTES, true);
    write(&old, 10, &[1; 16]).unwrap();
    let other_pages = ring(4, 2 * BYTES, true);
    assert!(!taken_over(&other_pages, &old));
    assert!(!taken_over(&old, &old));
    let used = ring(4, BYTES, true);
    write(&used, 10, &[1; 16]).unwrap();
    assert!(used.reader().unwrap().consume());
    assert!(!taken_over(&used, &old));
    assert_eq!(used.stats().entries, 0);
    let reading = ring(4, BYTES, true);
    let reader = reading.reader().unwrap();
    assert!(!taken_over(&reading, &old));
    drop(reader);
    assert!(taken_over(&reading, &old));
    assert_eq!(reading.stats().entries, 1);
}

#[derive(Clone, Debug)]
enum Step {
    Write(u32),
    Read(u32),
    Resize(u32, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let count = prop_oneof![0u32..5, 0u32..700];
    prop_oneof![
        count.clone().prop_map(Step::Write),
        count.clone().prop_map(Step::Read),
        (3u32..12, prop_oneof![Just(0u32), count])
            .prop_map(|(pages, early)| Step::Resize(pages, early)),
    ]
}

proptest! {
    #[test]
    fn every_event_is_read_or_marked_as_lost(
        overwrite: bool,
        pages in 3u32..12,
        // One for all: where the newest are dropped, a shorter one could fit
        // behind a drop, which is marked on the next sub-buffer only.
        length in prop_oneof![Just(16usize), 16usize..400],
        // With few laps the sequences return while nobody reads.
        first in 0u32..4,
        bits in prop_oneof![Just(2u32), Just(u32::MAX)],
        steps in prop::collection::vec(step(), 1..30),
    ) {
        let mut chain = Chain::with_laps(pages, overwrite, Laps { first, bits });
        let mut was = pages;
        for step in steps {
            match step {
                Step::Write(count) => chain.write(count, length),
                Step::Read(count) => chain.read(count),
                Step::Resize(pages, early) => {
                    let before = chain.numbers();
                    let made = chain.made;
                    chain.resize(pages, early, length);
                    let after = chain.numbers();
                    // What is left of what was there is the end of it; but what
                    // the reader holds stays when the writers come round.
                    let left: Vec<_> = after.into_iter().filter(|n| *n <= made).collect();
                    prop_assert!(left.iter().all(|n| before.contains(n)));
                    if early == 0 {
                        prop_assert!(before.ends_with(&left));
                    }
                    if early == 0 && pages > was {
                        prop_assert_eq!(before, left);
                    }
                    was = pages;
                }
            }
            chain.check_sums();
        }
        chain.read(u32::MAX);
        prop_assert_eq!(chain.ring.stats().entries, 0);
        prop_assert_eq!(chain.ring.stats().bytes, 0);
    }
}
