// SPDX-License-Identifier: GPL-2.0

//! A counter that jumps, stops or runs at another rate: what is told of it, and what a
//! ring makes of it.

use crate::ring_common;

use ferroprobe_engine::engine::ring::{FastClock, Note, Ring, RingClock, Short};
use ferroprobe_engine::engine::util::clock::{ClockReading, ClockVerdict, Judge, TOLERANCE};
use ferroprobe_engine::sys::Pages;
use proptest::prelude::*;
use ring_common::{ring, task};
use std::cell::Cell;

const SECOND: u64 = 1_000_000_000;
const HERTZ: u64 = 2_000_000_000;

fn at(kernel: u64, counter: u64) -> Option<ClockReading> {
    Some(ClockReading {
        before: kernel,
        counter,
        after: kernel + 50,
    })
}

#[test]
fn a_counter_that_is_near_the_kernels_clock_agrees() {
    for kernel in [0, 1, TOLERANCE, 5 * SECOND, u64::MAX - 100] {
        let near = |by: i64| {
            ClockReading {
                before: kernel,
                counter: kernel.wrapping_add_signed(by),
                after: kernel.wrapping_add(50),
            }
            .agrees()
        };
        let most = i64::try_from(TOLERANCE).unwrap();
        assert!(near(0) && near(-most) && near(50 + most));
        assert!(!near(-most - 1) && !near(51 + most));
        assert!(!near(i64::MIN) && !near(i64::MAX));
    }
}

#[test]
fn a_long_interruption_is_no_disagreement() {
    let reading = ClockReading {
        before: 5 * SECOND,
        counter: 7 * SECOND,
        after: 9 * SECOND,
    };
    assert!(reading.agrees());
    assert_eq!(reading.time(), 7 * SECOND);
    // But a kernel's clock that goes back proves nothing.
    let back = ClockReading {
        before: 9 * SECOND,
        counter: 9 * SECOND,
        after: 5 * SECOND,
    };
    assert!(!back.agrees());
    assert_eq!(back.time(), 5 * SECOND);
}

#[test]
fn a_counter_that_was_set_anew_is_aligned() {
    let mut judge = Judge::new(HERTZ);
    assert_eq!(judge.look(HERTZ, at(SECOND, SECOND)), ClockVerdict::Keep);
    let reset = at(2 * SECOND, 0u64.wrapping_sub(900 * SECOND));
    assert_eq!(judge.look(HERTZ, reset), ClockVerdict::Align(HERTZ));
    assert_eq!(
        judge.look(HERTZ, at(3 * SECOND, 3 * SECOND)),
        ClockVerdict::Keep
    );
    assert!(judge.uses_counter());
}

#[test]
fn another_frequency_that_the_kernel_knows_is_taken() {
    let mut judge = Judge::new(HERTZ);
    let fine = at(SECOND, SECOND);
    for n in 1..100 {
        assert_eq!(judge.look(HERTZ + n, fine), ClockVerdict::Align(HERTZ + n));
        assert_eq!(judge.look(HERTZ + n, fine), ClockVerdict::Keep);
    }
}

#[test]
fn a_counter_that_the_kernel_leaves_is_left_and_taken_again() {
    let mut judge = Judge::new(HERTZ);
    let fine = at(SECOND, SECOND);
    assert_eq!(judge.look(0, fine), ClockVerdict::Leave);
    assert!(!judge.uses_counter());
    assert_eq!(judge.look(0, fine), ClockVerdict::Keep);
    assert_eq!(judge.look(HERTZ, fine), ClockVerdict::Align(HERTZ));
    assert!(judge.uses_counter());
}

#[test]
fn a_counter_whose_frequency_is_wrong_is_left_until_the_machine_slept() {
    let mut judge = Judge::new(HERTZ);
    let wrong = at(SECOND, 2 * SECOND);
    let looks: Vec<_> = (0..5).map(|_| judge.look(HERTZ, wrong)).collect();
    let align = ClockVerdict::Align(HERTZ);
    let expected = [align, align, align, ClockVerdict::Leave, ClockVerdict::Keep];
    assert_eq!(looks, expected);
    assert_eq!(judge.look(HERTZ + 1, wrong), ClockVerdict::Keep);
    judge.forget();
    assert_eq!(judge.look(HERTZ, at(SECOND, SECOND)), align);
}

