// SPDX-License-Identifier: GPL-2.0

//! Histograms that have to do with each other, against a simple model: random hits of two
//! events.

use crate::support;

use std::collections::HashMap;

use proptest::prelude::*;
use support::linked::{Fields, Instance};

const FIRST: &str = "model:first";
const SECOND: &str = "model:second";

/// What a hit of either event has: a key of two numbers, a value and the time.
#[derive(Clone, Debug)]
struct Hit {
    is_first: bool,
    key: (u64, u64),
    value: u64,
    now: u64,
}

fn hits() -> impl Strategy<Value = Vec<Hit>> {
    let hit = (any::<bool>(), 0..4u64, 0..3u64, 0..50u64, 0..1u64 << 40);
    let hit = hit.prop_map(|(is_first, a, b, value, now)| Hit {
        is_first,
        key: (a, b),
        value,
        now,
    });
    prop::collection::vec(hit, 0..200)
}

/// What the model knows of a key.
#[derive(Clone, Default)]
struct Entry {
    /// The time, which an expression takes.
    start: Option<u64>,
    /// The value, which is copied.
    value: Option<u64>,
    field: Option<u64>,
}

#[derive(Default)]
struct Second {
    max: u64,
    change: u64,
}

/// Serves the hits as the triggers below say; returns what is emitted, and how often a snapshot
/// is taken.
fn model(hits: &[Hit], two_keys: bool) -> (Vec<(String, Vec<u64>)>, usize) {
    let mut first: HashMap<(u64, u64), Entry> = HashMap::new();
    let mut second: HashMap<(u64, u64), Second> = HashMap::new();
    let (mut emitted, mut snapshots, mut last) = (vec![], 0, 0);
    for hit in hits {
        let key = if two_keys { hit.key } else { (hit.key.0, 0) };
        let entry = first.entry(key).or_default();
        if hit.is_first {
            *entry = Entry {
                start: Some(hit.now / 1000),
                value: Some(hit.value),
                field: Some(hit.value),
            };
            continue;
        }
        let (Some(value), Some(start)) = (entry.value, entry.start.take()) else {
            continue;
        };
        let lat = (hit.now / 1000).wrapping_sub(start);
        let mixed = hit.value.wrapping_mul(3).wrapping_sub(hit.value / 7);
        let own = second.entry(key).or_default();
        let args = vec![lat, hit.value, value, entry.field.unwrap()];
        emitted.push(("match".to_owned(), args));
        if hit.value > own.max {
            own.max = hit.value;
            emitted.push(("max".to_owned(), vec![own.max, mixed]));
        }
        if lat != own.change {
            own.change = lat;
            if lat != last {
                last = lat;
                snapshots += 1;
            }
        }
    }
    (emitted, snapshots)
}

fn instance(two_keys: bool) -> Instance {
    let mut it = Instance::default();
    it.add_event(FIRST, "a=%bx:u64 b=%bx:u64 value=%bx:u64");
    it.add_event(SECOND, "c=%bx:u64 d=%bx:u64 own=%bx:u64");
    it.add_synthetic("match", "u64 u64 u64 u64");
    it.add_synthetic("max", "u64 u64");
    let (first, second) = match two_keys {
        true => ("a,b", "c,d"),
        false => ("a", "c"),
    };
    let text = format!("hist:keys={first}:start=common_timestamp.usecs,v=value");
    it.write(FIRST, &text).unwrap();
    let text = format!(
        "hist:keys={second}:vals=own*3-own/7:lat=common_timestamp.usecs-$start,copy=$v,o=own,\
         mixed=own*3-own/7:onmatch(model.first).trace(match,$lat,own,$copy,value):\
         onmax($o).max($o,$mixed):onchange($lat).snapshot()"
    );
    it.write(SECOND, &text).unwrap();
    it
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn hits_do_what_the_model_does(hits in hits(), two_keys: bool, is_fast: bool) {
        let it = instance(two_keys);
        it.is_fast.set(is_fast);
        for hit in &hits {
            let fields = Fields {
                numbers: vec![hit.key.0, hit.key.1, hit.value],
                text: "",
                pid: 1,
                now: hit.now,
            };
            it.hit(if hit.is_first { FIRST } else { SECOND }, &fields);
        }
        let (emitted, snapshots) = model(&hits, two_keys);
        prop_assert_eq!(&*it.emitted.borrow(), &emitted);
        prop_assert_eq!(it.snapshots.get(), snapshots);
        let served = emitted.iter().filter(|(event, _)| event == "match").count();
        let histogram = &it.histograms(SECOND)[0];
        prop_assert_eq!(histogram.hits(), served as u64);
    }
}

