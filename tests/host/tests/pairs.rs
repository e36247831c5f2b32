// SPDX-License-Identifier: GPL-2.0

//! The beginnings of pairs, beside a map, and on several threads.

use std::collections::HashMap;

use ferroprobe_engine::engine::pairs::{no_counts, Beginnings, PairCounts};
use ferroprobe_engine::sys::{OnCpu, PerCpu};

fn here(cpu: u32) -> OnCpu {
    // SAFETY: Each thread takes the part of a CPU of its own.
    unsafe { OnCpu::new(cpu) }
}

fn beginnings(room: usize, words: usize) -> Beginnings {
    let counters = PerCpu::new(4, |_| Ok(no_counts())).unwrap();
    Beginnings::new(room, words, counters).unwrap()
}

#[test]
fn an_end_finds_its_beginning() {
    let pairs = beginnings(16, 3);
    let here = here(0);
    pairs.begin([1, 2], 100, &[7, 8, 9], &here);
    let mut left = [0; 3];
    assert_eq!(pairs.end([2, 1], &mut left, &here), None);
    assert_eq!(pairs.end([1, 2], &mut left, &here), Some(100));
    assert_eq!(left, [7, 8, 9]);
    assert_eq!(pairs.end([1, 2], &mut left, &here), None);
    let expected = PairCounts {
        begun: 1,
        ended: 1,
        unmatched: 2,
        ..PairCounts::default()
    };
    assert_eq!(pairs.counts(), expected);
}

#[test]
fn a_key_that_begins_anew_supersedes() {
    let pairs = beginnings(16, 1);
    let here = here(0);
    pairs.begin([5, 0], 100, &[1], &here);
    pairs.begin([5, 0], 200, &[2], &here);
    assert_eq!(pairs.open(10).unwrap().count, 1);
    let mut left = [0];
    assert_eq!(pairs.end([5, 0], &mut left, &here), Some(200));
    assert_eq!((left, pairs.counts().superseded), ([2], 1));
}

#[test]
fn what_finds_no_room_is_lost_or_takes_that_of_the_oldest() {
    let pairs = beginnings(8, 0);
    let here = here(0);
    for key in 0..100 {
        pairs.begin([key, 0], key, &[], &here);
    }
    let counts = pairs.counts();
    assert!(counts.lost > 60, "{counts:?}");
    assert_eq!(counts.expired, 0);
    let late = 10_000_001_000;
    pairs.begin([1000, 0], late, &[], &here);
    assert_eq!(pairs.counts().expired, 1);
    assert_eq!(pairs.end([1000, 0], &mut [], &here), Some(late));
    pairs.clear();
    let counts = pairs.counts();
    let known = counts.ended + counts.lost + counts.expired;
    assert_eq!(counts.begun, known, "{counts:?}");
    assert_eq!(pairs.open(10).unwrap().count, 0);
}

#[test]
fn it_does_what_a_map_does() {
    let mut random = 1u64;
    let mut next = |limit: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % limit
    };
    let pairs = beginnings(4096, 1);
    let mut map = HashMap::new();
    let here = here(0);
    for time in 0..100_000 {
        let key = [next(40), next(20)];
        if next(2) == 0 {
            pairs.begin(key, time, &[time ^ 5], &here);
            map.insert(key, time);
        } else {
            let mut left = [0];
            let ended = pairs.end(key, &mut left, &here);
            assert_eq!(ended, map.remove(&key));
            assert!(ended.is_none_or(|time| left == [time ^ 5]));
        }
    }
    let open = pairs.open(usize::MAX).unwrap().oldest;
    assert_eq!(open.len(), map.len());
    // Fewer are the oldest, and all are counted.
    for most in [0, 1, 7, 100] {
        let few = pairs.open(most).unwrap();
        assert_eq!(few.count, open.len());
        assert!(few.oldest.iter().eq(open.iter().take(most)), "{most}");
    }
    for pair in open.windows(2) {
        assert!(pair[0].time <= pair[1].time);
    }
    assert!(open.iter().all(|one| map.get(&one.keys) == Some(&one.time)));
    let counts = pairs.counts();
    let known = counts.ended + counts.superseded + open.len() as u64;
    assert_eq!((counts.begun, counts.lost), (known, 0));
}

#[test]
fn several_threads_lose_nothing() {
    let pairs = beginnings(64, 1);
    std::thread::scope(|scope| {
        for cpu in 0..4u32 {
            let pairs = &pairs;
            scope.spawn(move || {
                let here = here(cpu);
                for n in 0..50_000u64 {
                    let key = [n.wrapping_mul(7 + u64::from(cpu)) % 100, 0];
                    if (n + u64::from(cpu)) % 2 == 0 {
                        pairs.begin(key, n + 1, &[key[0] + n + 1], &here);
                    } else {
                        let mut left = [0];
                        if let Some(time) = pairs.end(key, &mut left, &here) {
                            assert_eq!(left, [key[0] + time]);
                        }
                    }
                }
            });
        }
    });
    let (counts, open) = (pairs.counts(), pairs.open(0).unwrap().count as u64);
    let known = counts.ended + counts.superseded + counts.expired + counts.lost + open;
    assert_eq!(counts.begun, known, "{counts:?} {open}");
}
