// SPDX-License-Identifier: GPL-2.0

//! The ring buffer with one writer at a time: what goes in comes out, what is
//! lost is counted, and the pages have tracefs' layout.

use crate::ring_common;

use ferroprobe_engine::engine::ring::{Iter, Lost, Note, Ring, RingError, Stats};
use ferroprobe_engine::sys::{self, Pages};
use ring_common::{comm, parse_page, ring, task, write, write_as, Page};

fn all(ring: &Ring<Pages>) -> Vec<(u64, u64, Vec<u8>)> {
    let mut reader = ring.reader().unwrap();
    let mut events = Vec::new();
    while let Some(event) = reader.peek() {
        events.push((event.lost, event.ts, event.payload().to_vec()));
        assert!(reader.consume());
    }
    events
}

#[test]
fn what_goes_in_comes_out() {
    let ring = ring(4, 4096, true);
    write(&ring, 1_000, &[7; 16]).unwrap();
    write(&ring, 1_000, &[8; 20]).unwrap();
    write(&ring, 1_200, &[9; 200]).unwrap();
    assert_eq!(
        all(&ring),
        [
            (0, 1_000, vec![7; 16]),
            (0, 1_000, vec![8; 20]),
            (0, 1_200, vec![9; 200])
        ]
    );
    assert_eq!(all(&ring), []);
    let stats = ring.stats();
    assert_eq!((stats.entries, stats.read, stats.bytes), (0, 3, 0));
}

#[test]
fn short_payloads_end_in_zeros() {
    let ring = ring(4, 4096, true);
    for len in 0..=40 {
        write(&ring, 5, &vec![0xff; len]).unwrap();
    }
    for (len, (_, _, payload)) in all(&ring).into_iter().enumerate() {
        let mut expected = vec![0xff; len];
        expected.resize(len.div_ceil(4).max(3) * 4, 0);
        // Words between a tiny payload and the last word are not promised.
        if len > 8 {
            assert_eq!(payload, expected, "{len}");
        }
        assert_eq!(payload.len(), expected.len());
        assert_eq!(payload[..len], expected[..len]);
    }
}

#[test]
fn long_gaps_and_clocks_that_go_back() {
    let ring = ring(4, 4096, true);
    let times = [
        u64::MAX / 8,
        u64::MAX / 8 + (1 << 27) - 1,
        u64::MAX / 8 + (1 << 28),
        5,
        u64::MAX / 8 + (1 << 28) + 2,
        u64::MAX / 8 + (1 << 28) + (1 << 59),
        u64::MAX / 8 + (1 << 28) + (1 << 60) - 1,
    ];
    for ts in times {
        write(&ring, ts, &[1; 12]).unwrap();
    }
    let mut expected = times;
    expected[3] = times[2];
    let found: Vec<_> = all(&ring).iter().map(|event| event.1).collect();
    assert_eq!(found, expected);
}

#[test]
fn overrun_events_are_counted_where_they_are_missing() {
    let ring = ring(4, 4096, true);
    let total = 2_000u64;
    for n in 0..total {
        write(&ring, n, &n.to_le_bytes()).unwrap();
    }
    let stats = ring.stats();
    assert_eq!(stats.overrun + stats.entries, total);
    let events = all(&ring);
    assert_eq!(events[0].0, stats.overrun);
    assert_eq!(events[0].1, stats.overrun);
    assert_eq!(events.len() as u64, stats.entries);
    assert!(events[1..].iter().all(|event| event.0 == 0));
    assert_eq!(events.last().unwrap().1, total - 1);
}

