// SPDX-License-Identifier: GPL-2.0

//! What a session shows: records for people or as JSON, and on the standard error what the user is
//! to know.

use super::addresses::Addresses;
use super::appending::Appending;
use super::follow::{self, Item, Reader};
use super::format::Format;
use super::losses::Hits;
use super::plan::{Plan, Planned};
use super::print::{Cell, Columns, Record};
use super::value::{self, Kind, Look};
use crate::error::{Refusal, Result};
use crate::stream::Event;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::cell::OnceCell;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// How often more is read before signals are looked at.
const FILLS: u32 = 16;

/// How it is to look.
#[derive(Debug, Default, Clone, Copy)]
pub struct Style {
    /// One JSON object a line.
    pub json: bool,
    /// A stack follows each record.
    pub stack: bool,
    /// Columns of a line, if they are given.
    pub width: Option<usize>,
}

/// What became of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// All that there was.
    All,
    /// There may be more.
    More,
    /// The output has no reader.
    NobodyReads,
}

/// What is known of an event.
#[derive(Debug, Default)]
struct Shown {
    /// What its records are called.
    label: Option<String>,
    kinds: HashMap<String, Kind>,
    format: Format,
    /// How many records there were.
    records: u64,
}

/// Where a session writes.
pub struct Output {
    to: Box<dyn Write>,
    /// The file, if one is given.
    file: Option<PathBuf>,
    style: Style,
    /// Whether lines are as wide as the terminal.
    is_terminal: bool,
    columns: Columns,
    has_colours: bool,
    begin: Option<u64>,
    shown: HashMap<(String, String), Shown>,
    /// Records whose stacks are to follow.
    pending: VecDeque<(Event, bool)>,
    records: u64,
    lost: u64,
    /// Read once an address is to be shown.
    addresses: OnceCell<Addresses>,
    _appending: Appending,
}

impl Output {
    /// Writes to `file`, or to the standard output.
    pub fn new(file: Option<&Path>, style: Style) -> io::Result<Self> {
        let stdout = io::stdout();
        let is_terminal = file.is_none() && stdout.is_terminal();
        // By NO_COLOR, CLICOLOR and TERM.
        let choice = anstream::AutoStream::choice(&stdout);
        let has_colours = file.is_none() && choice != anstream::ColorChoice::Never;
        let (to, appending): (Box<dyn Write>, _) = match file {
            Some(path) => {
                let file = File::create(path)?;
                (
                    Box::new(io::BufWriter::new(file.try_clone()?)),
                    Appending::new(file),
                )
            }
            None => {
                let appending = stdout.as_fd().try_clone_to_owned()?;
                (
                    Box::new(io::BufWriter::new(stdout)),
                    Appending::new(appending.into()),
                )
            }
        };
        Ok(Self {
            to,
            file: file.map(PathBuf::from),
            style,
            is_terminal,
            columns: Columns::new(None, false, &[]),
            has_colours,
            begin: None,
            shown: HashMap::new(),
            pending: VecDeque::new(),
            records: 0,
            lost: 0,
            addresses: OnceCell::new(),
            _appending: appending,
        })
    }

    /// Says something to the user.
    pub fn say(&mut self, text: &str) {
        // Tracing goes on without a standard error.
        let _ = writeln!(io::stderr(), "ferroprobe: {text}");
    }

    /// Says several things.
    pub fn say_all(&mut self, texts: Vec<String>) {
        for text in texts {
            self.say(&text);
        }
    }

    /// The columns of a line; none if it may be as long as it is.
    fn width(&self) -> Option<usize> {
        self.style.width.or_else(terminal_width)
    }

