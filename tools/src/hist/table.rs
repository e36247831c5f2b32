// SPDX-License-Identifier: GPL-2.0

//! Reads the text of a `hist` file.

use crate::error::Result;
use crate::refuse;
use std::fmt;

/// A key of an entry, in the order in which a picture has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// All numbers below zero, of a key with `.log2`.
    BelowZero,
    /// A power of two, of a key with `.log2`.
    Power(i128),
    /// A number, or the first of a range of them.
    Number {
        /// The number.
        order: i128,
        /// What is shown.
        text: String,
    },
    /// Anything else.
    Text(String),
}

impl Key {
    /// What a `hist` file shows.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.trim();
        if text == "< 0" {
            return Self::BelowZero;
        }
        if let Some(range) = text.strip_prefix("~ ") {
            if let Some(power) = range
                .strip_prefix("2^")
                .and_then(|power| power.parse().ok())
            {
                return Self::Power(power);
            }
            // Both may have a sign: 0-9, -10--1.
            let end = range.get(1..).and_then(|rest| rest.find('-'));
            let first = end.and_then(|end| range.get(..=end));
            if let Some(order) = first.and_then(|first| first.parse().ok()) {
                return Self::Number {
                    order,
                    text: range.into(),
                };
            }
        }
        match text.parse() {
            Ok(order) => Self::Number {
                order,
                text: text.into(),
            },
            // Columns are filled up by blanks.
            Err(_) => Self::Text(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        }
    }

    /// The exponent, of a power of two.
    pub fn power(&self) -> Option<i128> {
        match self {
            Self::Power(power) => Some(*power),
            _ => None,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BelowZero => f.write_str("< 0"),
            Self::Power(power) => match u32::try_from(*power)
                .ok()
                .and_then(|power| 1u128.checked_shl(power))
            {
                Some(number) if *power < 10 => write!(f, "{number}"),
                Some(number) if *power < 20 => write!(f, "{}K", number >> 10),
                Some(number) if *power < 30 => write!(f, "{}M", number >> 20),
                Some(number) if *power < 40 => write!(f, "{}G", number >> 30),
                _ => write!(f, "2^{power}"),
            },
            Self::Number { text, .. } | Self::Text(text) => f.write_str(text),
        }
    }
}

/// A histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The names of the keys.
    pub keys: Vec<String>,
    /// The name of the value.
    pub value: String,
    /// The entries.
    pub rows: Vec<(Vec<Key>, u64)>,
}

/// The histogram in `text`, with the value that is called `value`.
pub fn read(text: &str, value: &str) -> Result<Table> {
    let triggers = text
        .lines()
        .filter_map(|line| line.strip_prefix("# trigger info: hist:"));
    let triggers: Vec<&str> = triggers.collect();
    let trigger = match triggers.as_slice() {
        [trigger] => *trigger,
        [] => refuse!("it is no histogram: give a hist file"),
        [_, _, ..] => refuse!(
            "{} histograms are in it: give a file with one",
            triggers.len()
        ),
    };
    let names = key_names(trigger);
    if names.iter().any(|name| name.ends_with("stacktrace")) {
        refuse!("its keys are stacks: ferroprobe flame draws those");
    }
    let mut rows = Vec::new();
    for line in text.lines() {
        let Some((keys, values)) = entry(line) else {
            continue;
        };
        rows.push((keys_of(keys, &names)?, number(values, value)?));
    }
    if rows.is_empty() {
        refuse!("the histogram has no entries");
    }
    Ok(Table {
        keys: names,
        value: value.into(),
        rows,
    })
}

/// The names of the keys in the text of a trigger, without `hist:`.
pub(crate) fn key_names(trigger: &str) -> Vec<String> {
    let keys = trigger
        .split(':')
        .find_map(|part| part.strip_prefix("keys="));
    let names = keys.unwrap_or_default().split(',');
    let without_modifier = |key: &str| key.split('.').next().unwrap_or(key).to_string();
    names.map(without_modifier).collect()
}

/// The keys and the values of `{ KEYS } VALUES`.
fn entry(line: &str) -> Option<(&str, &str)> {
    // A text may have braces itself, values have none.
    line.strip_prefix("{ ")?.rsplit_once(" } ")
}

