// SPDX-License-Identifier: GPL-2.0

//! A direction of a chart: the slots that it has, and where round numbers are on it.

use super::table::Key;
use crate::trace::{units, value};
use std::collections::BTreeMap;

/// What the numbers of a key or a value are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Without a unit.
    Plain,
    /// Nanoseconds.
    Time,
    /// Bytes.
    Size,
}

impl Unit {
    /// The unit of what is called `name`.
    pub fn of(name: &str) -> Self {
        let is_time = matches!(name, "duration" | "ns" | "nsecs") || name.ends_with("_ns");
        match (is_time, value::is_size(name)) {
            (true, _) => Self::Time,
            (false, true) => Self::Size,
            (false, false) => Self::Plain,
        }
    }

    /// A number with its unit.
    pub fn show(self, number: u64) -> String {
        match self {
            Self::Plain => number.to_string(),
            Self::Time => units::duration(number),
            Self::Size => size(number),
        }
    }

    /// The number `2^power` with its unit.
    fn show_power(self, power: i128) -> String {
        let number = u32::try_from(power).ok();
        match number.and_then(|power| 1u64.checked_shl(power)) {
            Some(number) if self != Self::Plain => self.show(number),
            _ => Key::Power(power).to_string(),
        }
    }
}

/// Bytes, in the largest unit in which the number is whole, or with a digit behind the point.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u32); 6] = [
        ("EiB", 60),
        ("PiB", 50),
        ("TiB", 40),
        ("GiB", 30),
        ("MiB", 20),
        ("KiB", 10),
    ];
    let unit = UNITS.iter().find(|(_, shift)| bytes >> shift > 0);
    match unit {
        None => format!("{bytes} B"),
        Some((unit, shift)) if bytes.trailing_zeros() >= *shift => {
            format!("{} {unit}", bytes >> shift)
        }
        Some((unit, shift)) => format!("{:.1} {unit}", bytes as f64 / (1u64 << shift) as f64),
    }
}

/// A part of an axis: a bar, or a row or column of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The label beside it; empty where ticks tell what it is.
    pub label: String,
    /// What it stands for.
    pub tells: String,
}

/// What lies along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Whatever the labels say.
    Names,
    /// Numbers up to a power of two each, the first slot those up to `2^first`.
    Powers {
        /// The exponent.
        first: i128,
    },
    /// Nanoseconds from 0 on, `step` of them each.
    Steps {
        /// How many.
        step: u64,
    },
}

/// A direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// What it has.
    pub name: String,
    /// The unit of its numbers.
    pub unit: Unit,
    /// Its slots, in their order.
    pub slots: Vec<Slot>,
    /// What its scale is.
    pub scale: Scale,
    /// How many slots are before the scale.
    pub before: usize,
    /// How many are behind it.
    pub behind: usize,
}

/// A label on an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Where, in slots.
    pub at: f64,
    /// The number.
    pub text: String,
}

impl Axis {
    /// The axis of the keys in `counts`, and the slot of each key.
    pub fn of_keys(name: &str, counts: &BTreeMap<Key, u64>) -> (Self, BTreeMap<Key, usize>) {
        let unit = Unit::of(name);
        let powers: BTreeMap<i128, u64> = counts
            .iter()
            .filter_map(|(key, count)| Some((key.power()?, *count)))
            .collect();
        let below_zero = counts.contains_key(&Key::BelowZero);
        if powers.is_empty() || powers.len() + usize::from(below_zero) < counts.len() {
            return Self::of_names(name, unit, counts);
        }
        let shown = without_strays(&powers);
        let (first, last) = (*shown.start(), *shown.end());
        let count = |of: &dyn Fn(i128) -> bool| -> u64 {
            let of = powers.iter().filter(|(power, _)| of(**power));
            of.map(|(_, count)| *count).sum()
        };
        let (fewer, more) = (count(&|power| power < first), count(&|power| power > last));
        let mut slots = Vec::new();
        if below_zero {
            slots.push(Slot::named("< 0"));
        }
        if fewer > 0 {
            slots.push(Slot {
                label: format!("{fewer} below"),
                tells: format!("up to {}", unit.show_power(first - 1)),
            });
        }
        let before = slots.len();
        slots.extend((first..=last).map(|power| Slot {
            label: String::new(),
            tells: match power {
                0 => format!("up to {}", unit.show_power(0)),
                _ => format!(
                    "{} to {}",
                    unit.show_power(power - 1),
                    unit.show_power(power)
                ),
            },
        }));
        let scaled = slots.len();
        if more > 0 {
            slots.push(Slot {
                label: format!("{more} above"),
                tells: format!("above {}", unit.show_power(last)),
            });
        }
        let slot_of = |key: &Key| match key.power() {
            None => 0,
            Some(power) if power < first => before - 1,
            Some(power) if power > last => scaled,
            Some(power) => before + usize::try_from(power - first).unwrap_or(0),
        };
        let known = counts.keys().map(|key| (key.clone(), slot_of(key)));
        let known = known.collect();
        let axis = Self {
            name: name.into(),
            unit,
            before,
            behind: slots.len() - scaled,
            slots,
            scale: Scale::Powers { first },
        };
        (axis, known)
    }

