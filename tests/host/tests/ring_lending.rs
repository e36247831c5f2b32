// SPDX-License-Identifier: GPL-2.0

//! Sub-buffers that are lent: what is on them stays while others have them, and nothing is
//! lost or doubled, whoever gives them back and when.

use crate::ring_common;

use std::collections::HashSet;

use ferroprobe_engine::engine::ring::{Lent, Ring};
use ferroprobe_engine::sys::Pages;
use proptest::prelude::*;
use ring_common::{parse_page, write};

/// A ring with pages that can be lent, and those who have them.
struct Lender {
    ring: Ring<Pages>,
    /// Pages that others have, with what was on them.
    out: Vec<(u32, Vec<u8>)>,
    written: u64,
    /// The number of the next event to be read.
    next: u64,
    lent: usize,
}

impl Lender {
    fn new(pages: u32, spares: usize) -> Self {
        let storage = Pages::new(pages as usize + spares, 256).unwrap();
        let ring = Ring::new(0, storage, pages, true).unwrap();
        assert_eq!(ring.page_count(), pages as usize + spares);
        Self {
            ring,
            out: Vec::new(),
            written: 0,
            next: 0,
            lent: 0,
        }
    }

    fn content(&self, id: u32) -> Vec<u8> {
        let words = self.ring.view().words(id);
        words.flat_map(u32::to_le_bytes).collect()
    }

    fn write(&mut self, count: usize) {
        for _ in 0..count {
            let number = self.written.to_le_bytes();
            write(&self.ring, self.written + 1, &number).unwrap();
            self.written += 1;
        }
        self.check();
    }

    /// What others have is as they got it.
    fn check(&self) {
        for (page, was) in &self.out {
            assert_eq!(
                &self.content(*page),
                was,
                "page {page} changed while it was lent"
            );
        }
        let ids: HashSet<u32> = self.out.iter().map(|(page, _)| *page).collect();
        assert_eq!(ids.len(), self.out.len(), "a page was lent twice");
    }

    fn read(&mut self, bytes: &[u8]) {
        let page = parse_page(bytes).unwrap();
        assert!(!page.events.is_empty());
        assert!(bytes[page.end..].iter().all(|&byte| byte == 0));
        let first = u64::from_le_bytes(page.events[0].payload[..8].try_into().unwrap());
        assert_eq!(page.missed, first != self.next);
        // Clients report a loss before an event, not before a comm note.
        assert!(!page.missed || bytes[16] & 31 != 29);
        assert!(page.lost.is_none_or(|lost| lost == first - self.next));
        for (n, event) in page.events.iter().enumerate() {
            let number = u64::from_le_bytes(event.payload[..8].try_into().unwrap());
            assert_eq!(number, first + n as u64);
            assert_eq!(event.ts, number + 1);
        }
        self.next = first + page.events.len() as u64;
    }

    /// Lends what is next to others, who refuse it unless `taken`.
    fn lend(&mut self, taken: bool) -> Lent {
        let out: HashSet<u32> = self.out.iter().map(|(page, _)| *page).collect();
        let mut page = None;
        let mut named = 0;
        let lent = self.ring.reader().unwrap().lend(
            |page| !out.contains(&page),
            |_| named += 1,
            |lent| {
                assert!(!out.contains(&lent), "a page that others have");
                page = Some(lent);
                taken
            },
        );
        if lent == Lent::Lent {
            let page = page.unwrap();
            let bytes = self.content(page);
            self.read(&bytes);
            assert_eq!(named, 1);
            self.out.push((page, bytes));
            self.lent += 1;
        } else {
            assert!(page.is_none() || !taken);
            assert_eq!(named, 0);
        }
        self.check();
        lent
    }

    fn copy(&mut self, whole: bool) -> bool {
        let mut out = vec![0; 256];
        let some = self
            .ring
            .reader()
            .unwrap()
            .read_page(&mut out, whole)
            .is_some();
        if some {
            self.read(&out);
        }
        self.check();
        some
    }
}

#[test]
fn what_the_writers_have_left_is_lent() {
    let mut lender = Lender::new(8, 3);
    assert_eq!(lender.lend(true), Lent::Nothing);
    lender.write(3);
    assert_eq!(lender.lend(true), Lent::Nothing);
    lender.write(40);
    assert_eq!(lender.lend(true), Lent::Lent);
    assert_eq!(lender.lend(true), Lent::Lent);
    lender.write(100);
    // Events were lost before the first.
    assert_eq!(lender.lend(true), Lent::Copy);
    assert!(lender.copy(true));
    let before = lender.lent;
    while lender.lend(true) != Lent::Nothing {
        lender.out.clear();
    }
    assert!(lender.lent > before + 4);
    assert!(lender.copy(false));
    assert_eq!(lender.next, lender.written);
    assert_eq!(lender.ring.stats().entries, 0);
}

#[test]
fn where_none_is_free_it_has_to_be_copied() {
    let mut lender = Lender::new(8, 2);
    lender.write(60);
    assert_eq!(lender.lend(true), Lent::Lent);
    assert_eq!(lender.lend(true), Lent::Lent);
    assert_eq!(lender.lend(true), Lent::Copy);
    assert!(lender.copy(true));
    // One who keeps a page does not hinder the others.
    lender.out.remove(1);
    assert!((0..2).any(|_| lender.lend(true) == Lent::Lent));
    // What is refused is read otherwise.
    let mut lender = Lender::new(8, 2);
    lender.write(60);
    let stats = lender.ring.stats();
    assert_eq!(lender.lend(false), Lent::Copy);
    assert_eq!(lender.ring.stats(), stats);
    assert!(lender.copy(true));
    // Of a sub-buffer that was begun, the rest is copied.
    assert!(lender.ring.reader().unwrap().consume());
    lender.next += 1;
    assert_eq!(lender.lend(true), Lent::Copy);
    assert!(lender.copy(true));
    assert_eq!(lender.lend(true), Lent::Lent);
    // A ring without spares lends nothing.
    let mut lender = Lender::new(8, 0);
    lender.write(60);
    assert_eq!(lender.lend(true), Lent::Copy);
    assert!(lender.copy(true));
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize),
    Lend(bool),
    Copy(bool),
    GiveBack(usize),
    Reset,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whoever_gives_back_what_is_lent_finds_it_unchanged(
        (pages, spares) in (3..8u32, 0..5usize),
        steps in prop::collection::vec(prop_oneof![
            4 => (1..40usize).prop_map(Step::Write),
            6 => any::<bool>().prop_map(|refused| Step::Lend(!refused)),
            1 => any::<bool>().prop_map(Step::Copy),
            4 => (0..9usize).prop_map(Step::GiveBack),
            1 => Just(Step::Reset),
        ], 0..120),
    ) {
        let mut lender = Lender::new(pages, spares);
        for step in steps {
            match step {
                Step::Write(count) => lender.write(count),
                Step::Lend(taken) => {
                    lender.lend(taken);
                }
                Step::Copy(whole) => {
                    lender.copy(whole);
                }
                Step::GiveBack(n) => {
                    if n < lender.out.len() {
                        lender.out.remove(n);
                    }
                }
                Step::Reset => {
                    lender.ring.reader().unwrap().reset();
                    lender.next = lender.written;
                    lender.check();
                }
            }
        }
        while lender.lend(true) == Lent::Lent || lender.copy(false) {}
        prop_assert_eq!(lender.next, lender.written);
        prop_assert_eq!(lender.ring.stats().entries, 0);
    }
}
