// SPDX-License-Identifier: GPL-2.0

//! The model: what must hold of what a guest has said.
//!
//! It does not foretell what each operation does. It looks at windows between two moments at
//! which all readable state is known, and at the operations in between: what none of these could
//! have changed, and is the same at both ends, was so all the time.

use std::collections::BTreeSet;
use std::fmt;

use ferroprobe_engine::engine::code::arch::{Arch, Machine};
use ferroprobe_engine::engine::definition::ast::{Definition, Place, Request};
use ferroprobe_engine::engine::definition::parse;
use ferroprobe_engine::engine::language::lex::Command;

use crate::log::{Log, State, Trace, Window};

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// In a word.
    pub class: String,
    /// The line of the operation after which it was seen.
    pub line: usize,
    /// What was seen.
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {}): {}", self.class, self.line, self.text)
    }
}

/// Microseconds by which two readings of one clock may seem to differ.
const SKEW: u64 = 2_000;
/// Ticks of the clock `uptime` that a busy machine may be late.
const LATE_TICKS: u64 = 200;

/// Judges what was said of the operations `lines`.
pub fn judge(lines: &[String], log: &Log) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (line, text) in &log.faults {
        let (class, text) = text.split_once([' ', ':']).unwrap_or((text, ""));
        faults.push(Fault {
            class: class.to_string(),
            line: *line,
            text: text.trim().to_string(),
        });
    }
    for window in &log.windows {
        let mut judge = Judge {
            changes: Changes::between(lines, log, window.lines),
            window,
            remarks: &log.remarks,
            faults: &mut faults,
        };
        judge.all();
    }
    faults.sort_by_key(|fault| fault.line);
    faults
}

/// What the operations of a window may have changed.
struct Changes {
    /// Operations that do more than make time pass.
    texts: Vec<String>,
}

impl Changes {
    fn between(lines: &[String], log: &Log, (begin, end): (usize, usize)) -> Self {
        let mut texts = Vec::new();
        let mut is_running = false;
        for (n, line) in lines.iter().enumerate() {
            let number = n + 1;
            if number >= end {
                break;
            }
            // What was begun beside runs on until it is waited for.
            let is_beside = line.starts_with("@ ");
            if number < begin {
                if ["end", "kill", "wipe"].contains(&line.as_str()) {
                    texts.clear();
                }
                is_running = is_beside;
            }
            if number < begin && !is_running {
                continue;
            }
            let line = line.trim_start_matches("@ ").trim_start_matches("? ");
            let verb = line.split(' ').next().unwrap_or("");
            if [
                "begin", "end", "calls", "hammer", "pause", "nap", "sync", "kill", "fault",
            ]
            .contains(&verb)
            {
                continue;
            }
            let path = log.chosen.get(&number).map_or("", String::as_str);
            texts.push(format!("{line} {path}"));
        }
        Self { texts }
    }

    /// Whether any may have touched what has one of these in its name.
    fn touch(&self, names: &[&str]) -> bool {
        self.texts
            .iter()
            .any(|text| names.iter().any(|name| text.contains(name)))
    }

    /// Whether the module, or all that was made, went meanwhile.
    fn is_new(&self) -> bool {
        self.texts
            .iter()
            .any(|text| text.starts_with("reload") || text.starts_with("wipe"))
    }
}

/// Which of the calls that the guest makes are the hits of a definition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    Calls,
    Samples,
}

struct Judge<'a> {
    changes: Changes,
    window: &'a Window,
    remarks: &'a [String],
    faults: &'a mut Vec<Fault>,
}

/// Parses a line of `dynamic_events`; those of synthetic events have no place.
fn parsed(line: &str) -> Option<Definition> {
    let command = Command::new(line.as_bytes()).ok()?;
    // What is judged does not depend on the registers.
    let machine = Machine {
        arch: Arch::NATIVE,
        stack_words: 2048,
    };
    match parse::request(&command, machine) {
        Ok(Request::Create(definition)) => Some(definition),
        _ => None,
    }
}

