// SPDX-License-Identifier: GPL-2.0

//! The rings of all CPUs.

use crate::ring_common;

use ferroprobe_engine::engine::ring::{Lost, Ring, Rings, Shared};
use ferroprobe_engine::sys::{OnCpu, Pages, PerCpu};
use ring_common::task;
use std::cell::Cell;

fn ring(cpu: u32) -> Shared<Pages, u64> {
    let ring = Ring::new(cpu, Pages::new(3, 256).unwrap(), 3, true);
    Shared::new(ring.unwrap(), u64::from(cpu) + 100).unwrap()
}

#[test]
fn each_cpu_writes_to_its_own_by_its_own_clock() {
    let rings = Rings::new(PerCpu::new(3, |cpu| Ok(ring(cpu))).unwrap()).unwrap();
    for cpu in [2, 0, 2] {
        // SAFETY: one thread takes the parts of all.
        let here = unsafe { OnCpu::new(cpu) };
        let (ring, clock) = rings.local(&here);
        let length = ring.record(
            12,
            task(),
            || *clock,
            || None,
            |out| {
                out.fill(0);
                out.len()
            },
        );
        assert_eq!(length, Ok(12));
        let rings = rings.of(cpu).unwrap();
        let time = rings.reader().unwrap().oldest().unwrap();
        assert!((100 + u64::from(cpu)..102 + u64::from(cpu)).contains(&time));
    }
    let entries: Vec<_> = rings.iter().map(|ring| ring.stats().entries).collect();
    assert_eq!(entries, [1, 0, 2]);
    assert!(rings.of(3).is_none());
}

/// Records `payload` in `ring` by `clock`; if it is closed, in its successor.
fn record(
    rings: &Rings<Pages, u64>,
    successor: &Rings<Pages, u64>,
    clock: &dyn Fn() -> u64,
) -> Result<(), Lost> {
    // SAFETY: one thread takes the part of the CPU.
    let here = unsafe { OnCpu::new(0) };
    let next = || Some((successor.local(&here).0, clock));
    let (ring, _) = rings.local(&here);
    ring.record(12, task(), clock, next, |out| out.fill(7))
}

/// The times of the events in `rings`.
fn times(rings: &Rings<Pages, u64>) -> Vec<u64> {
    let mut reader = rings.of(0).unwrap().reader().unwrap();
    let mut times = Vec::new();
    while let Some(event) = reader.peek() {
        times.push(event.ts);
        reader.consume();
    }
    times
}

#[test]
fn a_writer_whose_ring_is_replaced_while_it_is_interrupted_records_in_the_next_one() {
    // The first event of a sub-buffer takes the slow path, the third one the fast path.
    for earlier in 0..3 {
        let made = || Rings::new(PerCpu::new(1, |cpu| Ok(ring(cpu))).unwrap()).unwrap();
        let (old, new) = (made(), made());
        for time in 0..earlier {
            record(&old, &new, &|| 101 + time).unwrap();
        }
        // Interrupted before it reads the clock: the rings are replaced, and the interrupt
        // records in the new ones.
        let interrupted = Cell::new(false);
        let clock = || {
            if !interrupted.replace(true) {
                old.of(0).unwrap().close();
                record(&new, &old, &|| 200).unwrap();
            }
            201
        };
        record(&old, &new, &clock).unwrap();
        assert_eq!(times(&old), (101..101 + earlier).collect::<Vec<_>>());
        assert_eq!(times(&new), [200, 201]);
        // A closed ring stays closed.
        old.of(0).unwrap().set_enabled(true);
        record(&old, &new, &|| 202).unwrap();
        assert_eq!(times(&old), Vec::<u64>::new());
        assert!(!old.of(0).unwrap().enabled());
    }
}

#[test]
fn a_ring_that_is_off_is_no_reason_to_record_in_the_next_one() {
    let made = || Rings::new(PerCpu::new(1, |cpu| Ok(ring(cpu))).unwrap()).unwrap();
    let (old, new) = (made(), made());
    old.of(0).unwrap().set_enabled(false);
    assert_eq!(record(&old, &new, &|| 1), Err(Lost::Disabled));
    // The next one is switched as the old one was.
    new.of(0).unwrap().set_enabled(false);
    old.of(0).unwrap().close();
    assert_eq!(record(&old, &new, &|| 2), Err(Lost::Disabled));
    new.of(0).unwrap().set_enabled(true);
    record(&old, &new, &|| 3).unwrap();
    assert_eq!(times(&new), [3]);
}

#[test]
fn the_ring_of_another_cpu_is_refused() {
    assert!(Rings::new(PerCpu::new(2, |cpu| Ok(ring(1 - cpu))).unwrap()).is_none());
    assert!(Rings::new(PerCpu::new(2, |_| Ok(ring(0))).unwrap()).is_none());
}
