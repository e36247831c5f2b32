// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe tree`: what each thread did, as a tree of calls.
//!
//! An event with a duration is a call, which ends at its time. Calls of a thread are one in the
//! other or one behind the other: so what ended after a call began, and before it ended, is inside
//! of it. Any other event is a moment inside of the calls around it.

use crate::error::Result;
use crate::refuse;
use crate::stream::{self, Event, Stream};
use serde_json::Value;
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// What is shown.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The argument that is how many nanoseconds a call took.
    pub duration: &'a str,
    /// Only calls of this function, or events of this name, with what is inside of them.
    pub below: Option<&'a str>,
    /// How many levels, if not all.
    pub levels: Option<usize>,
    /// Only what has an event that failed inside of it, or failed itself: one with this argument
    /// between -4095 and -1.
    pub failed: Option<&'a str>,
}

/// Most levels. A kernel stack has no room for that many calls; but what a pair of events lasts may
/// overlap with the next without end, and then is not one in the other.
const MOST_LEVELS: usize = 256;

/// A call, or a moment.
#[derive(Debug)]
pub struct Node<E> {
    /// Its event.
    pub event: E,
    /// When it began.
    pub begin: u64,
    /// How long it took, if it is a call.
    pub took: Option<u64>,
    /// What is inside of it, in the order in which it ended.
    pub inside: Vec<Node<E>>,
    /// How many levels it has, itself among them.
    levels: usize,
}

impl<E: Borrow<Event>> Node<E> {
    fn event(&self) -> &Event {
        self.event.borrow()
    }

    /// The function, or the event if it is none of a function.
    pub fn name(&self) -> &str {
        self.event().function()
    }

    /// Whether more of it is before `time` than behind it.
    fn is_mostly_before(&self, time: u64) -> bool {
        time.saturating_sub(self.begin) > self.event().time.saturating_sub(time)
    }

    fn has_failed(&self, argument: &str) -> bool {
        let value = self.event().arguments.get(argument);
        let value = value.and_then(Value::as_i64);
        value.is_some_and(|value| (-4095..0).contains(&value))
            || self.inside.iter().any(|node| node.has_failed(argument))
    }
}

/// Text that programs may have chosen, of which nothing changes lines or moves a terminal's cursor.
struct Plain<'a>(&'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                // These change the direction of what follows.
                '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                    write!(f, "{}", c.escape_default())?;
                }
                c if c.is_control() => write!(f, "{}", c.escape_default())?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// What has ended in a thread, in the order of the ends.
#[derive(Debug)]
pub struct Ended<E> {
    /// Up to the last node that has as many levels as there may be: no call has room for that, and
    /// none reaches behind it.
    closed: Vec<Node<E>>,
    /// Behind it.
    open: Vec<Node<E>>,
    /// For each of `open` the earliest begin of it and those before it, so that no call looks at
    /// nodes that it does not take.
    earliest: Vec<u64>,
}

impl<E> Default for Ended<E> {
    fn default() -> Self {
        Self {
            closed: Vec::new(),
            open: Vec::new(),
            earliest: Vec::new(),
        }
    }
}

impl<E: Borrow<Event>> Ended<E> {
    /// Adds an event: a call, with what is inside of it, if its argument `duration` is how long it
    /// took, or else a moment. Returns whether it is a call.
    pub fn add(&mut self, event: E, duration: &str) -> bool {
        let about: &Event = event.borrow();
        let took = about.duration(duration);
        let begin = about.time.saturating_sub(took.unwrap_or(0));
        let mut inside = match took {
            Some(_) => self.inside(begin),
            None => Vec::new(),
        };
        // A record is made a moment after its time was taken, and another one sooner: no call begins
        // before its caller.
        for node in &mut inside {
            node.begin = node.begin.max(begin);
        }
        let levels = inside.iter().map(|node| node.levels).max();
        self.push(Node {
            event,
            begin,
            took,
            inside,
            levels: levels.unwrap_or(0) + 1,
        });
        took.is_some()
    }

    /// What was added last, with what is inside of it.
    pub fn last_mut(&mut self) -> Option<&mut Node<E>> {
        self.open.last_mut().or(self.closed.last_mut())
    }

    /// Forgets what has ended before `time`.
    pub fn forget(&mut self, time: u64) {
        let closed = self.closed.partition_point(|node| node.event().time < time);
        self.closed.drain(..closed);
        let open = self.open.partition_point(|node| node.event().time < time);
        self.open.drain(..open);
        let mut earliest = u64::MAX;
        self.earliest.clear();
        for node in &self.open {
            earliest = earliest.min(node.begin);
            self.earliest.push(earliest);
        }
    }

