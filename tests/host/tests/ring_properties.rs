// SPDX-License-Identifier: GPL-2.0

//! The ring buffer against a list: any sizes, clocks, discards and reads.

use crate::ring_common;

use ferroprobe_engine::engine::ring::{Laps, Lost, Merge, Ring};
use ferroprobe_engine::sys::{set_hook, Pages};
use proptest::prelude::*;
use ring_common::{parse_page, ring, ring_of, task, write};
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[derive(Clone, Debug)]
enum Step {
    /// Record so many bytes, so much later (or earlier).
    Write(usize, i64),
    Discard(usize, i64),
    Read(usize),
    ReadPage(bool),
    Reset,
}

fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![8 => 0usize..200, 1 => 200usize..5_000];
    let gap = prop_oneof![
        8 => 0i64..1_000,
        1 => -50i64..0,
        1 => 0i64..(1 << 30),
        1 => (1i64 << 58)..(1 << 59),
    ];
    prop_oneof![
        20 => (len.clone(), gap.clone()).prop_map(|(len, gap)| Step::Write(len, gap)),
        2 => (len, gap).prop_map(|(len, gap)| Step::Discard(len, gap)),
        4 => (1usize..20).prop_map(Step::Read),
        2 => any::<bool>().prop_map(Step::ReadPage),
        1 => Just(Step::Reset),
    ]
}

/// Sequences that return after few sub-buffers, end soon, or do neither.
fn laps() -> impl Strategy<Value = Laps> {
    let first = prop_oneof![0u32..4, Just(u32::MAX)];
    let bits = prop_oneof![2u32..4, Just(u32::MAX)];
    (first, bits).prop_map(|(first, bits)| Laps { first, bits })
}

/// What a ring should hold: the number, time and length of each event.
#[derive(Default)]
struct Model {
    events: VecDeque<(u32, u64, usize)>,
}

fn payload(id: u32, len: usize) -> Vec<u8> {
    let mut bytes = id.to_le_bytes().to_vec();
    bytes.resize(len.max(4), id as u8);
    bytes
}