    /// Begins, at the time `begin`.
    pub fn begin(&mut self, plan: &Plan, formats: Vec<Format>, begin: Option<u64>) {
        self.begin = begin;
        for (event, format) in plan.events.iter().zip(formats) {
            let meanings = event.meanings().into_iter();
            let shown = Shown {
                label: event.label.clone(),
                kinds: meanings
                    .map(|(name, meaning)| (name, meaning.into()))
                    .collect(),
                format,
                records: 0,
            };
            self.shown
                .insert((event.group.clone(), event.name.clone()), shown);
        }
        let width = match self.is_terminal {
            true => self.width(),
            false => self.style.width,
        };
        let events = plan.events.iter();
        let events: Vec<&str> = events.filter_map(|event| event.label.as_deref()).collect();
        self.columns = Columns::new(width, self.has_colours, &events);
        if !self.style.json {
            let _ = self.to.write_all(self.columns.heading().as_bytes());
            let _ = self.to.flush();
        }
    }

    /// Takes what can be read now.
    pub fn take(&mut self, reader: &mut Reader) -> Result<Taken> {
        if let Some(width) = self.width().filter(|_| self.is_terminal) {
            self.columns.set_width(width);
        }
        let mut taken = Taken::More;
        for _ in 0..FILLS {
            if !reader.fill()? {
                taken = Taken::All;
                break;
            }
            while let Some(line) = reader.line() {
                let written = self.line(&line);
                match written {
                    Err(error) if self.is_gone(&error) => return Ok(Taken::NobodyReads),
                    written => written.map_err(|error| self.about(error))?,
                }
            }
        }
        match self.to.flush() {
            Err(error) if self.is_gone(&error) => Ok(Taken::NobodyReads),
            Err(error) => Err(self.about(error)),
            Ok(()) => Ok(taken),
        }
    }

    /// Writes text, and returns whether somebody may read it.
    pub fn write(&mut self, text: &str) -> Result<bool> {
        let written = self.to.write_all(text.as_bytes());
        match written.and_then(|()| self.to.flush()) {
            Err(error) if self.is_gone(&error) => Ok(false),
            Err(error) => Err(self.about(error)),
            Ok(()) => Ok(true),
        }
    }

    /// Whether writing has failed, because the reader is gone.
    fn is_gone(&self, error: &io::Error) -> bool {
        let is_lost = error.raw_os_error() == Some(Errno::IO.raw_os_error());
        error.kind() == io::ErrorKind::BrokenPipe || (self.is_terminal && is_lost)
    }

    /// Whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Says where writing has failed.
    fn about(&self, error: io::Error) -> Refusal {
        let refusal = Refusal::from(error);
        match &self.file {
            Some(path) => refusal.about(path.display()),
            None => refusal.about("the standard output"),
        }
    }

    /// Whether somebody may read what is written. Of a pipe and of a terminal this is known without
    /// writing.
    pub fn is_read(&self) -> bool {
        self.file.is_some() || stdout_is_read()
    }

    /// Writes what waits for something that will not come any more.
    pub fn flush(&mut self) -> Result<()> {
        let written = self.write_pending(true).and_then(|()| self.to.flush());
        match written {
            Err(error) if !self.is_gone(&error) => Err(self.about(error)),
            _ => Ok(()),
        }
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        let item = match follow::item(line) {
            Ok(item) => item,
            Err(refusal) => {
                self.say(&format!("a line that cannot be read: {refusal}"));
                return Ok(());
            }
        };
        if let Item::Event(event) = &item {
            self.records += 1;
            let name = (event.group.clone(), event.name.clone());
            if let Some(shown) = self.shown.get_mut(&name) {
                shown.records += 1;
            }
        }
        match item {
            Item::Own | Item::Began(_) => Ok(()),
            _ if self.style.json => writeln!(self.to, "{line}"),
            Item::Lost { count, cpu } => {
                self.write_pending(true)?;
                self.to.write_all(self.columns.loss(count, cpu).as_bytes())
            }
            Item::Event(event) => {
                // Earlier records of this CPU that still wait have no stack.
                for (pending, is_whole) in &mut self.pending {
                    *is_whole |= pending.cpu == event.cpu;
                }
                self.pending.push_back((*event, !self.style.stack));
                self.write_pending(false)
            }
            Item::Stack(stack) => {
                let of_cpu = |(event, _): &&mut (Event, bool)| event.cpu == stack.cpu;
                if let Some((event, is_whole)) = self.pending.iter_mut().rev().find(of_cpu) {
                    event.stack = stack.frames();
                    *is_whole = true;
                }
                self.write_pending(false)
            }
        }
    }

