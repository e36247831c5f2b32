// SPDX-License-Identifier: GPL-2.0

//! What is drawn: bars, or a map of two directions.

use super::axis::{Axis, Scale, Slot};
use super::table::{Key, Table};
use crate::error::Result;
use crate::refuse;
use std::collections::BTreeMap;

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
    /// The keys, a slot for each bar.
    pub key: Axis,
    /// What the bars count.
    pub value: String,
    /// The values.
    pub values: Vec<u64>,
}

/// A map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heat {
    /// What lies from the left to the right.
    pub across: Axis,
    /// What lies from below upwards.
    pub upwards: Axis,
    /// What the fields count.
    pub value: String,
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
fn bars(key: &str, value: String, rows: Vec<(Key, u64)>) -> Bars {
    let counts = sums(rows.iter().map(|(key, value)| (key, *value)));
    let (mut axis, slots) = Axis::of_keys(key, &counts);
    let mut values = vec![0u64; axis.slots.len()];
    for (key, value) in &counts {
        let slot = slots.get(key).and_then(|slot| values.get_mut(*slot));
        if let Some(slot) = slot {
            *slot = slot.saturating_add(*value);
        }
    }
    if axis.scale == Scale::Names {
        let has_texts = counts.keys().any(|key| matches!(key, Key::Text(_)));
        let (rest, sum) = longest(&mut axis.slots, &mut values, has_texts);
        if rest > 0 {
            axis.slots.push(Slot::named(&format!("{rest} others")));
            values.push(sum);
        }
    }
    Bars {
        key: axis,
        value,
        values,
    }
}

/// Keeps the longest bars, in their order or, with `by_length`, the longest first. How many it leaves
/// out, and their sum.
fn longest(slots: &mut Vec<Slot>, values: &mut Vec<u64>, by_length: bool) -> (usize, u64) {
    let mut order: Vec<(usize, Slot, u64)> = slots
        .drain(..)
        .zip(values.drain(..))
        .enumerate()
        .map(|(at, (slot, value))| (at, slot, value))
        .collect();
    order.sort_by_key(|(_, _, value)| std::cmp::Reverse(*value));
    let others = order.split_off(order.len().min(MOST_ROWS));
    if !by_length {
        order.sort_by_key(|(at, _, _)| *at);
    }
    for (_, slot, value) in order {
        slots.push(slot);
        values.push(value);
    }
    let sum = others.iter().map(|(_, _, value)| value).sum();
    (others.len(), sum)
}

/// The values of each key, added up.
fn sums<'a>(rows: impl Iterator<Item = (&'a Key, u64)>) -> BTreeMap<Key, u64> {
    let mut sums: BTreeMap<Key, u64> = BTreeMap::new();
    for (key, value) in rows {
        let sum = sums.entry(key.clone()).or_default();
        *sum = sum.saturating_add(value);
    }
    sums
}

/// The axis of the keys of rows, if a picture has room for `most`.
fn axis_of<'a>(
    name: &str,
    most: usize,
    rows: impl Iterator<Item = (&'a Key, u64)>,
) -> Result<(Axis, BTreeMap<Key, usize>)> {
    let counts = sums(rows);
    if counts.is_empty() {
        refuse!("there is nothing in it");
    }
    if counts.len() > most {
        refuse!(
            "{name} has {} values, and a picture room for {most}: count it by .log2 or .buckets=N",
            counts.len()
        );
    }
    Ok(Axis::of_keys(name, &counts))
}

/// A map of triples of column, row and value; `names` has the two directions and the value.
fn heat(names: [&str; 3], triples: Vec<(Key, Key, u64)>) -> Result<Chart> {
    let [across, upwards, value] = names;
    let columns = triples.iter().map(|(column, _, value)| (column, *value));
    let (across, columns) = axis_of(across, MOST_COLUMNS, columns)?;
    let placed = triples.iter().map(|(column, row, value)| {
        let column = columns.get(column).copied().unwrap_or_default();
        (column, row.clone(), *value)
    });
    heat_over(across, upwards, value, placed.collect())
}

/// A map whose columns are known, of triples of the number of a column, row and value.
pub fn heat_over(
    across: Axis,
    upwards: &str,
    value: &str,
    triples: Vec<(usize, Key, u64)>,
) -> Result<Chart> {
    let rows = triples.iter().map(|(_, row, value)| (row, *value));
    let (upwards, rows) = axis_of(upwards, MOST_ROWS, rows)?;
    let mut fields: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (column, row, value) in triples {
        let Some(row) = rows.get(&row).filter(|_| value > 0) else {
            continue;
        };
        let field = fields.entry((column, *row)).or_default();
        *field = field.saturating_add(value);
    }
    Ok(Chart::Heat(Heat {
        across,
        upwards,
        value: value.into(),
        fields,
    }))
}
