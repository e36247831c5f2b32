// SPDX-License-Identifier: GPL-2.0

//! Has the kernel count and record what the views need, and reads it.
//!
//! Counting is done by histograms, which are set when their view is first shown. Only the slowest
//! hits are recorded: the filter of their events is raised to the duration that the least of them
//! has, so that soon few hits are recorded, however many there are.

use super::board::Board;
use super::counts::{self, Counts, Values};
use super::slowest::Hit;
use super::source::{NameKey, Source};
use super::view::{Subject, View};
use crate::error::Result;
use crate::stream::Event;
use crate::trace::armed::Armed;
use crate::trace::follow::{self, Item};
use crate::trace::format::Format;
use crate::trace::plan::{Plan, Planned};
use crate::trace::{setup, value};
use serde_json::Value;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How often more is read before the user is looked after.
const FILLS: u32 = 16;

/// How often the filter of the slowest hits is raised.
const RAISE: Duration = Duration::from_millis(100);

/// What counts.
pub struct Kernel<'a> {
    armed: &'a mut Armed,
    plan: &'a Plan,
    /// The events that are counted.
    pub subjects: Vec<Subject>,
    /// Since when the views have been counted that have been shown.
    since: Vec<(View, Instant)>,
    /// The names of system calls, by their numbers.
    calls: HashMap<i64, String>,
    /// The duration above which hits are recorded, and since when.
    threshold: (u64, Instant),
}

/// The events of `plan` that `source` counts.
fn subjects(source: &Source, plan: &Plan, armed: &Armed) -> Vec<Subject> {
    let events = plan.events.iter().zip(&armed.formats);
    let subject = |(event, format): (&Planned, &Format)| {
        let filter = event.definition.filter(|field| format.is_text(field));
        Subject {
            event: event.event(),
            label: event.label.clone(),
            filter: filter.map(|filter| filter.text().to_string()),
            format: format.clone(),
            meanings: event.meanings(),
            name: source.name,
            process: source.process,
        }
    };
    events.skip(source.helpers).map(subject).collect()
}

impl<'a> Kernel<'a> {
    /// Counts nothing yet.
    pub fn new(source: &Source, plan: &'a Plan, armed: &'a mut Armed) -> Self {
        Self {
            subjects: subjects(source, plan, armed),
            armed,
            plan,
            since: Vec::new(),
            calls: HashMap::new(),
            threshold: (0, Instant::now()),
        }
    }

    /// What has been armed.
    pub fn armed(&mut self) -> &mut Armed {
        self.armed
    }

    /// Counts for a view from now on. Returns whether that is new.
    pub fn show(&mut self, view: &View) -> Result<bool> {
        if self.since.iter().any(|(shown, _)| shown == view) {
            return Ok(false);
        }
        if *view == View::Slowest {
            // It knows the names of system calls.
            self.show(&View::Names)?;
            self.record()?;
        }
        for subject in &self.subjects {
            if let Some(histogram) = subject.histogram(view) {
                let file = format!("events/{}/trigger", subject.event);
                self.armed.files.set(file, &histogram.trigger)?;
            }
        }
        self.since.push((view.clone(), Instant::now()));
        Ok(true)
    }

    /// Records the hits of events that have a duration.
    fn record(&self) -> Result<()> {
        for subject in self.subjects.iter().filter(|s| s.duration().is_some()) {
            let file = format!("events/{}/enable", subject.event);
            self.armed.files.set(file, "1")?;
        }
        Ok(())
    }

    /// Reads what a view of the board has counted.
    pub fn read(&mut self, number: usize, board: &mut Board) -> Result<()> {
        board.missing = self.missing();
        let Some(view) = board.views.get(number).cloned() else {
            return Ok(());
        };
        let counted = match &view {
            View::Slowest => &View::Names,
            view => view,
        };
        let mut since = self.since.iter();
        let since = since.find_map(|(shown, since)| (shown == counted).then_some(*since));
        let Some(since) = since else {
            return Ok(());
        };
        let mut all = Counts::default();
        for subject in &self.subjects {
            let Some(histogram) = subject.histogram(counted) else {
                continue;
            };
            let text = self
                .armed
                .files
                .read(format!("events/{}/hist", subject.event))?;
            if let Some(NameKey::Call(field)) = subject.name {
                learn(&text, field, &mut self.calls);
            }
            let label = subject.label.as_deref().unwrap_or_default();
            all.add(&text, &histogram, values(subject), label);
        }
        board.slowest.name(&self.calls);
        if view != View::Slowest {
            board.update(number, since.elapsed(), all);
        }
        Ok(())
    }

    /// Takes the slow hits that can be read now. Returns whether there may be more.
    pub fn take(&mut self, board: &mut Board) -> Result<bool> {
        for _ in 0..FILLS {
            if !self.armed.reader.fill()? {
                self.raise(board)?;
                return Ok(false);
            }
            while let Some(line) = self.armed.reader.line() {
                if let Ok(Item::Event(event)) = follow::item(&line) {
                    if let Some(hit) = self.hit(&event) {
                        board.slowest.offer(hit);
                    }
                }
            }
            self.raise(board)?;
        }
        Ok(true)
    }

    /// Tells the kernel to record only hits that are slower than the slowest ones.
    fn raise(&mut self, board: &Board) -> Result<()> {
        let threshold = board.slowest.threshold();
        if threshold <= self.threshold.0 || self.threshold.1.elapsed() < RAISE {
            return Ok(());
        }
        for subject in &self.subjects {
            let Some(duration) = subject.duration() else {
                continue;
            };
            let slow = format!("{duration} > {threshold}");
            let filter = match &subject.filter {
                Some(filter) => format!("({filter}) && {slow}"),
                None => slow,
            };
            let file = format!("events/{}/filter", subject.event);
            self.armed.files.set(file, &filter)?;
        }
        self.threshold = (threshold, Instant::now());
        Ok(())
    }

