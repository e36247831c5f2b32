// SPDX-License-Identifier: GPL-2.0

//! What a guest has said: see the head of `tests/selftests/progs/fprun.c`.

use std::collections::BTreeMap;

/// What the files say at one time.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// What a file of an instance says, by instance and file; what says nothing is left out.
    pub files: BTreeMap<(String, String), String>,
    /// The definitions, as `dynamic_events` shows them.
    pub definitions: Vec<String>,
    /// What the only histogram of an event has counted, and what it had no room for.
    pub histograms: BTreeMap<(String, String), (u64, u64)>,
    /// The rows of `kprobe_stats` behind the event: its place, the counters, its state.
    pub stats: BTreeMap<String, Vec<Stats>>,
}

/// A row of `kprobe_stats`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// The location.
    pub place: String,
    /// hits, recorded, filtered, off, lost, too large, missed.
    pub counts: [u64; 7],
    /// Such as "enabled".
    pub state: String,
}

/// Calls that had been made, and the clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// Calls of setpriority.
    pub calls: u64,
    /// Calls of the function of the sample module.
    pub samples: u64,
    /// CLOCK_MONOTONIC in microseconds.
    pub mono: u64,
    /// The same in ticks of ten milliseconds.
    pub ticks: u64,
}

/// The records of one name.
#[derive(Clone, Copy, Debug)]
pub struct Records {
    /// How many there are.
    pub count: u64,
    /// The time of the first one.
    pub first: u64,
    /// The latest time.
    pub last: u64,
}

/// What was read of the records of an instance.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Records that the text marks as lost.
    pub lost: u64,
    /// Records that are older than the one before.
    pub disordered: u64,
    /// Records whose own number is not that of the definition by which they are shown.
    pub undecoded: u64,
    /// Lines that are no records in the usual form.
    pub unread: u64,
    /// Records that were overwritten or found no room.
    pub missing: u64,
    /// The records by name.
    pub records: BTreeMap<String, Records>,
}

/// What was seen from "begin" to "end".
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// The lines of the operations.
    pub lines: (usize, usize),
    /// At the beginning.
    pub before: State,
    /// At the end.
    pub after: State,
    /// At the beginning.
    pub begin: Moment,
    /// At the end, when all calls had returned.
    pub end: Moment,
    /// The records by instance.
    pub traces: BTreeMap<String, Trace>,
    /// The same of snapshots, which are older.
    pub snapshots: BTreeMap<String, Trace>,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Log {
    /// The results, by line.
    pub results: BTreeMap<usize, i64>,
    /// The files that were chosen by number, by line.
    pub chosen: BTreeMap<usize, String>,
    /// The windows, in order.
    pub windows: Vec<Window>,
    /// The faults that the guest has seen itself, with their line.
    pub faults: Vec<(usize, String)>,
    /// Remarks, such as a record of those that are not decoded.
    pub remarks: Vec<String>,
    /// The last line that was begun.
    pub last: usize,
    /// Whether all was done.
    pub is_done: bool,
}

impl Log {
    /// Parses what a guest has said; what is cut or unknown is left out.
    pub fn parse(text: &str) -> Self {
        let mut log = Self::default();
        let mut window: Option<Window> = None;
        let mut state = State::default();
        let mut is_behind = false;
        for line in text.lines() {
            let Some((letter, rest)) = line.split_once(' ') else {
                continue;
            };
            match letter {
                ">" => match rest.parse() {
                    Ok(number) => log.last = number,
                    Err(_) => log.last += 1,
                },
                "=" => {
                    let mut words = rest.split_whitespace().map(str::parse::<i64>);
                    if let (Some(Ok(number)), Some(Ok(result))) = (words.next(), words.next()) {
                        log.results.insert(number as usize, result);
                    }
                }
                "!" => log.faults.push((log.last, rest.to_string())),
                "#" => log.remark(rest),
                "done" => log.is_done = true,
                "B" => {
                    window = Some(Window {
                        lines: (log.last, log.last),
                        before: std::mem::take(&mut state),
                        begin: moment(rest),
                        ..Window::default()
                    });
                    is_behind = false;
                }
                "E" => {
                    state = State::default();
                    is_behind = true;
                    if let Some(window) = &mut window {
                        window.end = moment(rest);
                        window.lines.1 = log.last;
                    }
                }
                "Z" => {
                    if let (Some(mut window), true) = (window.take(), is_behind) {
                        window.after = std::mem::take(&mut state);
                        log.windows.push(window);
                    }
                    state = State::default();
                }
                "T" | "R" | "L" => {
                    if let Some(window) = &mut window {
                        window.note(letter, rest);
                    }
                }
                "S" | "D" | "K" | "H" => state.note(letter, rest),
                _ => {}
            }
        }
        log
    }