    /// Writes the records that have their stacks, or all, in their order.
    fn write_pending(&mut self, all: bool) -> io::Result<()> {
        while let Some((event, _)) = self.pending.pop_front_if_whole(all) {
            let record = self.record(event);
            self.to.write_all(self.columns.record(&record).as_bytes())?;
        }
        Ok(())
    }

    fn record(&mut self, event: Event) -> Record {
        let begin = *self.begin.get_or_insert(event.time);
        let place = event.place.as_deref().unwrap_or(&event.name);
        let function = place.split('+').next().unwrap_or(place);
        let shown = self.shown.get(&(event.group.clone(), event.name.clone()));
        let label = match shown {
            Some(shown) => shown.label.clone().unwrap_or_else(|| function.into()),
            None => event.name.clone(),
        };
        let cell = |(name, value): (&String, &serde_json::Value)| {
            let kind = shown.map_or(Kind::Plain, |shown| shown.kind(name));
            let is_cut = event.truncated.contains(name);
            let addresses = || self.addresses.get_or_init(Addresses::of_kernel);
            let address = value.as_u64().filter(|_| kind == Kind::Symbol);
            let (text, look) = match address.and_then(|address| addresses().name(address)) {
                Some(symbol) => (symbol, Look::Text),
                None => value::text(value, kind, is_cut),
            };
            let name = name.clone();
            Cell { name, text, look }
        };
        Record {
            time: event.time.saturating_sub(begin),
            cpu: event.cpu,
            comm: event.comm.clone(),
            pid: event.pid,
            event: label,
            values: event.arguments.iter().map(cell).collect(),
            stack: event.stack.clone(),
        }
    }

    /// So many records were lost.
    pub fn lost(&mut self, count: u64) {
        self.lost = count;
    }

    /// Says what was not recorded, of all tasks or only of some, which it `follows`. Events that are there without the session have hits of others:
    /// of them its own records count.
    pub fn end(&mut self, plan: &Plan, hits: Vec<Hits>, follows_tasks: bool) {
        let own = |(event, hits): (&Planned, Hits)| {
            let name = (event.group.clone(), event.name.clone());
            let records = self.shown.get(&name).map_or(0, |shown| shown.records);
            match event.exists {
                true => Hits {
                    hits: records,
                    recorded: records,
                    ..Hits::default()
                },
                false => hits,
            }
        };
        let hits: Vec<Hits> = plan.events.iter().zip(hits).map(own).collect();
        for text in summary(plan, &hits, (self.records, self.lost), follows_tasks) {
            self.say(&text);
        }
    }
}

impl Shown {
    fn kind(&self, name: &str) -> Kind {
        match self.kinds.get(name) {
            Some(kind) => *kind,
            None if self.format.is_symbol(name) => Kind::Symbol,
            None if self.format.is_hexadecimal(name) => Kind::Hexadecimal,
            None if value::is_size(name) => Kind::Size,
            None => Kind::Plain,
        }
    }
}

/// The columns of the terminal, if there is one.
pub fn terminal_width() -> Option<usize> {
    let terminal = || terminal_size::terminal_size_of(io::stderr());
    stdout_width().or_else(|| columns(terminal()))
}

/// The columns of the standard output, if that is a terminal.
pub fn stdout_width() -> Option<usize> {
    columns(terminal_size::terminal_size_of(io::stdout()))
}

fn columns(size: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    size.map(|(width, _)| usize::from(width.0).max(1))
}