    /// A record for people.
    fn hit(&self, event: &Event) -> Option<Hit> {
        let name = format!("{}/{}", event.group, event.name);
        let mut subjects = self.subjects.iter();
        let subject = subjects.find(|subject| subject.event == name)?;
        let duration = subject.duration()?;
        let number = |field: &str| event.arguments.get(field).and_then(Value::as_i64);
        let plain = |field: &str| {
            let kind = subject.kind(field);
            match (field, number(field).and_then(|n| u32::try_from(n).ok())) {
                ("dev", Some(number)) => counts::device(number),
                _ => {
                    let value = event.arguments.get(field).unwrap_or(&Value::Null);
                    value::text(
                        value,
                        kind,
                        event.truncated.iter().any(|name| name == field),
                    )
                    .0
                }
            }
        };
        let place = event.place.as_deref().unwrap_or(&event.name);
        let function = place.split('+').next().unwrap_or(place);
        let call = match subject.name {
            Some(NameKey::Call(field)) => number(field),
            _ => None,
        };
        let name = match (subject.name, &subject.label) {
            // It gets its name when that is known.
            (Some(NameKey::Call(field)), _) => format!("call {}", plain(field)),
            (Some(NameKey::Field(field)), _) => plain(field),
            (_, Some(label)) => label.clone(),
            (_, None) => function.into(),
        };
        let named = match subject.name {
            Some(NameKey::Call(field) | NameKey::Field(field)) => Some(field),
            _ => None,
        };
        let others = event.arguments.keys().map(String::as_str);
        let is_other = |field: &&str| {
            *field != duration && named != Some(*field) && subject.process != Some(*field)
        };
        let values = others
            .filter(is_other)
            .map(|field| format!("{field}={}", plain(field)));
        let mut task = String::new();
        value::plain(&mut task, &event.comm);
        Some(Hit {
            duration: event.arguments.get(duration)?.as_u64()?,
            time: event.time.saturating_sub(self.armed.begin.unwrap_or(0)),
            task: match subject.process {
                Some(field) => plain(field),
                None => format!("{task}-{}", event.pid),
            },
            name,
            call,
            values: values.collect::<Vec<_>>().join(" "),
        })
    }

    /// What was neither counted nor recorded.
    fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        let records = setup::lost(&self.armed.files);
        if records > 0 {
            missing.push(format!("{records} records"));
        }
        let pairs = self.armed.directory().read("pairs").unwrap_or_default();
        let hits = self.armed.hits(self.plan);
        let (mut missed, mut begun) = (0, 0);
        for (event, hits) in self.plan.events.iter().zip(hits) {
            // Others have hits of what is there for all.
            if !event.exists {
                missed += hits.missed;
                begun += lost_pairs(&pairs, &event.event());
            }
            if hits.is_over_limit {
                missing.push(format!(
                    "all of {}, which hit_limit has disabled",
                    event.title()
                ));
            }
        }
        if missed > 0 {
            missing.push(format!("{missed} hits"));
        }
        if begun > 0 {
            missing.push(format!("{begun} beginnings of pairs"));
        }
        missing
    }
}

/// The fields of an event that are added up.
fn values(subject: &Subject) -> Values<'_> {
    Values {
        duration: subject.duration(),
        bytes: subject.bytes(),
    }
}

/// Learns the names of system calls from the keys of a histogram.
fn learn(text: &str, field: &str, calls: &mut HashMap<i64, String>) {
    let begin = format!("{{ {field}: ");
    for line in text.lines() {
        let key = line
            .strip_prefix(&begin)
            .and_then(|rest| rest.split_once(']'));
        let Some((name, number)) = key.and_then(|(key, _)| key.split_once('[')) else {
            continue;
        };
        let name = name.trim().strip_prefix("sys_");
        if let (Some(name), Ok(number)) = (name, number.trim().parse()) {
            calls.insert(number, name.into());
        }
    }
}

/// How many beginnings of a pair found no room, of the text of `pairs`.
fn lost_pairs(pairs: &str, event: &str) -> u64 {
    let mut lines = pairs.lines().map(str::split_whitespace);
    let line = lines.find_map(|mut words| (words.next() == Some(event)).then_some(words));
    let lost = line.and_then(|mut words| words.nth(4));
    lost.and_then(|lost| lost.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_calls_are_learnt() {
        let text = "{ id: sys_read                      [  0] } hitcount: 3\n\
                    { id: unknown_syscall [ 999] } hitcount: 1\n{ id: x } hitcount: 1\n";
        let mut calls = HashMap::new();
        learn(text, "id", &mut calls);
        assert_eq!(calls, HashMap::from([(0, "read".into())]));
    }

    #[test]
    fn beginnings_that_found_no_room_are_known() {
        let pairs = "# pair begun ended superseded expired lost open without-beginning\n\
                     g/call 50 24 4 1 7 21 68\n\t595 ns ptr=0\ng/other 1 1 0 0 2 0 0\n";
        assert_eq!(lost_pairs(pairs, "g/call"), 7);
        assert_eq!(lost_pairs(pairs, "g/other"), 2);
        assert_eq!(lost_pairs(pairs, "g/none"), 0);
    }
}
