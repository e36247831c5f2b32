// SPDX-License-Identifier: GPL-2.0

//! A ring that is mapped: what is handed out is read by a parser of its own from
//! the ring's memory itself, as a task that has mapped it would.

mod ring_common;

use ferroprobe_engine::engine::ring::{Handed, Ring};
use ferroprobe_engine::sys::Pages;
use proptest::prelude::*;
use ring_common::{parse_page, ring, write, Event, Page};

/// One who has mapped a ring: the page and the place where it is.
#[derive(Default)]
struct Mapping {
    page: u32,
    seen: usize,
    lost: u64,
    events: Vec<Event>,
}

fn page_of(ring: &Ring<Pages>, id: u32) -> Page {
    let words = ring.storage().page(id).unwrap();
    let bytes: Vec<u8> = words
        .iter()
        .flat_map(|word| word.load_relaxed().to_le_bytes())
        .collect();
    parse_page(&bytes).unwrap()
}

impl Mapping {
    fn new(ring: &Ring<Pages>) -> Self {
        let handed = ring.handed();
        let page = page_of(ring, handed.page);
        Self {
            page: handed.page,
            seen: page.events.len(),
            ..Self::default()
        }
    }

    /// Asks for more; says whether there was.
    fn go_on(&mut self, ring: &Ring<Pages>) -> bool {
        ring.reader().unwrap().hand_out(|_| {});
        self.look(ring)
    }

    fn look(&mut self, ring: &Ring<Pages>) -> bool {
        let Handed { page, bytes, lost } = ring.handed();
        let content = page_of(ring, page);
        let stored = if content.lost.is_some() { 8 } else { 0 };
        assert_eq!(content.end, bytes as usize + 16 + stored);
        assert_eq!(content.missed, lost != 0);
        assert!(content.lost.is_none_or(|number| number == lost));
        if page != self.page {
            self.page = page;
            self.seen = 0;
            self.lost += lost;
        }
        let fresh = &content.events[self.seen..];
        self.events.extend_from_slice(fresh);
        self.seen = content.events.len();
        !fresh.is_empty()
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
fn nothing_is_there_before_it_is_asked_for() {
    let ring = ring(4, 4096, true);
    let mut mapping = Mapping::new(&ring);
    assert!(!mapping.go_on(&ring));
    number(&ring, 0);
    assert!(!mapping.look(&ring));
    assert!(mapping.go_on(&ring));
    assert_eq!(mapping.numbers(), [0]);
    assert_eq!(ring.stats().read, 1);
    assert_eq!(ring.stats().entries, 0);
    // On the page on which the writers still are.
    number(&ring, 1);
    assert!(!mapping.look(&ring));
    assert!(mapping.go_on(&ring));
    assert!(!mapping.go_on(&ring));
    assert_eq!(mapping.numbers(), [0, 1]);
}

#[test]
fn who_maps_later_goes_on_where_others_have_read() {
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
    let mut mapping = Mapping::new(&ring);
    assert_eq!(mapping.seen, 20);
    while mapping.go_on(&ring) {}
    assert_eq!(mapping.numbers(), (20..50).collect::<Vec<_>>());
}

#[test]
fn losses_are_told_with_the_sub_buffer_that_they_precede() {
    let ring = ring(4, 4096, true);
    let mut mapping = Mapping::new(&ring);
    for n in 0..2_000 {
        number(&ring, n);
    }
    assert!(mapping.go_on(&ring));
    let overrun = ring.stats().overrun;
    assert!(overrun > 0);
    assert_eq!(mapping.lost, overrun);
    assert_eq!(mapping.numbers()[0], overrun);
    let page = page_of(&ring, mapping.page);
    assert!(page.missed);
    while mapping.go_on(&ring) {
        assert!(!page_of(&ring, mapping.page).missed);
    }
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
        let mut mapping = Mapping::new(&ring);
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
                mapping.look(&ring);
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