/// Whether somebody may read the standard output.
pub fn stdout_is_read() -> bool {
    let stdout = io::stdout();
    let mut files = [PollFd::new(&stdout, PollFlags::empty())];
    let _ = poll(&mut files, Some(&Timespec::default()));
    !files[0].revents().contains(PollFlags::ERR)
}

/// Records that wait for their stacks.
trait Pending {
    fn pop_front_if_whole(&mut self, all: bool) -> Option<(Event, bool)>;
}

impl Pending for VecDeque<(Event, bool)> {
    fn pop_front_if_whole(&mut self, all: bool) -> Option<(Event, bool)> {
        let (_, is_whole) = self.front()?;
        (*is_whole || all).then(|| self.pop_front())?
    }
}

/// What to say of an event without records: of the events of one pattern once, and only if none has
/// records.
fn no_record(plan: &Plan, event: &Planned, hits: &[Hits]) -> Option<String> {
    let written = &event.definition.written;
    let is_same = |(other, _): &(&Planned, &Hits)| other.definition.written == *written;
    let same: Vec<_> = plan.events.iter().zip(hits).filter(is_same).collect();
    let is_first = same.first().is_some_and(|(first, _)| *first == event);
    let title = if same.len() > 1 {
        written
    } else {
        event.title()
    };
    let is_silent = same.iter().all(|(_, hits)| hits.recorded == 0);
    (is_first && is_silent).then(|| format!("{title}: no record"))
}

/// Why no hit of `event` was recorded, if all were rejected.
fn rejected(event: &Planned, follows_tasks: bool) -> &'static str {
    match (follows_tasks, event.definition.is_filtered()) {
        (true, true) => "all of other tasks or rejected by the filter",
        (true, false) => "all of other tasks",
        (false, true) => "all rejected by the filter, or of this program itself",
        (false, false) => "all of this program itself",
    }
}