    /// An axis with a label for each key.
    fn of_names(
        name: &str,
        unit: Unit,
        counts: &BTreeMap<Key, u64>,
    ) -> (Self, BTreeMap<Key, usize>) {
        let is_whole =
            |key: &Key| matches!(key, Key::Number { text, .. } if text.parse::<u64>().is_ok());
        let slots = counts.keys().map(|key| match key {
            Key::Number { text, .. } => match text.parse() {
                Ok(number) => Slot::named(&unit.show(number)),
                Err(_) => Slot::named(text),
            },
            other => Slot::named(&other.to_string()),
        });
        // A range has no unit in its label.
        let is_bare = counts
            .keys()
            .any(|key| matches!(key, Key::Number { .. }) && !is_whole(key));
        let name = match unit {
            Unit::Time if is_bare => format!("{name} (ns)"),
            Unit::Size if is_bare => format!("{name} (bytes)"),
            _ => name.into(),
        };
        let axis = Self {
            name,
            unit,
            slots: slots.collect(),
            scale: Scale::Names,
            before: 0,
            behind: 0,
        };
        let known = counts.keys().cloned().zip(0..).collect();
        (axis, known)
    }

    /// The round numbers on it. A label takes as much room as `room` slots.
    pub fn ticks(&self, room: f64) -> Vec<Tick> {
        let scaled = self.slots.len() - self.before - self.behind;
        match self.scale {
            Scale::Names => Vec::new(),
            Scale::Powers { first } => {
                let last = first + scaled as i128 - 1;
                let powers = match self.unit {
                    Unit::Time => decimal_ticks(first, last, room),
                    Unit::Plain | Unit::Size => self.binary_ticks(first, last, room),
                };
                // Nothing is below the first slot but 0.
                let origin = self.before as f64 - (first - 1) as f64;
                let ticks = powers.into_iter();
                ticks
                    .map(|(power, text)| Tick {
                        at: origin + power,
                        text,
                    })
                    .collect()
            }
            Scale::Steps { step } => {
                let between = round_up((room * step as f64).ceil() as u64);
                let whole = step.saturating_mul(scaled as u64);
                (0..=whole / between)
                    .map(|number| number * between)
                    .map(|at| Tick {
                        at: self.before as f64 + at as f64 / step as f64,
                        // 0.5 s lies beside 1 s, 50 ms beside 100 ms.
                        text: time(at, between.saturating_mul(10)),
                    })
                    .collect()
            }
        }
    }

    fn binary_ticks(&self, first: i128, last: i128, room: f64) -> Vec<(f64, String)> {
        let every = (room.ceil() as i128).max(1);
        let from = (first - 1).max(0);
        let powers = (from..=last).filter(|power| power % every == 0);
        powers
            .map(|power| (power as f64, self.unit.show_power(power)))
            .collect()
    }
}

impl Slot {
    /// A slot that is what its label says.
    pub fn named(text: &str) -> Self {
        Self {
            label: text.into(),
            tells: text.into(),
        }
    }
}

