// SPDX-License-Identifier: GPL-2.0

//! Reads what a histogram has counted, of the text of a `hist` file with several.

use super::view::{HistKey, Histogram, Shown};
use crate::hist::table::{number, Key};
use crate::trace::value;
use std::collections::HashMap;

/// What was counted under a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Hits.
    pub count: u64,
    /// Their nanoseconds.
    pub time: u64,
    /// Nanoseconds of the longest hit.
    pub longest: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Tally {
    /// Adds what was counted elsewhere under the key.
    pub fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.time = self.time.saturating_add(other.time);
        self.longest = self.longest.max(other.longest);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Where keys stand, where they have an order.
pub type Order = Option<Key>;

/// All that a view has counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    /// By the text of the key.
    pub entries: HashMap<String, (Order, Tally)>,
    /// Hits for whose keys there was no room.
    pub dropped: u64,
}

/// The names of the values of an event.
#[derive(Debug, Clone, Copy, Default)]
pub struct Values<'a> {
    /// The field with nanoseconds.
    pub duration: Option<&'a str>,
    /// The field with bytes.
    pub bytes: Option<&'a str>,
}

impl Counts {
    /// Adds the histogram with the keys of `histogram` in `text`, of an event called `label`.
    pub fn add(&mut self, text: &str, histogram: &Histogram, values: Values<'_>, label: &str) {
        let keys = histogram.key_text();
        let is_meant = |section: &&str| {
            let trigger = section.strip_prefix("keys=").unwrap_or_default();
            let listed = trigger.strip_prefix(keys.as_str());
            listed.is_some_and(|rest| rest.starts_with(':'))
        };
        let mut sections = text.split("# trigger info: hist:").skip(1);
        let Some(section) = sections.find(is_meant) else {
            return;
        };
        // An entry with a stack has several lines.
        let mut entry = String::new();
        for line in section.lines().skip(1) {
            if entry.is_empty() && !line.starts_with("{ ") {
                if let Some(dropped) = line.trim().strip_prefix("Dropped:") {
                    self.dropped += dropped.trim().parse::<u64>().unwrap_or(0);
                }
                continue;
            }
            entry.push_str(line);
            if let Some(at) = entry.rfind("} hitcount:") {
                let (keys, tally) = entry.split_at(at);
                self.add_entry(keys, &tally[2..], histogram, values, label);
                entry.clear();
            } else {
                entry.push('\n');
            }
        }
    }

    fn add_entry(
        &mut self,
        keys: &str,
        tally: &str,
        histogram: &Histogram,
        values: Values<'_>,
        label: &str,
    ) {
        let read = |name: &str| number(tally, name).unwrap_or(0);
        let tally = Tally {
            count: read("hitcount"),
            time: values.duration.map_or(0, read),
            longest: values
                .duration
                .map_or(0, |name| read(&format!("{name} (max)"))),
            bytes: values.bytes.map_or(0, read),
        };
        let mut order = None;
        let mut texts = Vec::new();
        for (key, text) in histogram.keys.iter().zip(split(keys, &histogram.keys)) {
            if let Shown::Power(_) = key.shown {
                order = Some(Key::parse(&text));
            }
            let mut shown = String::new();
            value::plain(&mut shown, &show(&text, key.shown, label));
            texts.push(shown);
        }
        let entry = self.entries.entry(texts.join("  ")).or_default();
        entry.0 = order;
        entry.1.add(&tally);
    }
}

/// The texts of the keys of an entry, `{ NAME: TEXT, NAME: TEXT`.
fn split(text: &str, keys: &[HistKey]) -> Vec<String> {
    let name = |key: &HistKey| key.text.split('.').next().unwrap_or_default().to_string();
    let mut rest = text.strip_prefix("{ ").unwrap_or(text);
    let mut found = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        let own = rest
            .strip_prefix(&format!("{}:", name(key)))
            .unwrap_or(rest);
        let next = keys.get(at + 1).map(|next| format!(", {}:", name(next)));
        let end = next.and_then(|next| own.find(&next));
        let (own, behind) = match end {
            Some(end) => (&own[..end], &own[end + 2..]),
            None => (own, ""),
        };
        found.push(own.trim().to_string());
        rest = behind;
    }
    found
}

/// A key for people.
fn show(text: &str, shown: Shown, label: &str) -> String {
    match shown {
        Shown::Label => label.into(),
        Shown::AsIs => text.into(),
        Shown::Task => match bracketed(text) {
            Some((comm, pid)) => format!("{comm}-{pid}"),
            None => text.into(),
        },
        Shown::Call => match bracketed(text) {
            // The kernel has no name for it.
            Some(("unknown_syscall", number)) => format!("call {}", signed(number)),
            Some((name, _)) => name.strip_prefix("sys_").unwrap_or(name).into(),
            None => text.into(),
        },
        Shown::Symbol => match text.split_once("] ") {
            Some((_, name)) if !name.trim().is_empty() => name.trim().into(),
            _ => text.trim_matches(['[', ']']).into(),
        },
        Shown::Device => match text.parse::<u32>() {
            Ok(number) => device(number),
            Err(_) => text.into(),
        },
        Shown::Waiter => waiter(text),
        Shown::Power(kind) => match (Key::parse(text).power(), kind) {
            (Some(power), value::Kind::Duration) => format!("<= {}", short(power)),
            (Some(_), _) => format!("<= {}", Key::parse(text)),
            (None, _) => text.into(),
        },
    }
}

