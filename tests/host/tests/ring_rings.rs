// SPDX-License-Identifier: GPL-2.0

//! The rings of all CPUs.

mod ring_common;

use ferroprobe_engine::engine::ring::{Ring, Rings, Shared};
use ferroprobe_engine::sys::{OnCpu, Pages, PerCpu};
use ring_common::task;

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

#[test]
fn the_ring_of_another_cpu_is_refused() {
    assert!(Rings::new(PerCpu::new(2, |cpu| Ok(ring(1 - cpu))).unwrap()).is_none());
    assert!(Rings::new(PerCpu::new(2, |_| Ok(ring(0))).unwrap()).is_none());
}
