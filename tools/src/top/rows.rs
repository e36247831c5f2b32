// SPDX-License-Identifier: GPL-2.0

//! Rows with rates, of two readings; sorted and filtered.

use super::counts::{Counts, Order, Tally};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::time::Duration;

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What is counted.
    pub key: String,
    /// Where it stands among others that have an order.
    pub order: Order,
    /// All since the view has been counted.
    pub tally: Tally,
    /// Hits of the last interval.
    pub recent: u64,
    /// Hits per second of the last interval.
    pub rate: f64,
}

impl Row {
    /// The mean of the nanoseconds.
    pub fn mean(&self) -> u64 {
        self.tally.time.checked_div(self.tally.count).unwrap_or(0)
    }
}

/// What rows are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Hits per second.
    Rate,
    /// Hits.
    Count,
    /// The mean time.
    Mean,
    /// The longest time.
    Longest,
    /// All time.
    Time,
    /// Bytes.
    Bytes,
    /// The key.
    Name,
}

impl Column {
    /// Its heading, also behind `--sort`.
    pub fn title(self) -> &'static str {
        match self {
            Self::Rate => "RATE/s",
            Self::Count => "COUNT",
            Self::Mean => "MEAN",
            Self::Longest => "MAX",
            Self::Time => "TIME",
            Self::Bytes => "BYTES",
            Self::Name => "NAME",
        }
    }
}

/// What was read last, and when.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    rows: HashMap<String, Row>,
    /// The time of the last reading, since the view has been counted.
    at: Duration,
    /// Hits for whose keys there was no room.
    pub dropped: u64,
}

impl Meter {
    /// Takes what was counted in the time `at` since the beginning.
    pub fn update(&mut self, at: Duration, counts: Counts) {
        let seconds = at.saturating_sub(self.at).as_secs_f64();
        self.at = at;
        self.dropped = counts.dropped;
        let former = std::mem::take(&mut self.rows);
        for (key, (order, tally)) in counts.entries {
            let before = former.get(&key).map_or(0, |row| row.tally.count);
            // Somebody may have cleared the histogram.
            let recent = tally.count.checked_sub(before).unwrap_or(tally.count);
            let rate = match seconds > 0.0 {
                true => recent as f64 / seconds,
                false => 0.0,
            };
            let row = Row {
                key: key.clone(),
                order,
                tally,
                recent,
                rate,
            };
            self.rows.insert(key, row);
        }
    }

    /// How long it has been counted.
    pub fn at(&self) -> Duration {
        self.at
    }

    /// The sum of all rows.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for row in self.rows.values() {
            total.add(&row.tally);
        }
        total
    }

    /// The rows whose keys have `filter`, the greatest by `column` first, or the least with
    /// `reverse`. Rows with an order have that.
    pub fn rows(&self, column: Column, reverse: bool, filter: &str) -> Vec<&Row> {
        let filter = filter.to_lowercase();
        let is_meant = |row: &&Row| row.key.to_lowercase().contains(&filter);
        let mut rows: Vec<&Row> = self.rows.values().filter(is_meant).collect();
        rows.sort_by(|a, b| {
            let order = compare(a, b, column);
            let order = if reverse { order.reverse() } else { order };
            order.then_with(|| a.key.cmp(&b.key))
        });
        rows
    }
}

/// The greater row first, the lesser key first.
fn compare(a: &Row, b: &Row, column: Column) -> Ordering {
    if let (Some(a), Some(b)) = (&a.order, &b.order) {
        return a.cmp(b);
    }
    let by = |value: fn(&Row) -> u64| value(b).cmp(&value(a));
    match column {
        // Of equal rates, such as none, the one that has been hit more often.
        Column::Rate => by(|row| row.recent).then_with(|| by(|row| row.tally.count)),
        Column::Count => by(|row| row.tally.count),
        Column::Mean => by(Row::mean),
        Column::Longest => by(|row| row.tally.longest),
        Column::Time => by(|row| row.tally.time),
        Column::Bytes => by(|row| row.tally.bytes),
        Column::Name => a.key.cmp(&b.key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hist::table::Key;

    fn counts(entries: &[(&str, u64, u64)]) -> Counts {
        let entries = entries.iter().map(|(key, count, time)| {
            let tally = Tally {
                count: *count,
                time: *time,
                longest: *time,
                bytes: 0,
            };
            (key.to_string(), (None, tally))
        });
        Counts {
            entries: entries.collect(),
            dropped: 2,
        }
    }

    fn keys<'a>(meter: &'a Meter, column: Column, reverse: bool, filter: &str) -> Vec<&'a str> {
        let rows = meter.rows(column, reverse, filter);
        rows.into_iter().map(|row| row.key.as_str()).collect()
    }

    #[test]
    fn rates_are_of_the_last_interval() {
        let mut meter = Meter::default();
        meter.update(
            Duration::from_secs(2),
            counts(&[("a", 10, 100), ("b", 4, 400)]),
        );
        let rate = |meter: &Meter, key: &str| {
            let rows = meter.rows(Column::Name, false, key);
            rows.first().map(|row| (row.rate, row.recent))
        };
        assert_eq!(rate(&meter, "a"), Some((5.0, 10)));
        meter.update(
            Duration::from_secs(4),
            counts(&[("a", 16, 100), ("b", 4, 400)]),
        );
        assert_eq!(rate(&meter, "a"), Some((3.0, 6)));
        assert_eq!(rate(&meter, "b"), Some((0.0, 0)));
        // A histogram that was cleared.
        meter.update(Duration::from_secs(6), counts(&[("a", 2, 100)]));
        assert_eq!(rate(&meter, "a"), Some((1.0, 2)));
        assert_eq!((meter.total().count, meter.dropped), (2, 2));
        // Two readings at once.
        meter.update(Duration::from_secs(6), counts(&[("a", 2, 100)]));
        assert_eq!(rate(&meter, "a"), Some((0.0, 0)));
    }

    #[test]
    fn rows_are_sorted_and_filtered() {
        let mut meter = Meter::default();
        let entries = [("Aa", 10, 100), ("b", 4, 400), ("c", 4, 8)];
        meter.update(Duration::from_secs(1), counts(&entries));
        assert_eq!(keys(&meter, Column::Rate, false, ""), ["Aa", "b", "c"]);
        assert_eq!(keys(&meter, Column::Count, true, ""), ["b", "c", "Aa"]);
        assert_eq!(keys(&meter, Column::Mean, false, ""), ["b", "Aa", "c"]);
        assert_eq!(keys(&meter, Column::Time, false, ""), ["b", "Aa", "c"]);
        assert_eq!(keys(&meter, Column::Name, true, ""), ["c", "b", "Aa"]);
        assert_eq!(keys(&meter, Column::Rate, false, "a"), ["Aa"]);
    }

    #[test]
    fn what_has_an_order_keeps_it() {
        let mut meter = Meter::default();
        let mut counts = counts(&[("<= 4", 1, 0), ("<= 16", 9, 0)]);
        for (key, power) in [("<= 4", 2), ("<= 16", 4)] {
            counts.entries.get_mut(key).expect("a key").0 = Some(Key::Power(power));
        }
        meter.update(Duration::from_secs(1), counts);
        assert_eq!(keys(&meter, Column::Count, false, ""), ["<= 4", "<= 16"]);
    }
}