    fn push(&mut self, node: Node<E>) {
        if node.levels < MOST_LEVELS {
            let before = self.earliest.last().copied().unwrap_or(u64::MAX);
            self.earliest.push(before.min(node.begin));
            return self.open.push(node);
        }
        self.closed.append(&mut self.open);
        self.earliest.clear();
        self.closed.push(node);
    }

    /// Takes out what is inside of a call that began at `begin` and ends now.
    fn inside(&mut self, begin: u64) -> Vec<Node<E>> {
        let overlaps = |node: &Node<E>| node.begin < begin;
        let first = match self.closed.last() {
            // Something in it has too many levels: then only what is behind the last that began
            // before the call, and so overlaps with it.
            Some(last) if last.event().time > begin => match self.earliest.last() {
                Some(earliest) if *earliest < begin => {
                    let last = self.open.iter().rposition(overlaps);
                    last.map_or(0, |last| last + 1)
                }
                _ if overlaps(last) => 0,
                _ => return Vec::new(),
            },
            _ => {
                let first = self.open.partition_point(|node| node.event().time <= begin);
                let rest = self.open.get(first..).unwrap_or_default();
                let before = rest.iter().take_while(|node| node.is_mostly_before(begin));
                first + before.count()
            }
        };
        self.earliest.truncate(first);
        self.open.split_off(first)
    }

    /// All, in the order in which they ended.
    pub fn nodes(&self) -> impl Iterator<Item = &Node<E>> {
        self.closed.iter().chain(&self.open)
    }
}

/// Draws the trees of all threads, in the order in which they begin.
///
/// # Errors
///
/// No event has a duration; there is nothing of what is wanted.
pub fn text(stream: &Stream, wanted: &Wanted<'_>) -> Result<String> {
    let mut threads: BTreeMap<u32, Ended<&Event>> = BTreeMap::new();
    let mut calls = 0;
    for event in &stream.events {
        let ended = threads.entry(event.track()).or_default();
        calls += usize::from(ended.add(event, wanted.duration));
    }
    if calls == 0 {
        refuse!(
            "no event has an argument {}: define it, as in f:x vfs_*%return $retval duration=$duration",
            wanted.duration
        );
    }
    let mut roots = Vec::new();
    for node in threads.values().flat_map(|ended| ended.nodes()) {
        match wanted.below {
            None => roots.push(node),
            Some(name) => find(node, name, &mut roots),
        }
    }
    if let Some(argument) = wanted.failed {
        roots.retain(|node| node.has_failed(argument));
    }
    roots.sort_by_key(|node| node.begin);
    let shown = |_: &Event, name: &str, value: &Value| {
        let is_result = name == wanted.failed.unwrap_or("ret");
        Some(address(value, is_result).unwrap_or_else(|| stream::text(value)))
    };
    let mut out = String::new();
    let mut thread = None;
    for root in roots {
        let event = root.event;
        if thread.replace(event.track()) != Some(event.track()) {
            heading(event, &mut out);
        }
        draw(root, wanted, &shown, &mut out);
    }
    if out.is_empty() {
        refuse!("there is no such call in it");
    }
    for loss in &stream.losses {
        let (count, cpu, time) = (loss.count, loss.cpu, seconds(loss.time));
        let _ = writeln!(out, "{time} {count} events of CPU {cpu} are lost");
    }
    Ok(out)
}

/// Adds the outermost calls of `name`.
fn find<'b, E: Borrow<Event>>(node: &'b Node<E>, name: &str, found: &mut Vec<&'b Node<E>>) {
    match node.name() == name || node.event().name == name {
        true => found.push(node),
        false => node.inside.iter().for_each(|node| find(node, name, found)),
    }
}

/// Writes the line above the trees of a thread.
pub fn heading(event: &Event, out: &mut String) {
    // Writing to a string does not fail.
    let _ = write!(out, "{}-{}", Plain(&event.comm), event.pid);
    if let Some(cpu) = event.idle_cpu() {
        let _ = write!(out, " [{cpu:03}]");
    }
    out.push('\n');
}

/// How an argument of an event is shown, by its name and its value; `None` if it is not.
pub type Shown<'a> = &'a dyn Fn(&Event, &str, &Value) -> Option<String>;

/// Draws a call and what is inside of it.
pub fn draw<E: Borrow<Event>>(
    node: &Node<E>,
    wanted: &Wanted<'_>,
    shown: Shown<'_>,
    out: &mut String,
) {
    draw_at(node, wanted, shown, 0, out);
}