impl Model {
    /// An event was read: those before it must be what the ring lost.
    fn saw(&mut self, ts: u64, bytes: &[u8]) -> Result<u64, TestCaseError> {
        let id = u32::from_le_bytes(bytes[..4].try_into().unwrap());
        let mut lost = 0;
        while let Some((next, at, len)) = self.events.pop_front() {
            if next == id {
                prop_assert_eq!(at, ts);
                let len = len.max(4);
                prop_assert_eq!(&bytes[..len], &payload(id, len)[..]);
                prop_assert_eq!(bytes.len(), len.div_ceil(4).max(3) * 4);
                return Ok(lost);
            }
            lost += 1;
        }
        Err(TestCaseError::fail(format!("event {id} out of nowhere")))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_ring_is_a_list(
        pages in 3u32..8,
        size in prop_oneof![Just(128usize), Just(500), Just(4096), Just(8192)],
        overwrite: bool,
        laps in laps(),
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let ring = ring_of(pages, size, overwrite, laps);
        let mut model = Model::default();
        let mut clock = 1u64 << 60;
        let (mut recorded, mut lost, mut unknown) = (0u64, 0u64, 0u64);
        let mut told = 0u64;
        for (id, step) in (0u32..).zip(steps) {
            match step {
                Step::Write(len, gap) => {
                    clock = clock.saturating_add_signed(gap);
                    match write(&ring, clock, &payload(id, len)) {
                        Ok(ts) => {
                            model.events.push_back((id, ts, len));
                            recorded += 1;
                        }
                        Err(Lost::TooLarge) => prop_assert!(len + 200 > size / 2),
                        Err(Lost::Full) => {
                            prop_assert!(!overwrite);
                            lost += 1;
                        }
                        Err(other) => return Err(TestCaseError::fail(format!("{other:?}"))),
                    }
                }
                Step::Discard(len, gap) => {
                    clock = clock.saturating_add_signed(gap);
                    // SAFETY: this thread is the only writer.
                    match unsafe { ring.writer() }.reserve(len, task(), || clock) {
                        Ok(event) => event.discard(),
                        Err(Lost::Full) => lost += 1,
                        Err(_) => {}
                    }
                }
                Step::Read(count) => {
                    let mut reader = ring.reader().unwrap();
                    for _ in 0..count {
                        let Some(event) = reader.peek() else { break };
                        let gone = model.saw(event.ts, event.payload())?;
                        prop_assert!(event.lost >= gone);
                        told += event.lost;
                        prop_assert!(reader.consume());
                    }
                }
                Step::ReadPage(whole) => {
                    let mut out = vec![0xee; size];
                    let len = ring.reader().unwrap().read_page(&mut out, whole);
                    if let Some(len) = len {
                        let page = parse_page(&out).unwrap();
                        prop_assert_eq!(page.end, len);
                        match page.lost {
                            Some(lost) => told += lost,
                            None => unknown += u64::from(page.missed),
                        }
                        for event in page.events {
                            model.saw(event.ts, &event.payload)?;
                        }
                    }
                }
                Step::Reset => {
                    ring.reader().unwrap().reset();
                    model.events.clear();
                    (recorded, told, unknown) = (0, 0, 0);
                    lost = 0;
                }
            }
            let stats = ring.stats();
            prop_assert_eq!(stats.recorded(), recorded);
            prop_assert_eq!(stats.dropped, lost);
            prop_assert!(stats.entries <= model.events.len() as u64);
            prop_assert!(overwrite || stats.entries == model.events.len() as u64);
            prop_assert!(overwrite || stats.overrun == 0);
        }
        // What was lost last is told with the next sub-buffer: go on to it.
        for more in 0..=size / 16 {
            if more > 0 {
                let ts = write(&ring, clock, &payload(u32::MAX, 4)).unwrap();
                model.events.push_back((u32::MAX, ts, 4));
            }
            let mut reader = ring.reader().unwrap();
            while let Some(event) = reader.peek() {
                model.saw(event.ts, event.payload())?;
                told += event.lost;
                prop_assert!(reader.consume());
            }
        }
        let stats = ring.stats();
        prop_assert_eq!((stats.entries, stats.bytes), (0, 0));
        if unknown == 0 {
            prop_assert_eq!(told, stats.overrun + lost);
        }
    }

    #[test]
    fn a_merge_is_a_stable_sort(
        times in prop::collection::vec((0usize..4, 0u64..20), 0..300),
    ) {
        let rings: Vec<Ring<Pages>> = (0..4).map(|_| ring(9, 4096, true)).collect();
        let mut now = 1u64;
        let mut expected = Vec::new();
        for (id, (cpu, gap)) in (0u32..).zip(times) {
            now += gap;
            let ts = write(&rings[cpu], now, &payload(id, 12)).unwrap();
            expected.push((ts, cpu, id));
        }
        expected.sort_by_key(|(ts, cpu, _)| (*ts, *cpu));
        let mut merge = Merge::new();
        for ring in &rings {
            merge.push(ring.reader().unwrap()).unwrap();
        }
        for (ts, cpu, id) in expected {
            let (from, event) = merge.peek().unwrap();
            prop_assert_eq!((event.ts, from), (ts, cpu));
            prop_assert_eq!(&event.payload()[..4], &id.to_le_bytes()[..]);
            prop_assert!(merge.advance());
        }
        prop_assert!(merge.peek().is_none());
        prop_assert!(!merge.advance());
    }
}

/// What comes to an empty ring while an event is looked at follows that event, and is
/// not taken for it.
#[test]
fn a_merge_goes_past_the_event_that_it_showed() {
    let rings: Vec<Ring<Pages>> = (0..2).map(|_| ring(9, 4096, true)).collect();
    let mut merge = Merge::new();
    for ring in &rings {
        merge.push(ring.reader().unwrap()).unwrap();
    }
    write(&rings[1], 10, &payload(1, 12)).unwrap();
    assert_eq!(
        merge.peek().map(|(from, event)| (from, event.ts)),
        Some((1, 10))
    );
    write(&rings[0], 5, &payload(2, 12)).unwrap();
    write(&rings[1], 20, &payload(3, 12)).unwrap();
    assert!(merge.advance());
    for expected in [(0, 5), (1, 20)] {
        assert_eq!(
            merge.peek().map(|(from, event)| (from, event.ts)),
            Some(expected)
        );
        assert!(merge.advance());
    }
    assert!(merge.peek().is_none());
}

proptest! {
    /// Reading as events come: what was there at a look comes in order, and all
    /// comes once.
    #[test]
    fn a_merge_of_rings_that_are_written_to_loses_nothing(
        steps in prop::collection::vec((0usize..3, 1u64..20, 0usize..6), 0..300),
    ) {
        let rings: Vec<Ring<Pages>> = (0..3).map(|_| ring(9, 4096, true)).collect();
        let mut merge = Merge::new();
        for ring in &rings {
            merge.push(ring.reader().unwrap()).unwrap();
        }
        let (mut now, mut latest) = (1u64, 0u64);
        let mut unread = VecDeque::new();
        for (id, (cpu, gap, reads)) in (0u32..).zip(steps) {
            now += gap;
            unread.push_back((write(&rings[cpu], now, &payload(id, 12)).unwrap(), cpu, id));
            for _ in 0..reads {
                // Times only grow here, so all that is unread is in order.
                let Some((ts, cpu, id)) = unread.pop_front() else { break };
                let (from, event) = merge.peek().unwrap();
                prop_assert!(event.ts >= latest);
                latest = event.ts;
                prop_assert_eq!((event.ts, from), (ts, cpu));
                prop_assert_eq!(&event.payload()[..4], &id.to_le_bytes()[..]);
                prop_assert!(merge.advance());
            }
        }
        while let Some((ts, cpu, _)) = unread.pop_front() {
            let (from, event) = merge.peek().unwrap();
            prop_assert_eq!((event.ts, from), (ts, cpu));
            prop_assert!(merge.advance());
        }
        prop_assert!(merge.peek().is_none());
    }
}

/// A thread that writes and interrupts itself at random, and one that reads.
#[test]
fn a_writer_with_interrupts_against_a_reader() {
    for overwrite in [true, false] {
        let ring = ring(6, 4096, overwrite);
        let done = AtomicBool::new(false);
        let attempts = AtomicU64::new(0);
        let (mut seen, mut told, mut latest) = (0u64, 0u64, 0u64);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                interrupted_writer(&ring, &attempts);
                done.store(true, Ordering::Release);
            });
            loop {
                let last = done.load(Ordering::Acquire);
                let mut reader = ring.reader().unwrap();
                while let Some(event) = reader.peek() {
                    let word = |n: usize| event.words().nth(n).unwrap();
                    assert!(event.ts >= latest, "order");
                    assert_eq!(word(1), !word(0), "torn");
                    assert_eq!(event.words().len(), 3 + word(0) as usize % 5, "length");
                    latest = event.ts;
                    seen += 1;
                    told += event.lost;
                    assert!(reader.consume());
                }
                if last {
                    break;
                }
                std::thread::yield_now();
            }
        });
        let stats = ring.stats();
        assert_eq!(stats.read, seen);
        assert_eq!(stats.entries, 0);
        assert_eq!(
            stats.recorded() + stats.lost(),
            attempts.load(Ordering::Relaxed)
        );
        assert!(told >= stats.overrun && told <= stats.overrun + stats.lost());
        assert!(seen > 0);
    }
}