#[test]
fn a_ring_that_keeps_the_oldest_drops_the_newest() {
    let ring = ring(4, 4096, false);
    let mut kept = 0;
    let mut lost = 0;
    for n in 0..2_000u64 {
        match write(&ring, n + 1, &n.to_le_bytes()) {
            Ok(_) => kept += 1,
            Err(Lost::Full) => lost += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(ring.stats().dropped, lost);
    assert_eq!(ring.stats().entries, kept);
    assert_eq!(kept + lost, 2_000);
    let events = all(&ring);
    assert_eq!(events.len() as u64, kept);
    assert!(events
        .iter()
        .enumerate()
        .all(|(n, event)| event.1 == n as u64 + 1));
    write(&ring, 3_000, &[0; 8]).unwrap();
    assert_eq!(all(&ring)[0].0, lost);
}

#[test]
fn too_large_is_counted_apart() {
    let ring = ring(3, 4096, true);
    assert_eq!(ring.max_payload(), 4096 - 16 - 32 - 8);
    write(&ring, 1, &vec![3; ring.max_payload()]).unwrap();
    for len in [ring.max_payload() + 1, usize::MAX] {
        // SAFETY: this thread is the only writer.
        let reserved = unsafe { ring.writer() }.reserve(len, task(), || 2);
        assert_eq!(reserved.err(), Some(Lost::TooLarge));
    }
    assert_eq!(ring.stats().too_large, 2);
    assert_eq!(all(&ring).len(), 1);
}

#[test]
fn disabled_records_nothing() {
    let ring = ring(3, 4096, true);
    ring.set_enabled(false);
    assert!(!ring.enabled());
    assert_eq!(write(&ring, 1, &[0; 16]), Err(Lost::Disabled));
    assert_eq!(write(&ring, 1, &[0; 9999]), Err(Lost::Disabled));
    ring.set_enabled(true);
    write(&ring, 1, &[0; 16]).unwrap();
    assert_eq!(all(&ring).len(), 1);
    assert_eq!(ring.stats().lost(), 0);
}

#[test]
fn a_closed_ring_tells_so_whether_it_was_enabled_or_not() {
    for enabled in [true, false] {
        let ring = ring(3, 4096, true);
        ring.set_enabled(enabled);
        ring.close();
        for again in [enabled, true, false] {
            assert_eq!(write(&ring, 1, &[0; 16]), Err(Lost::Closed));
            assert_eq!(write(&ring, 1, &[0; 9999]), Err(Lost::Closed));
            ring.set_enabled(again);
        }
        assert_eq!(ring.stats().lost(), 0);
    }
}

#[test]
fn many_events_of_one_time_do_not_put_the_ring_ahead_of_it() {
    let ring = ring(40, 4096, true);
    let mut expected = Vec::new();
    // Of several tasks, some with another name by then: a name takes the slow path, in the middle
    // of a sub-buffer too.
    for ts in [0, 1, 1, 7, 8] {
        for n in 0..100 {
            let task = Note::new(n % 9, comm(["one", "two"][n as usize / 50]));
            write_as(&ring, task, ts, &[n as u8; 12]).unwrap();
            expected.push(ts.max(1));
        }
    }
    let found: Vec<_> = all(&ring).iter().map(|event| event.1).collect();
    assert_eq!(found, expected);
}

#[test]
fn discarded_events_leave_no_trace() {
    for times in [[10, 20, 30], [10, 10, 10]] {
        for nested in [false, true] {
            let ring = ring(3, 4096, true);
            write(&ring, times[0], &[1; 12]).unwrap();
            // SAFETY: this thread is the only writer.
            let writer = unsafe { ring.writer() };
            let reserved = writer.reserve(20, task(), || times[1]).ok().unwrap();
            let last = || write(&ring, times[2], &[3; 12]).unwrap();
            let ts = if nested {
                let ts = last();
                reserved.discard();
                ts
            } else {
                reserved.discard();
                last()
            };
            // A nested writer, and one behind a discarded event, cannot know the
            // time before theirs.
            assert!(ts == times[2] || ts == times[1] + 1);
            assert_eq!(ring.stats().entries, 2);
            assert_eq!(
                all(&ring),
                [(0, times[0], vec![1; 12]), (0, ts, vec![3; 12])]
            );
            assert_eq!(ring.stats().recorded(), 2);
        }
    }
}

#[test]
fn discarded_events_are_not_counted_as_overrun() {
    let ring = ring(3, 4096, true);
    let mut recorded = 0;
    for n in 0..3_000u64 {
        // SAFETY: this thread is the only writer.
        let reserved = unsafe { ring.writer() }
            .reserve(20, task(), || n)
            .ok()
            .unwrap();
        write(&ring, n, &[3; 12]).unwrap();
        recorded += 1;
        if n % 3 == 0 {
            reserved.discard();
        } else {
            reserved.commit();
            recorded += 1;
        }
    }
    assert_eq!(ring.stats().recorded(), recorded);
    let events = all(&ring);
    assert_eq!(events[0].0 + events.len() as u64, recorded);
}

#[test]
fn a_snapshot_consumes_nothing() {
    let ring = ring(5, 4096, true);
    for n in 0..900u64 {
        write(&ring, n, &n.to_le_bytes()).unwrap();
    }
    let mut reader = ring.reader().unwrap();
    for _ in 0..10 {
        assert!(reader.consume());
    }
    for _ in 0..2 {
        let mut snapshot = Iter::new(&ring, &reader).unwrap();
        let first = reader.peek().unwrap().ts;
        let mut expected = first;
        while let Some(event) = snapshot.peek() {
            assert_eq!((event.ts, event.lost), (expected, 0));
            expected += 1;
            assert!(snapshot.advance());
        }
        assert_eq!(expected, 900);
        assert_eq!(snapshot.lost_at_end(), 0);
    }
    assert_eq!(ring.stats().read, 10);
}

#[test]
fn a_snapshot_that_is_lapped_counts() {
    let ring = ring(4, 4096, true);
    for n in 0..300u64 {
        write(&ring, n, &n.to_le_bytes()).unwrap();
    }
    let reader = ring.reader().unwrap();
    let mut snapshot = Iter::new(&ring, &reader).unwrap();
    for n in 300..5_000u64 {
        write(&ring, n, &n.to_le_bytes()).unwrap();
    }
    assert!(snapshot.peek().is_none());
    assert!(snapshot.lost_at_end() >= 300);
}

#[test]
fn reset_forgets() {
    let ring = ring(4, 4096, true);
    for n in 0..1_000u64 {
        write(&ring, n, &n.to_le_bytes()).unwrap();
    }
    ring.reader().unwrap().reset();
    assert_eq!(ring.stats(), Stats::default());
    assert!(!ring.readable());
    write(&ring, 2_000, &[1; 12]).unwrap();
    assert!(ring.readable());
    assert_eq!(ring.stats().entries, 1);
    assert_eq!(all(&ring), [(0, 2_000, vec![1; 12])]);
    assert_eq!(ring.stats().read, 1);
    assert!(!ring.readable());
}

#[test]
fn reset_forgets_what_was_dropped() {
    let ring = ring(4, 4096, false);
    while write(&ring, 1, &[1; 12]).is_ok() {}
    for _ in 0..10 {
        assert_eq!(write(&ring, 1, &[1; 12]), Err(Lost::Full));
    }
    let mut reader = ring.reader().unwrap();
    reader.reset();
    drop(reader);
    assert_eq!(ring.stats(), Stats::default());
    // Over the end of the sub-buffer, where losses are told.
    for _ in 0..300 {
        write(&ring, 2, &[1; 12]).unwrap();
    }
    let events = all(&ring);
    assert_eq!(events.len(), 300);
    assert!(events.iter().all(|event| event.0 == 0));
    // Later losses are told again.
    while write(&ring, 1, &[1; 12]).is_ok() {}
    let before = ring.stats().entries;
    assert_eq!(all(&ring).len() as u64, before);
    write(&ring, 2, &[1; 12]).unwrap();
    assert_eq!(all(&ring)[0].0, 1);
}

#[test]
fn there_is_one_reader() {
    let ring = ring(3, 4096, true);
    let first = ring.reader().unwrap();
    assert!(ring.reader().is_none());
    drop(first);
    assert!(ring.reader().is_some());
}

#[test]
fn bad_sizes_are_refused() {
    let make = |pages: usize, bytes, used| {
        let storage = Pages::new(pages, bytes).unwrap();
        Ring::new(0, storage, used, true).err()
    };
    assert_eq!(make(3, 64, 3), None);
    assert_eq!(make(3, 60, 3), Some(RingError::BadSize));
    assert_eq!(make(3, 128 * 4096, 3), None);
    assert_eq!(make(3, 128 * 4096 + 4, 3), Some(RingError::BadSize));
    assert_eq!(make(3, 4096, 2), Some(RingError::BadSize));
    assert_eq!(make(3, 4096, 0), Some(RingError::BadSize));
    assert_eq!(make(3, 4096, 4), Some(RingError::BadSize));
}

#[test]
fn every_failed_allocation_is_reported() {
    let mut failures = 0;
    loop {
        let storage = Pages::new(5, 4096).unwrap();
        sys::fail_allocation_after(Some(failures));
        let made = Ring::new(0, storage, 5, true);
        let made = made.and_then(|ring| {
            let snapshot = Iter::new(&ring, &ring.reader().unwrap()).map(drop);
            snapshot.map_err(RingError::from).map(|()| ring)
        });
        sys::fail_allocation_after(None);
        match made {
            Ok(ring) => {
                write(&ring, 1, &[1; 12]).unwrap();
                assert_eq!(all(&ring).len(), 1);
                break;
            }
            Err(error) => assert_eq!(error, RingError::NoMemory),
        }
        failures += 1;
    }
    assert!(failures >= 4, "{failures}");
}

#[test]
fn raw_pages_are_read_by_another_parser() {
    let ring = ring(5, 4096, true);
    let mut out = vec![0xee; 4096];
    let mut times = Vec::new();
    for n in 0..1_500u64 {
        let len = 8 + (n as usize * 7) % 160;
        // The clock goes far ahead and back.
        let ts = write(&ring, n << (n % 30), &vec![n as u8; len]).unwrap();
        assert!(ts >= n << (n % 30) && times.last() <= Some(&ts));
        times.push(ts);
    }
    let mut reader = ring.reader().unwrap();
    let mut events = Vec::new();
    let lost = ring.stats().overrun;
    while let Some(copied) = reader.read_page_with(&mut out, false, |_| {}) {
        let len = copied.bytes;
        let page: Page = parse_page(&out).unwrap();
        assert_eq!(page.end, len);
        assert_eq!(copied.lost, if page.missed { lost } else { 0 });
        assert!(out[len..].iter().all(|byte| *byte == 0));
        assert!(page.missed == events.is_empty());
        // The number is there when the page has room for it.
        let room = page.missed && len - 8 * usize::from(page.lost.is_some()) <= 4096 - 8;
        assert_eq!(page.lost, room.then_some(lost));
        events.extend(page.events);
        out.fill(0xee);
    }
    assert_eq!(lost + events.len() as u64, 1_500);
    assert_eq!(lost, ring.stats().overrun);
    for (n, event) in (lost..).zip(&events) {
        assert_eq!(event.ts, times[n as usize]);
        let len = 8 + (n as usize * 7) % 160;
        assert_eq!(event.payload[..len], vec![n as u8; len]);
    }
    assert_eq!(ring.stats().bytes, 0);
    assert_eq!(ring.stats().read, events.len() as u64);
}

#[test]
fn looking_at_the_oldest_takes_nothing_from_writers() {
    let entries = [false, true].map(|looks| {
        let ring = ring(4, 4096, true);
        assert_eq!(ring.reader().unwrap().oldest(), None);
        let mut entries = Vec::new();
        for n in 0..3_000u64 {
            write(&ring, n + 1, &n.to_le_bytes()).unwrap();
            entries.push(ring.stats().entries);
            if looks {
                let oldest = ring.reader().unwrap().oldest();
                assert_eq!(oldest, Some(n + 2 - ring.stats().entries));
            }
        }
        entries
    });
    assert_eq!(entries[0], entries[1]);
}

#[test]
fn the_oldest_of_what_the_reader_holds_is_behind_what_it_read() {
    let ring = ring(4, 4096, true);
    for n in 0..1_000u64 {
        write(&ring, n + 1, &n.to_le_bytes()).unwrap();
        if n % 3 == 0 {
            assert!(ring.reader().unwrap().consume());
        }
        let read = ring.stats().read + ring.stats().overrun;
        assert_eq!(
            ring.reader().unwrap().oldest(),
            Some(read + 1).filter(|&ts| ts <= n + 1)
        );
    }
}