/// The numbers 1, 2 and 5 times powers of ten from `2^(first - 1)` to `2^last` nanoseconds, as
/// logarithms; only the powers of ten, or some of them, if there is no room.
fn decimal_ticks(first: i128, last: i128, room: f64) -> Vec<(f64, String)> {
    const DECADE: f64 = std::f64::consts::LOG2_10;
    let factors: &[u64] = if room <= 1.0 { &[1, 2, 5] } else { &[1] };
    let every = match room {
        room if room <= DECADE => 1,
        room => (room / DECADE).ceil() as usize,
    };
    let decades = (0..20).step_by(every).filter_map(|n| 10u64.checked_pow(n));
    let numbers = decades.flat_map(|decade| factors.iter().map(move |f| decade.checked_mul(*f)));
    let (from, to) = ((first - 1) as f64, last as f64);
    let ticks = numbers.flatten().map(|number| {
        let text = time(number, number);
        ((number as f64).log2(), text)
    });
    ticks.filter(|(at, _)| (from..=to).contains(at)).collect()
}

/// The least of 1, 2 and 5 times a power of ten that is not below `number`.
pub fn round_up(number: u64) -> u64 {
    let mut decade = 1u64;
    loop {
        for factor in [1, 2, 5] {
            match decade.checked_mul(factor) {
                Some(round) if round < number => {}
                Some(round) => return round,
                None => return number,
            }
        }
        match decade.checked_mul(10) {
            Some(next) => decade = next,
            None => return number,
        }
    }
}

