// SPDX-License-Identifier: GPL-2.0

//! A ring that is mapped: what is handed out is read by a parser of its own from
//! the ring's memory itself, as a task that has mapped it would.

use crate::ring_common;

use ferroprobe_engine::engine::ring::{Handed, Ring};
use ferroprobe_engine::sys::Pages;
use proptest::prelude::*;
use ring_common::{parse_page, ring, write, Event};

/// One who has mapped a ring: what was seen where it lies, and what was copied.
#[derive(Default)]
struct Mapping {
    handed: Option<(u32, u64)>,
    lost: u64,
    events: Vec<Event>,
    copies: usize,
}

fn content(ring: &Ring<Pages>, id: u32) -> Vec<u8> {
    let words = ring.view().words(id);
    words.flat_map(u32::to_le_bytes).collect()
}

impl Mapping {
    /// Asks for more; says whether there was.
    fn go_on(&mut self, ring: &Ring<Pages>) -> bool {
        let mut reader = ring.reader().unwrap();
        let page = if let Some(Handed { page, bytes }) = reader.hand_out(|_| {}) {
            let parsed = parse_page(&content(ring, page)).unwrap();
            assert_eq!(parsed.end, bytes as usize + 16);
            assert!(!parsed.missed);
            if let Some((before, taken)) = self.handed {
                assert_ne!(before, page);
                assert_ne!(taken, ring.taken());
            }
            self.handed = Some((page, ring.taken()));
            parsed
        } else {
            let mut out = vec![0; ring.page_bytes()];
            let lost = reader.peek().map_or(0, |event| event.lost);
            if reader.read_page(&mut out, false).is_none() {
                return false;
            }
            self.copies += 1;
            self.lost += lost;
            let page = parse_page(&out).unwrap();
            assert_eq!(page.lost, Some(lost).filter(|&lost| lost != 0));
            page
        };
        self.events.extend(page.events);
        true
    }

    fn numbers(&self) -> Vec<u64> {
        self.events
            .iter()
            .map(|event| u64::from_le_bytes(event.payload[..8].try_into().unwrap()))
            .collect()
    }
}

fn number(ring: &Ring<Pages>, n: u64) {
    write(ring, n + 1, &n.to_le_bytes()).unwrap();
}

#[test]
fn what_is_handed_out_stays_while_writers_go_on() {
    let ring = ring(4, 4096, true);
    let mut mapping = Mapping::default();
    assert!(!mapping.go_on(&ring));
    number(&ring, 0);
    assert!(mapping.go_on(&ring));
    assert_eq!(mapping.numbers(), [0]);
    assert_eq!((ring.stats().read, ring.stats().entries), (1, 0));
    let (page, taken) = mapping.handed.unwrap();
    let before = parse_page(&content(&ring, page)).unwrap();
    // Behind the commit, and then over all the others.
    for n in 1..3_000 {
        number(&ring, n);
        let now = parse_page(&content(&ring, page)).unwrap();
        assert_eq!((now.events, now.end), (before.events.clone(), before.end));
    }
    assert_eq!(ring.taken(), taken);
    assert!(mapping.go_on(&ring));
    assert_eq!((mapping.copies, ring.taken()), (1, taken));
    assert!(mapping.go_on(&ring));
    assert_eq!(ring.taken(), taken + 1);
}

#[test]
fn what_others_have_begun_to_read_is_copied() {
    let ring = ring(4, 4096, true);
    for n in 0..50 {
        number(&ring, n);
    }
    {
        let mut reader = ring.reader().unwrap();
        for _ in 0..20 {
            assert!(reader.consume());
        }
    }
    let mut mapping = Mapping::default();
    while mapping.go_on(&ring) {}
    assert_eq!(mapping.numbers(), (20..50).collect::<Vec<_>>());
    assert_eq!(mapping.copies, 1);
}

#[test]
fn losses_are_told_with_the_sub_buffer_that_they_precede() {
    let ring = ring(4, 4096, true);
    let mut mapping = Mapping::default();
    for n in 0..2_000 {
        number(&ring, n);
    }
    assert!(mapping.go_on(&ring));
    let overrun = ring.stats().overrun;
    assert!(overrun > 0);
    assert_eq!(mapping.lost, overrun);
    assert_eq!(mapping.numbers()[0], overrun);
    while mapping.go_on(&ring) {}
    assert_eq!(mapping.lost, overrun);
    assert_eq!(mapping.numbers(), (overrun..2_000).collect::<Vec<_>>());
}

proptest! {
    /// Whatever is written and asked for in whatever order: nothing is missing
    /// that is not told, nothing comes twice.
    #[test]
    fn every_event_is_handed_out_once_or_told_as_lost(
        pages in 3u32..6,
        steps in prop::collection::vec((0u32..120, 0u32..4, any::<bool>()), 1..60),
    ) {
        let ring = ring(pages, 4096, true);
        let mut mapping = Mapping::default();
        let mut total = 0;
        for (writes, asks, looks) in steps {
            for _ in 0..writes {
                number(&ring, total);
                total += 1;
            }
            for _ in 0..asks {
                mapping.go_on(&ring);
            }
            if looks {
                // Looking changes nothing for who has mapped the ring.
                let _ = ring.reader().unwrap().oldest();
            }
            let stats = ring.stats();
            prop_assert_eq!(stats.read, mapping.events.len() as u64);
        }
        while mapping.go_on(&ring) {}
        let numbers = mapping.numbers();
        prop_assert!(numbers.is_sorted_by(|a, b| a < b));
        prop_assert_eq!(numbers.len() as u64 + mapping.lost, total);
        prop_assert_eq!(mapping.lost, ring.stats().overrun);
    }
}