/// A histogram that copies and computes without actions, behind one that has only variables:
/// both are served fast.
#[test]
fn the_fast_way_does_the_same() {
    let mut shown = vec![];
    for is_fast in [false, true] {
        let mut it = Instance::default();
        it.add_event(FIRST, "a=%bx:u64 b=%bx:u64 value=%bx:u64");
        it.add_event(SECOND, "c=%bx:u64 d=%bx:u64 own=%bx:u64");
        it.is_fast.set(is_fast);
        it.write(FIRST, "hist:keys=a:start=common_timestamp.usecs,v=value")
            .unwrap();
        let second = "hist:keys=c:lat=common_timestamp.usecs-$start,w=$v";
        it.write(SECOND, second).unwrap();
        it.write(SECOND, "hist:keys=d:vals=own:max=own:onmax($max).save(c)")
            .unwrap();
        let third = "hist:keys=c:sum=model.second.$w+own:onmax($sum).save(own,d)";
        it.write(SECOND, third).unwrap();
        let mut seed = 1u64;
        for _ in 0..2_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let draw = |shift: u32, below: u64| (seed >> shift) % below;
            let fields = Fields {
                numbers: vec![draw(33, 5), draw(40, 4), draw(45, 100)],
                text: "",
                pid: 1,
                now: draw(20, 1 << 30),
            };
            let event = if draw(60, 2) == 0 { FIRST } else { SECOND };
            it.hit(event, &fields);
        }
        let of = |event| {
            let all = it.histograms(event);
            let counted = all.iter().map(|histogram| {
                let mut entries = vec![];
                let read = histogram.read().unwrap();
                read.for_each(|keys, hits, values| {
                    entries.push((keys.to_vec(), hits, values.to_vec()));
                });
                entries
            });
            counted.collect::<Vec<_>>()
        };
        shown.push((of(FIRST), of(SECOND)));
    }
    let fast = shown.pop();
    assert_eq!(shown.pop(), fast);
    let (_, second) = fast.unwrap();
    assert!(second[0].len() == 5 && second[2].len() == 5, "{second:?}");
}

/// A variable that an expression takes is not set any more, also if the hit then does nothing
/// because another one is not set.
#[test]
fn a_variable_is_taken_though_another_one_is_not_set() {
    const THIRD: &str = "model:third";
    let emitted = [false, true].map(|is_fast| {
        let mut it = Instance::default();
        for event in [FIRST, SECOND, THIRD] {
            it.add_event(event, "key=%bx:u64");
        }
        it.add_synthetic("match", "u64 u64");
        it.is_fast.set(is_fast);
        it.write(FIRST, "hist:keys=key:one=common_timestamp.usecs")
            .unwrap();
        it.write(SECOND, "hist:keys=key:two=common_timestamp.usecs")
            .unwrap();
        let text = "hist:keys=key:a=common_timestamp.usecs-$one,b=common_timestamp.usecs-$two:\
                    onmatch(model.second).trace(match,$a,$b)";
        it.write(THIRD, text).unwrap();
        let order = [
            FIRST, THIRD, SECOND, THIRD, FIRST, THIRD, FIRST, SECOND, THIRD,
        ];
        for (n, event) in (1..).zip(order) {
            let fields = Fields {
                numbers: vec![7],
                text: "",
                pid: 1,
                now: n * 1000,
            };
            it.hit(event, &fields);
        }
        it.emitted.take()
    });
    let [slow, fast] = emitted;
    assert_eq!(slow, fast);
}