/// Nanoseconds in the largest unit of which `one` are one at least.
fn time(nanoseconds: u64, one: u64) -> String {
    let (factor, unit) = match one {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    // A float shows no more digits than it needs.
    format!("{} {unit}", nanoseconds as f64 / factor as f64)
}

/// The range of the keys of `counts` without the few that are far away from all others: those beyond
/// a gap of a quarter of the range, if they are no more than one of twenty.
pub fn without_strays(counts: &BTreeMap<i128, u64>) -> std::ops::RangeInclusive<i128> {
    const LEAST_GAP: i128 = 4;
    let all: u64 = counts.values().sum();
    let is_few = |count: u64| count.saturating_mul(20) <= all;
    let (Some(first), Some(last)) = (counts.keys().next(), counts.keys().next_back()) else {
        return 0..=0;
    };
    let (mut first, mut last) = (*first, *last);
    loop {
        let shown: Vec<i128> = counts.range(first..=last).map(|(key, _)| *key).collect();
        let wide = shown.windows(2).find_map(|pair| match pair {
            [low, high] if high - low > LEAST_GAP && (high - low - 1) * 4 >= last - first + 1 => {
                let below: u64 = counts.range(..=low).map(|(_, count)| *count).sum();
                let above: u64 = counts.range(high..).map(|(_, count)| *count).sum();
                match (is_few(below), is_few(above)) {
                    (true, _) => Some((*high, last)),
                    (false, true) => Some((first, *low)),
                    (false, false) => None,
                }
            }
            _ => None,
        });
        match wide {
            Some(rest) => (first, last) = rest,
            None => return first..=last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn powers(counts: &[(i128, u64)]) -> BTreeMap<Key, u64> {
        let keys = counts.iter();
        keys.map(|(power, count)| (Key::Power(*power), *count))
            .collect()
    }

    fn texts(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.text.as_str()).collect()
    }

    #[test]
    fn durations_have_round_numbers() {
        let (axis, slots) = Axis::of_keys("duration", &powers(&[(10, 1), (14, 5)]));
        assert_eq!(axis.slots.len(), 5);
        assert_eq!((slots[&Key::Power(10)], slots[&Key::Power(14)]), (0, 4));
        let ticks = axis.ticks(1.0);
        assert_eq!(texts(&ticks), ["1 us", "2 us", "5 us", "10 us"]);
        // A little below 1024, where the first slot ends.
        assert!((0.96..0.97).contains(&ticks[0].at), "{ticks:?}");
        assert_eq!(texts(&axis.ticks(2.0)), ["1 us", "10 us"]);
        assert_eq!(axis.slots[4].tells, "8.192 us to 16.38 us");
    }

    #[test]
    fn sizes_have_powers_of_two() {
        let (axis, _) = Axis::of_keys("bytes", &powers(&[(9, 1), (12, 5)]));
        let ticks = axis.ticks(1.0);
        assert_eq!(texts(&ticks), ["256 B", "512 B", "1 KiB", "2 KiB", "4 KiB"]);
        assert_eq!((ticks[0].at, ticks[4].at), (0.0, 4.0));
        let (axis, _) = Axis::of_keys("order", &powers(&[(0, 1), (11, 5)]));
        assert_eq!(texts(&axis.ticks(3.0)), ["1", "8", "64", "512"]);
        assert_eq!(axis.slots[0].tells, "up to 1");
    }

    #[test]
    fn times_have_round_numbers() {
        let axis = |step, slots| Axis {
            name: "time".into(),
            unit: Unit::Time,
            slots: vec![Slot::named(""); slots],
            scale: Scale::Steps { step },
            before: 0,
            behind: 0,
        };
        let ticks = axis(20_000_000, 100).ticks(15.0);
        assert_eq!(texts(&ticks), ["0 s", "0.5 s", "1 s", "1.5 s", "2 s"]);
        assert_eq!(ticks[1].at, 25.0);
        let ticks = axis(20_000, 100).ticks(15.0);
        assert_eq!(texts(&ticks), ["0 ms", "0.5 ms", "1 ms", "1.5 ms", "2 ms"]);
    }

    #[test]
    fn a_stray_takes_no_room() {
        let mut counts = powers(&[(12, 9), (13, 30), (15, 40)]);
        for (power, count, label) in [(40, 3, "3 above"), (0, 1, "1 below")] {
            counts.insert(Key::Power(power), count);
            let (axis, slots) = Axis::of_keys("bytes", &counts);
            let slot = &axis.slots[slots[&Key::Power(power)]];
            assert_eq!(slot.label, label);
            assert_eq!(axis.slots.len(), 4 + axis.before + axis.behind);
        }
        let (axis, slots) = Axis::of_keys("bytes", &counts);
        assert_eq!((axis.before, axis.behind), (1, 1));
        assert_eq!(slots[&Key::Power(12)], 1);
        assert_eq!(axis.slots[0].tells, "up to 2 KiB");
        // What is many is no stray, wherever it is.
        counts.insert(Key::Power(40), 30);
        let (axis, _) = Axis::of_keys("bytes", &counts);
        assert_eq!(axis.slots.len(), 1 + 29);
    }

    #[test]
    fn numbers_below_zero_are_before_all_others() {
        let mut counts = powers(&[(3, 1)]);
        counts.insert(Key::BelowZero, 2);
        let (axis, slots) = Axis::of_keys("ret", &counts);
        assert_eq!(axis.slots[slots[&Key::BelowZero]].label, "< 0");
        assert_eq!(axis.ticks(1.0)[0].at, 1.0);
        assert_eq!(texts(&axis.ticks(1.0)), ["4", "8"]);
    }

    #[test]
    fn labels_have_units() {
        let number = |order: i128, text: &str| Key::Number {
            order,
            text: text.into(),
        };
        let counts = BTreeMap::from([(number(2000, "2000"), 1)]);
        assert_eq!(
            Axis::of_keys("duration", &counts).0.slots[0].label,
            "2.000 us"
        );
        let counts = BTreeMap::from([(number(0, "0-99"), 1)]);
        assert_eq!(Axis::of_keys("duration", &counts).0.name, "duration (ns)");
        let shown = [(512, "512 B"), (1536, "1.5 KiB"), (1 << 30, "1 GiB")];
        for (bytes, text) in shown {
            assert_eq!(Unit::Size.show(bytes), text);
        }
        assert_eq!(Unit::of("wait_ns"), Unit::Time);
        assert_eq!(Unit::of("common_pid"), Unit::Plain);
    }

    #[test]
    fn round_numbers_are_the_next() {
        let numbers = [(0, 1), (3, 5), (5, 5), (6, 10), (1001, 2000)];
        for (number, round) in numbers {
            assert_eq!(round_up(number), round);
        }
    }
}
