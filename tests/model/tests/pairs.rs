// SPDX-License-Identifier: GPL-2.0

//! A pair that begins on one CPU and ends on others, in all orders that the memory model allows.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ferroprobe_model::engine::pairs::{no_counts, Beginnings};
use ferroprobe_model::sys::{inject, Fault, OnCpu, PerCpu};
use loom::model::Builder;
use loom::thread;

/// Seconds that one model may take.
const LIMIT: u64 = 10;

/// Faults are of the whole process: one model at a time.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn here(cpu: u32) -> OnCpu {
    // SAFETY: Each thread takes the part of a CPU of its own.
    unsafe { OnCpu::new(cpu) }
}

/// Two ends beside a beginning, and a later one: at most one of them gets it, whole.
fn run(fault: Fault) {
    inject(fault);
    let mut builder = Builder::new();
    builder.max_duration = Some(Duration::from_secs(LIMIT));
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let counters = PerCpu::new(3, |_| Ok(no_counts())).unwrap();
        let pairs = Arc::new(Beginnings::new(1, 1, counters).unwrap());
        let ends = [1, 2].map(|cpu| {
            let pairs = pairs.clone();
            thread::spawn(move || {
                let mut left = [0];
                let time = pairs.end([3, 0], &mut left, &here(cpu));
                time.map(|time| (time, left))
            })
        });
        pairs.begin([3, 0], 5, &[7], &here(0));
        let mut found: Vec<_> = ends
            .into_iter()
            .filter_map(|end| end.join().unwrap())
            .collect();
        let mut left = [0];
        let later = pairs.end([3, 0], &mut left, &here(0));
        found.extend(later.map(|time| (time, left)));
        assert_eq!(found, [(5, [7])]);
    });
    inject(Fault::None);
}

#[test]
fn one_end_gets_a_beginning_whole() {
    let _alone = alone();
    run(Fault::None);
}

#[test]
fn without_its_order_a_beginning_is_torn() {
    let _alone = alone();
    for fault in [Fault::Release, Fault::Exchange] {
        let found = std::panic::catch_unwind(|| run(fault));
        inject(Fault::None);
        assert!(found.is_err(), "{fault:?} is not found");
    }
}

/// Returns another key with the tag of `key`. In a table for one beginning all keys are neighbours.
fn with_tag_of(key: u64) -> u64 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let tag = |key: u64| {
        let mixed = key.wrapping_mul(MULTIPLIER).rotate_left(29);
        (mixed.wrapping_mul(MULTIPLIER) >> 32) as u8 | 2
    };
    (key + 1..).find(|other| tag(*other) == tag(key)).unwrap()
}

#[test]
fn an_end_finds_its_beginning_while_another_key_with_its_tag_is_looked_for() {
    let _alone = alone();
    let other = with_tag_of(3);
    let mut builder = Builder::new();
    builder.max_duration = Some(Duration::from_secs(LIMIT));
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let counters = PerCpu::new(2, |_| Ok(no_counts())).unwrap();
        let pairs = Arc::new(Beginnings::new(1, 1, counters).unwrap());
        pairs.begin([3, 0], 5, &[7], &here(0));
        let looking = {
            let pairs = pairs.clone();
            thread::spawn(move || pairs.end([other, 0], &mut [0], &here(1)))
        };
        let mut left = [0];
        let time = pairs.end([3, 0], &mut left, &here(0));
        assert_eq!((time, left), (Some(5), [7]));
        assert_eq!(looking.join().unwrap(), None);
    });
}