fn keys_of(text: &str, names: &[String]) -> Result<Vec<Key>> {
    let mut rest = text;
    let mut keys = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let Some(behind) = rest
            .strip_prefix(name.as_str())
            .and_then(|rest| rest.strip_prefix(": "))
        else {
            refuse!("an entry without the key {name}: {text}");
        };
        let next = names.get(at + 1).map(|next| format!(", {next}: "));
        let end = next.and_then(|next| behind.find(&next));
        let (own, others) = match end {
            Some(end) => (behind.get(..end), behind.get(end + 2..)),
            None => (Some(behind), None),
        };
        keys.push(Key::parse(own.unwrap_or_default()));
        rest = others.unwrap_or_default();
    }
    Ok(keys)
}

/// The number behind `NAME:`.
pub(crate) fn number(values: &str, name: &str) -> Result<u64> {
    let mut rest = values;
    while let Some(at) = rest.find(name) {
        let behind = rest.get(at + name.len()..).unwrap_or_default();
        let is_whole = rest
            .get(..at)
            .is_some_and(|before| before.is_empty() || before.ends_with(' '));
        if let Some(number) = behind.strip_prefix(':').filter(|_| is_whole) {
            let word = number.split_whitespace().next().unwrap_or_default();
            return match word.parse() {
                Ok(number) => Ok(number),
                Err(_) => {
                    refuse!("the value {name} is no count: {word}: take another with --value")
                }
            };
        }
        rest = behind;
    }
    refuse!("the histogram has no value {name}: take another with --value")
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) const SIZES: &str = "\
# event histogram
#
# trigger info: hist:keys=bytes.log2:vals=hitcount,bytes:sort=hitcount:size=2048 [active]
#

{ bytes: ~ 2^12 } hitcount:          2  bytes:       8192
{ bytes: ~ 2^9  } hitcount:          7  bytes:       3584
{ bytes: ~ 2^10 } hitcount:         40  bytes:      40960

Totals:
    Hits: 49
    Entries: 3
    Dropped: 0
";

    #[test]
    fn entries_are_read_with_any_value() {
        let table = read(SIZES, "hitcount").expect("a table");
        assert_eq!(table.keys, ["bytes"]);
        let rows = [(12, 2), (9, 7), (10, 40)].map(|(power, hits)| (vec![Key::Power(power)], hits));
        assert_eq!(table.rows, rows);
        assert_eq!(read(SIZES, "bytes").expect("a table").rows[0].1, 8192);
    }

    #[test]
    fn keys_may_have_any_text() {
        let text = "# trigger info: hist:keys=comm,len.buckets=10,ret:vals=hitcount:sort=hitcount:size=2048 [active]\n\
            { comm: a, len: } b           , len: ~ -10--1, ret:         -2 } hitcount:          3\n";
        let table = read(text, "hitcount").expect("a table");
        let (keys, hits) = &table.rows[0];
        assert_eq!(*hits, 3);
        // As a name of a task can look like anything, the first of what may be the next key is it.
        assert_eq!(keys[0], Key::Text("a".into()));
        let text = text.replace("a, len: }", "a}");
        let table = read(&text, "hitcount").expect("a table");
        let expected = [
            Key::Text("a} b".into()),
            Key::Number {
                order: -10,
                text: "-10--1".into(),
            },
            Key::Number {
                order: -2,
                text: "-2".into(),
            },
        ];
        assert_eq!(table.rows[0].0, expected);
    }

    #[test]
    fn powers_are_shown_as_numbers() {
        let shown = [
            (0, "1"),
            (9, "512"),
            (10, "1K"),
            (29, "512M"),
            (30, "1G"),
            (63, "2^63"),
        ];
        for (power, text) in shown {
            assert_eq!(Key::Power(power).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        let twice = format!("{SIZES}{SIZES}");
        let stacks = SIZES.replace("bytes.log2", "common_stacktrace");
        let empty = SIZES.replace("{ ", "");
        for (text, value, reason) in [
            ("", "hitcount", "no histogram"),
            (twice.as_str(), "hitcount", "2 histograms"),
            (&stacks, "hitcount", "ferroprobe flame"),
            (&empty, "hitcount", "no entries"),
            (SIZES, "pages", "no value pages"),
            (SIZES, "byte", "no value byte"),
        ] {
            let refusal = read(text, value).expect_err(reason).to_string();
            assert!(refusal.contains(reason), "{refusal}");
        }
    }
}
