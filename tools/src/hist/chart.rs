// SPDX-License-Identifier: GPL-2.0

//! What is drawn: bars, or a map of two directions.

use super::table::{Key, Table};
use crate::error::Result;
use crate::refuse;
use std::collections::{BTreeMap, BTreeSet};

/// What can be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chart {
    /// A bar for each key.
    Bars(Bars),
    /// A field for each pair of keys.
    Heat(Heat),
}

/// Bars, from above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bars {
    /// What the keys are.
    pub key: String,
    /// What the bars count.
    pub value: String,
    /// The keys and their values.
    pub rows: Vec<(String, u64)>,
}

/// A map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heat {
    /// What lies from the left to the right.
    pub across: String,
    /// What lies from below upwards.
    pub upwards: String,
    /// What the fields count.
    pub value: String,
    /// The columns, from the left.
    pub columns: Vec<String>,
    /// The rows, from below.
    pub rows: Vec<String>,
    /// The fields that are not 0: column, row, value.
    pub fields: BTreeMap<(usize, usize), u64>,
}

/// More bars, or rows of a map, cannot be read.
const MOST_ROWS: usize = 60;
/// More columns are no wider than a line.
const MOST_COLUMNS: usize = 240;

/// The picture of a histogram: bars if it has one key, a map if it has two.
pub fn of_table(table: &Table) -> Result<Chart> {
    match table.keys.as_slice() {
        [key] => {
            let rows = table.rows.iter().map(|(keys, value)| (keys, *value));
            let rows = rows.filter_map(|(keys, value)| Some((keys.first()?.clone(), value)));
            let value = table.value.clone();
            Ok(Chart::Bars(bars(key, value, rows.collect())))
        }
        [across, upwards] => {
            let pairs = table
                .rows
                .iter()
                .filter_map(|(keys, value)| match keys.as_slice() {
                    [first, second] => Some((first.clone(), second.clone(), *value)),
                    _ => None,
                });
            heat([across, upwards, &table.value], pairs.collect())
        }
        keys => refuse!(
            "a picture has room for two keys, and these are {}: {}",
            keys.len(),
            keys.join(", ")
        ),
    }
}

/// What came between each two of several readings of one histogram, from the left to the right.
pub fn of_readings(readings: &[(String, Table)]) -> Result<Chart> {
    let mut triples = Vec::new();
    let mut before: BTreeMap<Key, u64> = BTreeMap::new();
    let mut first: Option<&Table> = None;
    for (at, (name, table)) in readings.iter().enumerate() {
        let [_] = table.keys.as_slice() else {
            refuse!(
                "{name}: over time there is room for one key, and this has {}",
                table.keys.len()
            );
        };
        if first.is_some_and(|first| (&first.keys, &first.value) != (&table.keys, &table.value)) {
            refuse!("{name}: it is of another histogram than the first file");
        }
        let mut now = BTreeMap::new();
        for (keys, value) in &table.rows {
            now.extend(keys.first().map(|key| (key.clone(), *value)));
        }
        // Of the first reading nobody knows how long it has counted.
        if first.is_some() {
            for (key, value) in &now {
                let known = before.get(key).copied().unwrap_or(0);
                // It was cleared if it has less.
                let grown = value.checked_sub(known).unwrap_or(*value);
                let column = Key::Number {
                    order: at as i128,
                    text: name.clone(),
                };
                triples.push((column, key.clone(), grown));
            }
        }
        first = first.or(Some(table));
        before = now;
    }
    let Some(first) = first.filter(|_| readings.len() > 1) else {
        refuse!("over time there must be two readings at least");
    };
    let key = first.keys.first().cloned().unwrap_or_default();
    heat(["reading", &key, &first.value], triples)
}

/// Bars by the order of their keys if these are numbers, otherwise the longest first.
fn bars(key: &str, value: String, mut rows: Vec<(Key, u64)>) -> Bars {
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    let keys: BTreeSet<&Key> = rows.iter().map(|(key, _)| key).collect();
    for key in without_gaps(&keys) {
        if rows.binary_search_by(|(known, _)| known.cmp(&key)).is_err() {
            rows.push((key, 0));
            rows.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(rows.get(*at).map_or(0, |(_, value)| *value)));
    let others = order.split_off(order.len().min(MOST_ROWS));
    let sum: u64 = others
        .iter()
        .filter_map(|at| rows.get(*at))
        .map(|(_, value)| value)
        .sum();
    if rows.iter().all(|(key, _)| !matches!(key, Key::Text(_))) {
        order.sort_unstable();
    }
    let others = others.len();
    let shown = order.iter().filter_map(|at| rows.get(*at));
    let mut rows: Vec<_> = shown
        .map(|(key, value)| (key.to_string(), *value))
        .collect();
    if others > 0 {
        rows.push((format!("{others} others"), sum));
    }
    Bars {
        key: key.into(),
        value,
        rows,
    }
}

/// A map of triples of column, row and value; `names` are those of the directions and the value.
pub fn heat(names: [&str; 3], triples: Vec<(Key, Key, u64)>) -> Result<Chart> {
    let [across, upwards, value] = names;
    let columns: BTreeSet<&Key> = triples.iter().map(|(column, _, _)| column).collect();
    let rows: BTreeSet<&Key> = triples.iter().map(|(_, row, _)| row).collect();
    if columns.is_empty() {
        refuse!("there is nothing in it");
    }
    for (set, most, name) in [
        (&columns, MOST_COLUMNS, across),
        (&rows, MOST_ROWS, upwards),
    ] {
        if set.len() > most {
            refuse!("{name} has {} values, and a picture room for {most}: count it by .log2 or .buckets=N", set.len());
        }
    }
    let columns = without_gaps(&columns);
    let rows = without_gaps(&rows);
    let mut fields = BTreeMap::new();
    for (column, row, value) in &triples {
        let at = columns
            .binary_search(column)
            .ok()
            .zip(rows.binary_search(row).ok());
        if let Some(at) = at.filter(|_| *value > 0) {
            *fields.entry(at).or_insert(0) += value;
        }
    }
    Ok(Chart::Heat(Heat {
        across: across.into(),
        upwards: upwards.into(),
        value: value.into(),
        columns: columns.iter().map(ToString::to_string).collect(),
        rows: rows.iter().map(ToString::to_string).collect(),
        fields,
    }))
}

/// The keys in their order, with the powers of two between them: one that is missing was never hit.
fn without_gaps(keys: &BTreeSet<&Key>) -> Vec<Key> {
    let powers: Vec<i128> = keys.iter().filter_map(|key| key.power()).collect();
    let all = match (powers.first(), powers.last()) {
        (Some(first), Some(last)) => *first..*last,
        _ => 0..0,
    };
    let all: BTreeSet<Key> = all
        .map(Key::Power)
        .chain(keys.iter().copied().cloned())
        .collect();
    all.into_iter().collect()
}