fn draw_at<E: Borrow<Event>>(
    node: &Node<E>,
    wanted: &Wanted<'_>,
    shown: Shown<'_>,
    level: usize,
    out: &mut String,
) {
    if wanted.levels.is_some_and(|levels| level >= levels) {
        return;
    }
    if wanted
        .failed
        .is_some_and(|argument| !node.has_failed(argument))
    {
        return;
    }
    let took = node.took.map_or(String::new(), |took| {
        format!("{}.{:03} us", took / 1000, took % 1000)
    });
    let _ = write!(out, "{} {took:>14}  ", seconds(node.begin));
    let _ = write!(out, "{:1$}{2}", "", level * 2, Plain(node.name()));
    let event = node.event();
    for (name, value) in &event.arguments {
        if name == wanted.duration {
            continue;
        }
        if let Some(text) = shown(event, name, value) {
            let _ = write!(out, " {}={}", Plain(name), Plain(&text));
        }
    }
    out.push('\n');
    for node in &node.inside {
        draw_at(node, wanted, shown, level + 1, out);
    }
}

/// An address of the kernel, in hexadecimal: it has the highest bit. So has a result that is below all
/// errors, of which the type `errno` keeps the lower half.
fn address(value: &Value, is_result: bool) -> Option<String> {
    if let Some(signed) = value.as_i64() {
        let is_address = is_result && signed < -4095;
        return is_address.then(|| match i32::try_from(signed) {
            Ok(half) => format!("{half:#x}"),
            Err(_) => format!("{signed:#x}"),
        });
    }
    value.as_u64().map(|unsigned| format!("{unsigned:#x}"))
}