/// The two numbers of a disk.
pub fn device(number: u32) -> String {
    format!("{}:{}", number >> 20, number & 0xf_ffff)
}

/// A number that the kernel shows without its sign.
fn signed(number: &str) -> String {
    match number.parse::<u64>() {
        Ok(number) => i64::from_ne_bytes(number.to_ne_bytes()).to_string(),
        Err(_) => number.into(),
    }
}

/// `NAME [ NUMBER]`.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let (name, number) = text.strip_suffix(']')?.rsplit_once('[')?;
    Some((name.trim(), number.trim()))
}

/// A power of two of nanoseconds, with two digits.
fn short(power: i128) -> String {
    let power = u32::try_from(power).unwrap_or(u32::MAX);
    let nanoseconds = 1_u64.checked_shl(power).unwrap_or(u64::MAX);
    let (factor, unit) = match nanoseconds {
        0..1_000 => return format!("{nanoseconds} ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let tenths = nanoseconds / (factor / 10);
    match tenths < 100 {
        true => format!("{}.{} {unit}", tenths / 10, tenths % 10),
        false => format!("{} {unit}", tenths / 10),
    }
}

/// The first function of a stack that is none of locks themselves.
fn waiter(stack: &str) -> String {
    const LOCKS: [&str; 12] = [
        "contention",
        "mutex",
        "rwsem",
        "down_",
        "up_",
        "spin_lock",
        "spinlock",
        "slowpath",
        "rt_spin",
        "rtlock",
        "rwlock",
        "percpu",
    ];
    let functions = stack.lines().map(|line| {
        let line = line.trim();
        line.split('+').next().unwrap_or(line)
    });
    let mut functions = functions.filter(|name| !name.is_empty());
    let first = functions.clone().next().unwrap_or("?");
    let is_lock = |name: &str| {
        LOCKS.iter().any(|part| name.contains(part)) || name.starts_with("__traceiter")
    };
    functions
        .find(|name| !is_lock(name))
        .unwrap_or(first)
        .into()
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::subject;
    use super::super::view::View;
    use super::*;

    const TEXT: &str = "\
# event histogram
#
# trigger info: hist:keys=common_pid.execname:vals=hitcount,duration,duration.max,count:sort=hitcount:size=8192 [active]
#

{ common_pid: my } sh         [       110] } hitcount:         26  duration:      10578  duration (max):   8640  count:         52
{ common_pid: my } sh         [       110] } hitcount:          1  duration:      10000  duration (max):  10000  count:          1
{ common_pid: cat             [       112] } hitcount:          2  duration:         10  duration (max):      7  count:          3

Totals:
    Hits: 28
    Entries: 2
    Dropped: 3

# event histogram
#
# trigger info: hist:keys=duration.log2:vals=hitcount:sort=hitcount:size=8192 if ret < 0 [active]
#

{ duration: ~ 2^13                                                } hitcount:          5
{ duration: < 0                                                   } hitcount:          1

Totals:
    Hits: 6
    Entries: 2
    Dropped: 0
";

    fn counts(view: View) -> Counts {
        let subject = subject();
        let histogram = subject.histogram(&view).expect("a histogram");
        let values = Values {
            duration: subject.duration(),
            bytes: subject.bytes(),
        };
        let mut counts = Counts::default();
        counts.add(TEXT, &histogram, values, "vfs_read");
        counts
    }

    #[test]
    fn each_view_has_its_histogram() {
        let counts = counts(View::Processes);
        assert_eq!(counts.dropped, 3);
        let (_, tally) = counts.entries["my } sh-110"];
        let expected = Tally {
            count: 27,
            time: 20_578,
            longest: 10_000,
            bytes: 53,
        };
        assert_eq!(tally, expected);
        assert_eq!(counts.entries.len(), 2);
        assert!(super::tests::counts(View::Names).entries.is_empty());
    }

    #[test]
    fn powers_are_in_order() {
        let counts = counts(View::Bars("duration".into()));
        let (order, tally) = &counts.entries["<= 8.1 us"];
        assert_eq!((order.as_ref(), tally.count), (Some(&Key::Power(13)), 5));
        assert_eq!(counts.entries["< 0"].1.count, 1);
    }

    #[test]
    fn keys_are_for_people() {
        for (text, shown, expected) in [
            ("sys_read                      [  0]", Shown::Call, "read"),
            ("unknown_syscall [  999]", Shown::Call, "call 999"),
            (
                "unknown_syscall [18446744073709551615]",
                Shown::Call,
                "call -1",
            ),
            (
                "[ffffa0d4e759d068] vfs_read       ",
                Shown::Symbol,
                "vfs_read",
            ),
            ("[ffffa0d4e759d068]", Shown::Symbol, "ffffa0d4e759d068"),
            ("266338305", Shown::Device, "254:1"),
            ("-ENOENT", Shown::AsIs, "-ENOENT"),
            ("7", Shown::Label, "me"),
            (
                "\n  __mutex_lock.constprop.0+0x0/0x1\n  pipe_read+0x2/0x9\n  vfs_read+0x1/0x2",
                Shown::Waiter,
                "pipe_read",
            ),
        ] {
            assert_eq!(show(text.trim(), shown, "me"), expected);
        }
    }

    #[test]
    fn durations_of_bars_are_short() {
        let powers = [0, 9, 10, 16, 20, 30, 40];
        let shown = powers.map(short);
        let expected = [
            "1 ns", "512 ns", "1.0 us", "65 us", "1.0 ms", "1.0 s", "1099 s",
        ];
        assert_eq!(shown, expected);
    }
}