    fn remark(&mut self, text: &str) {
        if let Some(path) = text.strip_prefix("chosen ") {
            self.chosen.insert(self.last, path.to_string());
        }
        self.remarks.push(format!("line {}: {text}", self.last));
    }
}

fn numbers(text: &str) -> Vec<u64> {
    text.split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect()
}

fn moment(text: &str) -> Moment {
    match numbers(text)[..] {
        [calls, samples, mono, _, ticks] => Moment {
            calls,
            samples,
            mono,
            ticks,
        },
        _ => Moment::default(),
    }
}

impl State {
    fn note(&mut self, letter: &str, rest: &str) {
        match letter {
            "S" => {
                let mut words = rest.splitn(3, ' ');
                if let (Some(instance), Some(file)) = (words.next(), words.next()) {
                    let key = (instance.to_string(), file.to_string());
                    self.files
                        .insert(key, words.next().unwrap_or("").to_string());
                }
            }
            "D" => self.definitions.push(rest.to_string()),
            "H" => {
                let mut words = rest.split_whitespace();
                if let (Some(instance), Some(event), &[hits, dropped]) =
                    (words.next(), words.next(), &numbers(rest)[..])
                {
                    let key = (instance.to_string(), event.to_string());
                    self.histograms.insert(key, (hits, dropped));
                }
            }
            _ => {
                let words: Vec<&str> = rest.split_whitespace().collect();
                let counts: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
                // A place of several words has no numbers in it that stand alone.
                let (Ok(counts), [event, place, .., state]) = (counts.try_into(), &words[..])
                else {
                    return;
                };
                self.stats
                    .entry((*event).to_string())
                    .or_default()
                    .push(Stats {
                        place: (*place).to_string(),
                        counts,
                        state: (*state).to_string(),
                    });
            }
        }
    }

    /// Returns what a file of an instance says; nothing if it says what files of events mostly
    /// say.
    pub fn file(&self, instance: &str, file: &str) -> &str {
        self.files
            .get(&(instance.to_string(), file.to_string()))
            .map_or("", String::as_str)
            .trim_end_matches('|')
    }

    /// Returns the instances.
    pub fn instances(&self) -> Vec<&str> {
        let mut instances: Vec<&str> = self.files.keys().map(|(of, _)| of.as_str()).collect();
        instances.dedup();
        instances
    }

    /// Returns the text of all triggers.
    pub fn triggers(&self) -> String {
        self.files
            .iter()
            .filter(|((_, file), _)| file.ends_with("/trigger"))
            .map(|(_, text)| format!("{text}|"))
            .collect()
    }
}

impl Window {
    fn note(&mut self, letter: &str, rest: &str) {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let numbers = numbers(rest);
        let Some(&instance) = words.first() else {
            return;
        };
        let traces = match words.get(1) {
            Some(&"snapshot") => &mut self.snapshots,
            _ => &mut self.traces,
        };
        let trace = traces.entry(instance.to_string()).or_default();
        match (letter, &words[..], &numbers[..]) {
            ("T", _, &[lost, disordered, undecoded, unread]) => {
                (trace.lost, trace.disordered) = (lost, disordered);
                (trace.undecoded, trace.unread) = (undecoded, unread);
            }
            ("L", _, &[overrun, dropped]) => trace.missing = overrun + dropped,
            ("R", [_, _, name, ..], &[count, first, last]) => {
                let records = Records { count, first, last };
                trace.records.insert((*name).to_string(), records);
            }
            _ => {}
        }
    }
}
