// SPDX-License-Identifier: GPL-2.0

//! A field of a stream over time: how often which powers of two occurred when.

use super::axis::{round_up, without_strays, Axis, Scale, Slot, Unit};
use super::chart::{heat_over, Chart};
use super::table::Key;
use crate::error::Result;
use crate::refuse;
use crate::stream::{Event, Stream};
use crate::trace::units;
use serde_json::Value;
use std::collections::BTreeMap;

/// At most so many columns are in a picture.
const COLUMNS: u64 = 120;

/// The map of the numbers that `field` has in the events called `event`, `[GROUP/]NAME`, or in all
/// that have it.
pub fn chart(stream: &Stream, field: &str, event: Option<&str>) -> Result<Chart> {
    let is_wanted = |candidate: &&Event| match event.map(|event| event.split_once('/')) {
        None => true,
        Some(Some((group, name))) => candidate.group == group && candidate.name == name,
        Some(None) => Some(candidate.name.as_str()) == event,
    };
    let events = stream.events.iter().filter(is_wanted);
    let points = events.filter_map(|event| Some((event.time, key(event.arguments.get(field)?)?)));
    let points: Vec<(u64, Key)> = points.collect();
    let times: Vec<u64> = points.iter().map(|(time, _)| *time).collect();
    if times.is_empty() {
        let of = event.map_or("no event".into(), |event| format!("no event {event}"));
        refuse!("{of} has a number {field}");
    }
    let (axis, first) = columns(&times);
    let scaled = axis.slots.len() - axis.before - axis.behind;
    let Scale::Steps { step } = axis.scale else {
        refuse!("no times");
    };
    let column = |time: u64| match time.checked_sub(first) {
        None => 0,
        Some(since) => {
            usize::try_from(since / step).map_or(scaled, |at| at.min(scaled)) + axis.before
        }
    };
    let mut counts: BTreeMap<(usize, Key), u64> = BTreeMap::new();
    for (time, key) in points {
        *counts.entry((column(time), key)).or_default() += 1;
    }
    let triples = counts.into_iter();
    let triples = triples.map(|((column, key), count)| (column, key, count));
    heat_over(axis.clone(), field, "events", triples.collect())
}

/// The axis of events at `times`, without the few that are far away, and the time at which it begins.
/// Its columns are as wide as each other, a round number of nanoseconds.
fn columns(times: &[u64]) -> (Axis, u64) {
    let (first, last) = shown(times);
    // One that ends behind the last event.
    let step = round_up((last - first) / COLUMNS + 1);
    let count = (last - first) / step + 1;
    let earlier = times.iter().filter(|time| **time < first).count();
    let later = times.iter().filter(|time| **time > last).count();
    let stray = |count: usize, word: &str| {
        (count > 0).then(|| Slot {
            label: format!("{count} {word}"),
            tells: word.into(),
        })
    };
    let scaled = (0..count).map(|at| Slot {
        label: String::new(),
        tells: units::duration(at * step),
    });
    let slots = stray(earlier, "before").into_iter().chain(scaled);
    let axis = Axis {
        name: "time".into(),
        unit: Unit::Time,
        slots: slots.chain(stray(later, "later")).collect(),
        scale: Scale::Steps { step },
        before: usize::from(earlier > 0),
        behind: usize::from(later > 0),
    };
    (axis, first)
}

/// The first and the last of the times that are shown.
fn shown(times: &[u64]) -> (u64, u64) {
    let first = times.iter().copied().min().unwrap_or(0);
    let last = times.iter().copied().max().unwrap_or(0);
    let width = (last - first) / COLUMNS + 1;
    let mut counts: BTreeMap<i128, u64> = BTreeMap::new();
    for time in times {
        *counts.entry(((time - first) / width).into()).or_default() += 1;
    }
    let range = without_strays(&counts);
    let is_shown = |time: &&u64| range.contains(&i128::from((**time - first) / width));
    let inside = times.iter().filter(is_shown).copied();
    match (inside.clone().min(), inside.max()) {
        (Some(first), Some(last)) => (first, last),
        _ => (first, last),
    }
}