/// A counter's time that a test moves, and the kernel's.
#[derive(Default)]
struct Machine {
    counter: Cell<u64>,
    kernel: Cell<u64>,
}

impl Machine {
    fn pass(&self, nanoseconds: u64) {
        self.counter
            .set(self.counter.get().wrapping_add(nanoseconds));
        self.kernel.set(self.kernel.get() + nanoseconds);
    }

    fn jump(&self, by: i64) {
        self.counter.set(self.counter.get().wrapping_add_signed(by));
    }
}

impl RingClock for &Machine {
    fn now(&self) -> u64 {
        self.counter.get()
    }

    fn verified(&self, _now: u64) -> u64 {
        let kernel = self.kernel.get();
        ClockReading {
            before: kernel,
            counter: self.counter.get(),
            after: kernel,
        }
        .time()
    }
}

impl FastClock for &Machine {
    fn now(&self) -> Option<u64> {
        Some(self.counter.get())
    }
}

fn record(ring: &Ring<Pages>, machine: &Machine, note: &Note) -> u64 {
    // SAFETY: one thread.
    let writer = unsafe { ring.writer() };
    let short = Short::<3>::of(12).unwrap();
    if let Ok(event) = writer.reserve_fast(&short, note, machine) {
        let ts = event.ts();
        assert!(event.publish().is_none());
        return ts;
    }
    let event = writer.reserve(12, *note, machine).unwrap();
    let ts = event.ts();
    event.commit();
    ts
}

/// The most by which a time is wrong: what the fast path takes unseen.
const UNSEEN: u64 = (1 << 27) + 2 * TOLERANCE;

#[test]
fn a_counter_that_restarts_at_zero_does_not_freeze_the_ring() {
    let (ring, machine) = (ring(8, 4096, true), Machine::default());
    machine.pass(900 * SECOND);
    let before = record(&ring, &machine, &task());
    // What an offset from 900 s of counting makes of a count of almost 0.
    machine.jump(-1800 * SECOND as i64);
    assert!(machine.counter.get() > 1 << 63);
    for _ in 0..100 {
        machine.pass(1000);
        let ts = record(&ring, &machine, &task());
        assert!(ts > before && ts.abs_diff(machine.kernel.get()) <= UNSEEN);
    }
}

#[test]
fn a_time_beyond_all_times_is_that_of_the_event_before() {
    let ring = ring(8, 4096, true);
    let times: Vec<_> = [SECOND, u64::MAX, 1 << 62, 2 * SECOND]
        .into_iter()
        .map(|ts| ring_common::write(&ring, ts, &[1; 12]).unwrap())
        .collect();
    assert_eq!(times, [SECOND, SECOND, SECOND, 2 * SECOND]);
}

proptest! {
    #[test]
    fn times_neither_go_back_nor_leave_the_kernels(
        steps in prop::collection::vec(
            (0u64..3 * SECOND, prop_oneof![4 => Just(0i64), 1 => any::<i64>()]), 1..60),
    ) {
        let (ring, machine) = (ring(8, 4096, true), Machine::default());
        let mut last = 0;
        for (passes, jump) in steps {
            machine.pass(passes + 1);
            machine.jump(jump);
            let ts = record(&ring, &machine, &task());
            let kernel = machine.kernel.get();
            prop_assert!(ts > last);
            prop_assert!(ts.abs_diff(kernel) <= UNSEEN, "{} at {}", ts, kernel);
            last = ts;
        }
    }

    #[test]
    fn the_time_of_a_reading_is_near_the_kernels(
        before in any::<u64>(), counter in any::<u64>(), took in 0u64..SECOND,
    ) {
        let reading = ClockReading { before, counter, after: before.wrapping_add(took) };
        let since = reading.time().wrapping_sub(before.wrapping_sub(TOLERANCE));
        prop_assert!(since <= took + 2 * TOLERANCE);
    }
}