fn seconds(nanoseconds: u64) -> String {
    let (whole, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    format!("{whole:>6}.{rest:09}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of a thread: its end, its duration, its function and its value.
    fn line(pid: u32, end: u64, took: u64, name: &str, ret: i64) -> String {
        format!(
            r#"{{"ts":{end},"cpu":1,"pid":{pid},"comm":"cat","flags":".....","group":"fprobes","event":"x","func":"{name}+0x0/0x40","ret_ip":"a+0x1/0x2","args":{{"ret":{ret},"duration":{took}}}}}"#
        )
    }

    fn stream(lines: &[String]) -> Stream {
        Stream::read(lines.join("\n").as_bytes()).expect("a stream")
    }

    const ALL: Wanted<'_> = Wanted {
        duration: "duration",
        below: None,
        levels: None,
        failed: None,
    };

    /// Two threads at the same time; of one, two calls inside of another, the second of which has one
    /// inside of it.
    fn sample() -> Stream {
        stream(&[
            line(7, 1_000_002_000, 500, "first", 0),
            line(8, 1_000_002_500, 100, "other", 0),
            line(7, 1_000_003_000, 200, "deep", -2),
            line(7, 1_000_004_000, 1500, "second", -2),
            r#"{"ts":1000004500,"cpu":1,"pid":7,"comm":"cat","flags":".....","group":"kprobes","event":"mark","ip":"outer+0x9/0x40","args":{}}"#.into(),
            line(7, 1_000_005_000, 4500, "outer", 1),
            line(7, 1_000_006_000, 10, "behind", 0),
        ])
    }

    #[test]
    fn calls_are_inside_of_those_around_them() {
        assert_eq!(
            text(&sample(), &ALL).expect("a tree"),
            "\
cat-7
     1.000000500       4.500 us  outer ret=1
     1.000001500       0.500 us    first ret=0
     1.000002500       1.500 us    second ret=-2
     1.000002800       0.200 us      deep ret=-2
     1.000004500                   outer
cat-8
     1.000002400       0.100 us  other ret=0
cat-7
     1.000005990       0.010 us  behind ret=0
"
        );
    }

    #[test]
    fn a_part_is_chosen() {
        let some = |wanted: &Wanted<'_>| {
            let text = text(&sample(), wanted).expect("a tree");
            let names = text.lines().filter_map(|line| line.split("us  ").nth(1));
            names.map(String::from).collect::<Vec<_>>()
        };
        let below = Wanted {
            below: Some("second"),
            ..ALL
        };
        assert_eq!(some(&below), ["second ret=-2", "  deep ret=-2"]);
        let levels = Wanted {
            levels: Some(1),
            ..ALL
        };
        assert_eq!(
            some(&levels),
            ["outer ret=1", "other ret=0", "behind ret=0"]
        );
        let failed = Wanted {
            failed: Some("ret"),
            ..ALL
        };
        assert_eq!(
            some(&failed),
            ["outer ret=1", "  second ret=-2", "    deep ret=-2"]
        );
    }

    #[test]
    fn addresses_are_hexadecimal() {
        let drawn = text(
            &stream(&[
                line(7, 1_000_000_500, 100, "half", -1_035_616_704),
                line(7, 1_000_001_000, 100, "whole", -131_941_395_333_120),
                r#"{"ts":1000004500,"cpu":1,"pid":7,"comm":"cat","flags":".....","group":"kprobes","event":"x","func":"f+0x0/0x9","args":{"at":18446612132314218496,"delta":-5000,"ret":-4095,"duration":500}}"#.into(),
            ]),
            &ALL,
        );
        let drawn = drawn.expect("a tree");
        for end in [
            " half ret=0xc245be40",
            " whole ret=0xffff880000000000",
            " f at=0xffff880000000000 delta=-5000 ret=-4095",
        ] {
            assert!(drawn.lines().any(|line| line.ends_with(end)), "{drawn}");
        }
    }

    #[test]
    fn any_nesting_is_drawn_as_it_was() {
        // Calls of a random nesting, by a simple generator of numbers.
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let (mut now, mut begun, mut lines, mut depths) =
            (1u64, Vec::new(), Vec::new(), Vec::new());
        for _ in 0..2000 {
            now += 1 + random(50);
            if begun.len() < 8 && random(2) == 0 {
                begun.push(now);
            } else if let Some(begin) = begun.pop() {
                lines.push(line(7, now, now - begin, "f", 0));
                depths.push((begin, begun.len()));
            }
        }
        while let Some(begin) = begun.pop() {
            now += 1;
            lines.push(line(7, now, now - begin, "f", 0));
            depths.push((begin, begun.len()));
        }
        depths.sort_unstable();
        let drawn = text(&stream(&lines), &ALL).expect("a tree");
        let levels = drawn.lines().skip(1).map(|line| {
            let behind = line.split("us  ").nth(1).expect("a call");
            (behind.len() - behind.trim_start().len()) / 2
        });
        let expected: Vec<usize> = depths.iter().map(|(_, depth)| *depth).collect();
        assert_eq!(levels.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_overlaps_without_end_is_drawn() {
        // As requests of a disk, each begun before the one before it has ended.
        let lines: Vec<String> = (1..=20_000)
            .map(|n| line(7, 1000 + n * 10, 15, "f", -2))
            .collect();
        let failed = Wanted {
            failed: Some("ret"),
            ..ALL
        };
        let drawn = text(&stream(&lines), &failed).expect("a tree");
        assert_eq!(drawn.lines().count(), 1 + lines.len());
    }

    #[test]
    fn calls_without_room_for_what_is_inside_are_beside_it() {
        // As many levels as there may be, in calls that all began before them, of which each has
        // one of its own inside.
        let deep = (1..=256).map(|n| line(7, 10_000_000 + n, 2 * n, "deep", 0));
        let around = (1..=20_000).flat_map(|n| {
            let end = 10_001_000 + n * 10;
            [
                line(7, end - 5, 1, "inner", 0),
                line(7, end, end - 1000, "around", 0),
            ]
        });
        let lines: Vec<String> = deep.chain(around).collect();
        let drawn = text(&stream(&lines), &ALL).expect("a tree");
        let at_the_left = |name| {
            let name = format!("us  {name} ");
            drawn.lines().filter(|line| line.contains(&name)).count()
        };
        assert_eq!(drawn.lines().count(), 1 + lines.len());
        assert_eq!([at_the_left("deep"), at_the_left("around")], [1, 20_000]);
    }

    #[test]
    fn idle_tasks_of_two_processors_are_two() {
        let idle = |cpu: u32, end: u64, took: u64, name: &str| {
            line(0, end, took, name, 0).replace("\"cpu\":1", &format!("\"cpu\":{cpu}"))
        };
        let drawn = text(
            &stream(&[
                idle(1, 1_000_002_000, 1000, "timer"),
                idle(0, 1_000_002_500, 1000, "disk"),
                idle(1, 1_000_003_000, 500, "later"),
            ]),
            &ALL,
        );
        assert_eq!(
            drawn.expect("a tree"),
            "\
cat-0 [001]
     1.000001000       1.000 us  timer ret=0
cat-0 [000]
     1.000001500       1.000 us  disk ret=0
cat-0 [001]
     1.000002500       0.500 us  later ret=0
"
        );
    }

    #[test]
    fn what_programs_choose_stays_on_its_line() {
        let drawn = text(
            &stream(&[
                r#"{"ts":1000004500,"cpu":1,"pid":7,"comm":"\u001b[2J\nls-1","flags":".....","group":"kprobes","event":"x","func":"f+0x0/0x9","args":{"path":"a\n\u009b2J\u202e","duration":500}}"#.into(),
            ]),
            &ALL,
        );
        assert_eq!(
            drawn.expect("a tree"),
            "\
\\u{1b}[2J\\nls-1-7
     1.000004000       0.500 us  f path=a\\n\\u{9b}2J\\u{202e}
"
        );
    }

    #[test]
    fn what_has_no_calls_is_refused() {
        let moments = stream(&[line(7, 5, 0, "f", 0)]);
        let refusal = text(&moments, &ALL).expect_err("no call");
        assert!(refusal
            .to_string()
            .contains("no event has an argument duration"));
        let none = Wanted {
            below: Some("nothing"),
            ..ALL
        };
        let refusal = text(&sample(), &none).expect_err("no such call");
        assert!(refusal.to_string().contains("no such call"));
    }
}
