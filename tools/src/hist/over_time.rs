// SPDX-License-Identifier: GPL-2.0

//! A field of a stream over time: how often which powers of two occurred when.

use super::chart::{heat, Chart};
use super::table::Key;
use crate::error::Result;
use crate::refuse;
use crate::stream::{Event, Stream};
use serde_json::Value;
use std::collections::BTreeMap;

/// How many columns a picture has.
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
    let times = points.iter().map(|(time, _)| *time);
    let (Some(first), Some(last)) = (times.clone().min(), times.max()) else {
        let of = event.map_or("no event".into(), |event| format!("no event {event}"));
        refuse!("{of} has a number {field}");
    };
    // Of equal width; the last one ends behind the last event.
    let width = (last - first) / COLUMNS + 1;
    let mut counts: BTreeMap<(u64, Key), u64> = BTreeMap::new();
    for (time, key) in points {
        *counts.entry(((time - first) / width, key)).or_default() += 1;
    }
    let column = |at: u64| Key::Number {
        order: at.into(),
        text: seconds(at * width),
    };
    let end = (last - first) / width;
    let rows: Vec<Key> = counts.keys().map(|(_, key)| key.clone()).collect();
    let mut triples: Vec<(Key, Key, u64)> = counts
        .into_iter()
        .map(|((at, key), count)| (column(at), key, count))
        .collect();
    // Time goes on where nothing happens.
    if let Some(any) = rows.first() {
        triples.extend((0..=end).map(|at| (column(at), any.clone(), 0)));
    }
    heat(["seconds", field, "events"], triples)
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

/// Nanoseconds, as seconds.
fn seconds(nanoseconds: u64) -> String {
    format!("{:.3}", nanoseconds as f64 / 1e9)
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
        assert_eq!(heat.rows, ["< 0", "512", "1K", "2K", "4K", "8K"]);
        assert_eq!(heat.columns.len(), 120);
        assert_eq!(
            (heat.columns[0].as_str(), heat.columns[119].as_str()),
            ("0.000", "2.975")
        );
        let fields = heat
            .fields
            .iter()
            .map(|((column, row), count)| (*column, *row, *count));
        assert_eq!(
            fields.collect::<Vec<_>>(),
            [(0, 1, 2), (79, 5, 1), (119, 0, 1)]
        );
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