/// The calls that hit a definition, if these are counted.
fn counted(definition: &Definition) -> Option<Counted> {
    let place = match &definition.place {
        Place::Symbol {
            name, offset: 0, ..
        } => String::from_utf8_lossy(name).into_owned(),
        Place::Functions(patterns) => patterns.to_string(),
        _ => return None,
    };
    match place.as_str() {
        "__x64_sys_setpriority" | "__arm64_sys_setpriority" => Some(Counted::Calls),
        "fpsample:fpsample_double" | "fpsample_double" | "fpsample_called_tp" => {
            Some(Counted::Samples)
        }
        _ => None,
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Judge<'_> {
    fn fault(&mut self, class: &str, text: String) {
        self.faults.push(Fault {
            class: class.to_string(),
            line: self.window.lines.1,
            text,
        });
    }

    fn all(&mut self) {
        if self.changes.is_new() {
            return;
        }
        let (before, after) = (&self.window.before, &self.window.after);
        let instances: BTreeSet<&str> = before.instances().into_iter().collect();
        for instance in after.instances() {
            if !instances.contains(instance) || self.changes.touch(&["rmdir "]) {
                continue;
            }
            self.off(instance);
            self.disabled(instance);
            self.whole(instance);
        }
        let definitions: Vec<&String> = before
            .definitions
            .iter()
            .filter(|line| after.definitions.contains(line))
            .collect();
        for line in definitions {
            if let Some(definition) = parsed(line) {
                self.counts(&definition);
            }
        }
    }

    /// The text of all triggers, also of those that were set meanwhile.
    fn triggers(&self) -> String {
        let (before, after) = (&self.window.before, &self.window.after);
        before.triggers() + &after.triggers() + &self.changes.texts.join("|")
    }

    /// While recording is off, nothing is recorded.
    fn off(&mut self, instance: &str) {
        let is_off = |state: &State| state.file(instance, "tracing_on") == "0";
        if !is_off(&self.window.before)
            || !is_off(&self.window.after)
            || self.changes.touch(&["tracing_on"])
            || self.triggers().contains("traceon")
        {
            return;
        }
        let Some(trace) = self.window.traces.get(instance) else {
            return;
        };
        let sum: u64 = trace.records.values().map(|records| records.count).sum();
        if sum > 0 {
            let names: Vec<&String> = trace.records.keys().collect();
            let text = format!("{sum} records in {instance} while tracing_on is 0: {names:?}");
            self.fault("recorded-while-off", text);
        }
    }

    /// Nor of an event that is disabled.
    fn disabled(&mut self, instance: &str) {
        if self.changes.touch(&["enable", "set_event", "mkdir"])
            || self.triggers().contains("enable_event")
        {
            return;
        }
        let Some(trace) = self.window.traces.get(instance) else {
            return;
        };
        for line in &self.window.after.definitions.clone() {
            let Some(definition) = parsed(line) else {
                continue;
            };
            let (group, event) = (text(&definition.group), text(&definition.event));
            let file = format!("{group}/{event}/enable");
            let is_off = |state: &State| !state.file(instance, &file).starts_with('1');
            if !is_off(&self.window.before) || !is_off(&self.window.after) {
                continue;
            }
            if let Some(records) = trace.records.get(&event) {
                let text = format!(
                    "{} records of {group}/{event} in {instance}, where it is disabled: {line}",
                    records.count
                );
                self.fault("recorded-while-disabled", text);
            }
        }
    }

    /// Records are in order, and shown as what they were when they were made.
    fn whole(&mut self, instance: &str) {
        for traces in [&self.window.traces, &self.window.snapshots] {
            if let Some(trace) = traces.get(instance) {
                self.shown(instance, trace);
            }
        }
    }

    fn shown(&mut self, instance: &str, trace: &Trace) {
        let remark = |what: &str| {
            let mut all = self.remarks.iter();
            all.find(|remark| remark.contains(what)).cloned()
        };
        if trace.undecoded > 0 {
            let text = format!(
                "{} records in {instance} are shown by another definition: {}",
                trace.undecoded,
                remark("not decoded").unwrap_or_default()
            );
            self.fault("decoded", text);
        }
        if trace.disordered > 0 {
            let text = format!(
                "{} records in {instance} are older than the one before: {}",
                trace.disordered,
                remark("out of order").unwrap_or_default()
            );
            self.fault("order", text);
        }
    }

    /// What was made is what was counted.
    fn counts(&mut self, definition: &Definition) {
        let (begin, end) = (self.window.begin, self.window.end);
        let made = match counted(definition) {
            Some(Counted::Calls) => end.calls - begin.calls,
            Some(Counted::Samples) => end.samples - begin.samples,
            None => return,
        };
        let (group, event) = (text(&definition.group), text(&definition.event));
        let name = format!("{group}/{event}");
        // Defined anew, it counts anew.
        if self
            .changes
            .touch(&[&format!("{group}/{event}"), "sample ", "ftrace_enabled"])
        {
            return;
        }
        let stats = |state: &State| match state.stats.get(&name).map(Vec::as_slice) {
            Some([row]) => Some(row.clone()),
            _ => None,
        };
        let (Some(before), Some(after)) = (stats(&self.window.before), stats(&self.window.after))
        else {
            return;
        };
        let mut grown = [0; 7];
        for (n, grown) in grown.iter_mut().enumerate() {
            match after.counts[n].checked_sub(before.counts[n]) {
                Some(difference) => *grown = difference,
                None => return,
            }
        }
        let [hits, recorded, filtered, off, lost, large, missed] = grown;
        if hits != recorded + filtered + off + lost + large {
            self.fault("sum", format!("of {name}, {hits} hits ended as {grown:?}"));
        }
        let is_known = before.state == "enabled"
            && after.state == "enabled"
            && !self
                .changes
                .touch(&["enable", "set_event", "hit_limit", "private_events"])
            && !self.triggers().contains("able_event");
        let instances = self.window.after.instances();
        let is_enabled = |state: &State, instance: &str| {
            let file = format!("{name}/enable");
            state.file(instance, &file).starts_with('1')
        };
        let where_enabled: Vec<&str> = instances
            .iter()
            .copied()
            .filter(|instance| {
                is_enabled(&self.window.before, instance)
                    && is_enabled(&self.window.after, instance)
            })
            .collect();
        let is_armed = is_known && !where_enabled.is_empty();
        if hits + missed > made || (is_armed && hits + missed != made) {
            let text = format!("{made} calls are {hits} hits and {missed} misses of {name}");
            self.fault("count", text);
        }
        self.records(&name, &where_enabled, made, &grown, is_armed);
        if is_armed && self.changes.texts.is_empty() {
            self.histograms(&name, made - missed);
        }
        for (instance, trace) in &self.window.traces.clone() {
            let Some(records) = trace.records.get(&event) else {
                continue;
            };
            if records.count > made {
                let text = format!("{made} calls are {} records of {name}", records.count);
                self.fault("count", text);
            }
            self.times(instance, &name, *records);
        }
    }

    /// Where nothing keeps a hit from being recorded, each is there.
    fn records(
        &mut self,
        name: &str,
        where_enabled: &[&str],
        made: u64,
        &[_, _, _, _, lost, large, missed]: &[u64; 7],
        is_armed: bool,
    ) {
        if !is_armed || !self.changes.texts.is_empty() {
            return;
        }
        let (before, after) = (&self.window.before, &self.window.after);
        let event = name.rsplit('/').next().unwrap_or(name);
        for &instance in where_enabled {
            let says = |file: &str| {
                let text = after.file(instance, file);
                (text == before.file(instance, file)).then_some(text)
            };
            let options = says("trace_options").unwrap_or("");
            let is_plain = options.split('|').all(|option| {
                ![
                    "raw",
                    "hex",
                    "bin",
                    "fields",
                    "verbose",
                    "latency-format",
                    "nocontext-info",
                    "noirq-info",
                    "nooverwrite",
                    "stacktrace",
                    "userstacktrace",
                    "pause-on-trace",
                ]
                .contains(&option)
            });
            let is_clean = says("tracing_on") == Some("1")
                && says("tracing_cpumask") == Some("3")
                && says("set_event_pid") == Some("")
                && says("set_event_notrace_pid") == Some("")
                && says(&format!("{name}/filter")) == Some("")
                && is_plain
                && !self.triggers().contains("traceo")
                && !self.triggers().contains("snapshot");
            let Some(trace) = self.window.traces.get(instance) else {
                continue;
            };
            if !is_clean || trace.missing > 0 || trace.lost > 0 || trace.unread > 0 {
                continue;
            }
            let count = trace.records.get(event).map_or(0, |records| records.count);
            // What one instance has lost another one may have recorded.
            if count + missed + lost + large < made || count + missed > made {
                let text = format!(
                    "of {made} calls there are {count} records of {name} in {instance}, \
                     {missed} missed, {lost} lost, {large} too large"
                );
                self.fault("records", text);
                return;
            }
        }
    }

    /// A histogram without a filter counts each hit that is served.
    fn histograms(&mut self, name: &str, served: u64) {
        let (before, after) = (&self.window.before, &self.window.after);
        for (key, &(hits, dropped)) in &after.histograms {
            let file = format!("{name}/trigger");
            let says = |state: &State| state.file(&key.0, &file).to_string();
            let triggers = says(after);
            let &(hits_before, dropped_before) = match before.histograms.get(key) {
                Some(counts) if key.1 == name && says(before) == triggers => counts,
                _ => continue,
            };
            let is_plain = !triggers.contains(['|']) && !triggers.contains(" if ");
            let counts_all = triggers.ends_with("[active]")
                && after.file(&key.0, "tracing_on") == "1"
                && after.file(&key.0, "set_event_pid").is_empty()
                && after.file(&key.0, "set_event_notrace_pid").is_empty()
                && !self.triggers().contains("able_hist");
            if !is_plain || !counts_all || dropped != dropped_before {
                continue;
            }
            let counted = hits.saturating_sub(hits_before);
            if counted != served {
                let text = format!("{served} hits of {name} are {counted} in {triggers}");
                self.faults.push(Fault {
                    class: "histogram".to_string(),
                    line: self.window.lines.1,
                    text,
                });
            }
        }
    }

    /// The time of a record lies between the clock's readings before and after.
    fn times(&mut self, instance: &str, name: &str, records: crate::log::Records) {
        let clock = |state: &State| {
            let text = state.file(instance, "trace_clock");
            let (_, behind) = text.split_once('[')?;
            Some(behind.split_once(']')?.0.to_string())
        };
        let (before, after) = (clock(&self.window.before), clock(&self.window.after));
        if before != after || self.changes.touch(&["trace_clock"]) {
            return;
        }
        let (begin, end) = (self.window.begin, self.window.end);
        let (first, last) = match before.as_deref() {
            Some("mono") => (begin.mono.saturating_sub(SKEW), end.mono + SKEW),
            Some("uptime") => (
                begin.ticks.saturating_sub(LATE_TICKS),
                end.ticks + LATE_TICKS,
            ),
            _ => return,
        };
        if records.first < first || records.last > last {
            let text = format!(
                "records of {name} in {instance} have the times {} to {}, by its clock {}; \
                 that said {first} before and {last} after",
                records.first,
                records.last,
                before.unwrap_or_default()
            );
            self.fault("time", text);
        }
    }
}