fn interrupted_writer(ring: &Ring<Pages>, attempts: &AtomicU64) {
    // The hook must be 'static; it is gone before this returns.
    // SAFETY: `set_hook(None)` below ends the use of both references.
    let (ring, attempts): (&'static Ring<Pages>, &'static AtomicU64) =
        unsafe { (&*std::ptr::from_ref(ring), &*std::ptr::from_ref(attempts)) };
    let clock = Rc::new(Cell::new(0u64));
    let record = Rc::new(move || {
        let id = attempts.fetch_add(1, Ordering::Relaxed) as u32;
        let len = 12 + (id as usize % 5) * 4;
        // SAFETY: only this thread writes, and its hooks.
        let reserved = unsafe { ring.writer() }.reserve(len, task(), || {
            clock.set(clock.get() + 1);
            clock.get()
        });
        if let Ok(event) = reserved {
            for (word, value) in event.words().iter().zip([id, !id]) {
                word.store_relaxed(value);
            }
            event.commit();
        }
    });
    let depth = Cell::new(0);
    let random = Cell::new(0x2545_f491u32);
    let interrupt = Rc::clone(&record);
    set_hook(Some(Box::new(move || {
        let mut next = random.get();
        next ^= next << 13;
        next ^= next >> 17;
        next ^= next << 5;
        random.set(next);
        if depth.get() < 3 && next % 64 == 0 {
            depth.set(depth.get() + 1);
            interrupt();
            depth.set(depth.get() - 1);
        }
    })));
    for _ in 0..60_000 {
        record();
    }
    set_hook(None);
}