/// As `.log2` counts it: the least power of two that the number does not exceed.
fn key(value: &Value) -> Option<Key> {
    if let Some(number) = value.as_u64() {
        let power = match number {
            0 | 1 => 0,
            number => 64 - (number - 1).leading_zeros(),
        };
        return Some(Key::Power(power.into()));
    }
    value.as_i64().map(|_| Key::BelowZero)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        let line = |time: u64, name: &str, value: &str| {
            format!("{{\"ts\":{time},\"cpu\":0,\"pid\":1,\"comm\":\"c\",\"group\":\"g\",\"event\":\"{name}\",\"args\":{{\"size\":{value}}}}}\n")
        };
        let text = [
            line(1_000_000_000, "a", "512"),
            line(1_000_000_001, "a", "500"),
            line(3_000_000_000, "a", "5000"),
            line(4_000_000_000, "b", "-3"),
            line(4_000_000_000, "b", "\"text\""),
        ];
        Stream::read(text.concat().as_bytes()).expect("a stream")
    }

    #[test]
    fn time_goes_on_where_nothing_happens() {
        let Ok(Chart::Heat(heat)) = chart(&stream(), "size", None) else {
            panic!("no map");
        };
        let rows: Vec<_> = heat.upwards.slots.iter().map(|slot| &slot.tells).collect();
        let expected = [
            "< 0",
            "256 B to 512 B",
            "512 B to 1 KiB",
            "1 KiB to 2 KiB",
            "2 KiB to 4 KiB",
            "4 KiB to 8 KiB",
        ];
        assert_eq!(rows, expected.iter().collect::<Vec<_>>());
        // Three seconds, by 50 ms.
        assert_eq!(heat.across.slots.len(), 61);
        assert_eq!(heat.across.slots[60].tells, "3.000 s");
        let fields = heat.fields.iter();
        let fields = fields.map(|((column, row), count)| (*column, *row, *count));
        assert_eq!(
            fields.collect::<Vec<_>>(),
            [(0, 1, 2), (40, 5, 1), (60, 0, 1)]
        );
    }

    #[test]
    fn a_late_event_takes_no_room() {
        let mut times: Vec<u64> = (0..100).map(|n| 1_000_000_000 + n * 10_000_000).collect();
        times.push(90_000_000_000);
        let (axis, first) = columns(&times);
        assert_eq!(first, 1_000_000_000);
        assert_eq!(axis.scale, Scale::Steps { step: 10_000_000 });
        assert_eq!(axis.slots.len(), 101);
        assert_eq!(axis.slots[100].label, "1 later");
        let line = |time: &u64| {
            format!("{{\"ts\":{time},\"cpu\":0,\"pid\":1,\"comm\":\"c\",\"group\":\"g\",\"event\":\"e\",\"args\":{{\"n\":1}}}}\n")
        };
        let text: String = times.iter().map(line).collect::<Vec<_>>().concat();
        let stream = Stream::read(text.as_bytes()).expect("a stream");
        let Ok(Chart::Heat(heat)) = chart(&stream, "n", None) else {
            panic!("no map");
        };
        assert_eq!(heat.fields.get(&(100, 0)), Some(&1));
        assert_eq!(heat.fields.len(), 101);
    }

    #[test]
    fn events_are_chosen_by_name() {
        for (event, hits) in [("a", 3), ("g/a", 3), ("g/b", 1)] {
            let Ok(Chart::Heat(heat)) = chart(&stream(), "size", Some(event)) else {
                panic!("no map");
            };
            assert_eq!(heat.fields.values().sum::<u64>(), hits, "{event}");
        }
        for (field, event) in [("size", Some("h/a")), ("no", None), ("no", Some("a"))] {
            assert!(chart(&stream(), field, event).is_err());
        }
    }
}