/// What the user is to know at the end.
fn summary(
    plan: &Plan,
    all: &[Hits],
    (records, lost): (u64, u64),
    follows_tasks: bool,
) -> Vec<String> {
    let mut texts = Vec::new();
    for (event, hits) in plan.events.iter().zip(all) {
        let title = event.title();
        if event.exists && hits.recorded == 0 {
            texts.extend(no_record(plan, event, all));
        } else if hits.hits == 0 && hits.missed == 0 {
            // The compiler may have put its code into its callers.
            let why = match event.definition.function() {
                Some(_) => ": it was not called, or is inlined where it is, see never-fires.rst",
                None => "",
            };
            texts.push(format!("{title}: no hit{why}"));
        } else if hits.recorded == 0 && hits.hits == hits.filtered {
            texts.push(format!(
                "{title}: {} hits, {}",
                hits.hits,
                rejected(event, follows_tasks)
            ));
        }
        if hits.missed > 0 {
            texts.push(format!(
                "{title}: missed {} hits, see never-fires.rst",
                hits.missed
            ));
        }
        if hits.too_large > 0 {
            texts.push(format!(
                "{title}: lost {} records, larger than a sub-buffer",
                hits.too_large
            ));
        }
        if hits.is_over_limit {
            texts.push(format!(
                "{title}: disabled, as it was hit too often: see hit_limit"
            ));
        }
    }
    if lost > 0 {
        texts.push(format!(
            "lost {lost} records, {records} are shown: a filter, or a larger --buffer, loses fewer"
        ));
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan::new(&["p:g/a vfs_read".to_string()]).expect("a plan")
    }

    #[test]
    fn what_was_not_recorded_is_said() {
        let hits = |hits, recorded, filtered| Hits {
            hits,
            recorded,
            filtered,
            ..Hits::default()
        };
        let said = |hits: Hits, lost| summary(&plan(), &[hits], (5, lost), true);
        assert_eq!(said(hits(7, 5, 2), 0), [""; 0]);
        assert!(said(hits(0, 0, 0), 0)[0].starts_with("a: no hit: it was not called, or"));
        assert_eq!(said(hits(7, 0, 7), 0), ["a: 7 hits, all of other tasks"]);
        for (written, follows, expected) in [
            ("p:g/a x", false, "a: 7 hits, all of this program itself"),
            (
                "p:g/a x if y",
                false,
                "a: 7 hits, all rejected by the filter, or of this program itself",
            ),
            (
                "p:g/a x if y",
                true,
                "a: 7 hits, all of other tasks or rejected by the filter",
            ),
        ] {
            let plan = Plan::new(&[written.to_string()]).expect("a plan");
            assert_eq!(
                summary(&plan, &[hits(7, 0, 7)], (5, 0), follows),
                [expected]
            );
        }
        assert!(said(hits(7, 5, 2), 3)[0].starts_with("lost 3 records, 5 are shown"));
        let bad = Hits {
            hits: 9,
            recorded: 9,
            missed: 1,
            too_large: 2,
            is_over_limit: true,
            ..Hits::default()
        };
        assert_eq!(said(bad, 0).len(), 3);
        // Of the events of a pattern.
        let mut several = Plan::new(&["c/a".into(), "c/b*".into()]).expect("a plan");
        several.events[1].exists = true;
        several.events.push(several.events[1].clone());
        several.events[2].name = "b2".into();
        let own = |first, second| {
            let all = [
                hits(1, 1, 0),
                hits(first, first, 0),
                hits(second, second, 0),
            ];
            summary(&several, &all, (5, 0), true)
        };
        assert_eq!(own(0, 0), ["c/b*: no record"]);
        assert_eq!(own(0, 1), [""; 0]);
        assert_eq!(own(1, 0), [""; 0]);
    }

    /// What is written of `lines`.
    fn written(style: Style, lines: &[&str]) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let (input, to) = (folder.path().join("trace_json"), folder.path().join("out"));
        std::fs::write(&input, lines.join("\n") + "\n").expect("a file");
        let mut output = Output::new(Some(&to), style).expect("a file");
        output.begin(&plan(), vec![Format::default()], Some(1_000_000));
        let mut reader = Reader::open(&input).expect("a file");
        assert_eq!(output.take(&mut reader).expect("lines"), Taken::All);
        output.flush().expect("a file");
        std::fs::read_to_string(&to).expect("a file")
    }

    const FIRST: &str = r#"{"ts":3000000,"cpu":0,"pid":7,"comm":"cat","flags":".","group":"g","event":"a","ip":"vfs_read+0x0/0x1","args":{"count":131072}}"#;
    const SECOND: &str = r#"{"ts":3000001,"cpu":1,"pid":8,"comm":"cat","flags":".","group":"g","event":"a","ip":"vfs_read+0x0/0x1","args":{"count":4}}"#;
    const STACK: &str = r#"{"ts":3000002,"cpu":0,"pid":7,"comm":"cat","flags":".","group":"ftrace","event":"kernel_stack","args":{"caller":["one","two"]}}"#;
    const LOST: &str = r#"{"lost":3,"cpu":1}"#;

    #[test]
    fn records_are_lines() {
        let text = written(Style::default(), &[FIRST, LOST, SECOND]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "   0.002000    0  cat-7     a      count=128K");
        assert_eq!(lines[2], "  ... 3 records of CPU 1 are lost here");
        assert!(lines[3].ends_with("count=   4"), "{text}");
    }

    #[test]
    fn a_stack_follows_its_record() {
        let style = Style {
            stack: true,
            ..Style::default()
        };
        let text = written(style, &[FIRST, SECOND, STACK]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[1].contains("cat-7") && lines[4].contains("cat-8"),
            "{text}"
        );
        assert_eq!(lines[2..4], ["    => one", "    => two"]);
    }

    #[test]
    fn json_is_what_the_kernel_has() {
        let style = Style {
            json: true,
            ..Style::default()
        };
        let text = written(style, &[FIRST, LOST, SECOND]);
        assert_eq!(text, format!("{FIRST}\n{LOST}\n{SECOND}\n"));
    }
}
