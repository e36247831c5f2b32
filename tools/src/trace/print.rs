// SPDX-License-Identifier: GPL-2.0

//! Records as lines for people, in columns that become as wide as they have to. Where a terminal is
//! too narrow, arguments follow on lines of their own.

use super::value::{self, Look};
use anstyle::{AnsiColor, Style};
use std::collections::HashMap;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds since the beginning.
    pub time: u64,
    /// The CPU.
    pub cpu: u64,
    /// The name of the task.
    pub comm: String,
    /// Its pid.
    pub pid: u32,
    /// What was hit.
    pub event: String,
    /// What was recorded.
    pub values: Vec<Cell>,
    /// The frames of the kernel's stack.
    pub stack: Vec<String>,
}

/// One argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Its name.
    pub name: String,
    /// Its value.
    pub text: String,
    /// What it is.
    pub look: Look,
}

/// The width of the time, `1234.123456`, and of the number of a CPU.
const TIME: usize = 11;
const CPU: usize = 3;

/// A column grows up to this width. A longer value moves the rest of its own line only.
const WIDEST: usize = 32;

/// Columns that a terminal must have for a table: in a narrower one the arguments are below.
const NARROW: usize = 64;

/// What is between columns.
const GAP: &str = "  ";

/// Makes lines.
#[derive(Debug)]
pub struct Columns {
    /// Columns of the terminal; none if it is none.
    width: Option<usize>,
    has_colours: bool,
    task: usize,
    event: usize,
    values: HashMap<(String, String), usize>,
}

/// The colours.
const DIM: Style = Style::new().dimmed();
const EVENT: Style = Style::new().bold();
const TEXT: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const LOSS: Style = AnsiColor::Yellow.on_default().bold();

impl Columns {
    /// For a terminal of `width` columns, or for what is none.
    pub fn new(width: Option<usize>, has_colours: bool, events: &[&str]) -> Self {
        let widest = events.iter().map(|event| event.width()).max();
        Self {
            width,
            has_colours,
            task: "TASK-PID".len(),
            event: widest.unwrap_or(0).clamp("EVENT".len(), WIDEST),
            values: HashMap::new(),
        }
    }

    /// The terminal has another width now.
    pub fn set_width(&mut self, width: usize) {
        self.width = self.width.map(|_| width);
    }

    fn is_narrow(&self) -> bool {
        self.width.is_some_and(|width| width < NARROW)
    }

    /// What is above the columns.
    pub fn heading(&self) -> String {
        if self.is_narrow() {
            return String::new();
        }
        let (task, event) = (self.task, self.event);
        let line = format!(
            "{:>TIME$}{GAP}{:>CPU$}{GAP}{:<task$}{GAP}{:<event$}{GAP}ARGUMENTS",
            "SECONDS", "CPU", "TASK-PID", "EVENT"
        );
        self.styled(DIM, &line) + "\n"
    }

    /// The lines of a record.
    pub fn record(&mut self, record: &Record) -> String {
        let mut task = String::new();
        value::plain(&mut task, &record.comm);
        let task = format!("{task}-{}", record.pid);
        self.task = self.task.max(task.width().min(WIDEST));
        let seconds = record.time / 1_000_000_000;
        let time = format!("{seconds}.{:06}", record.time % 1_000_000_000 / 1_000);
        let mut line = Line::new(self.width);
        let padded = |text: &str, to: usize| " ".repeat(to.saturating_sub(text.width()));
        if self.is_narrow() {
            let room = self.width.unwrap_or(NARROW);
            for (style, text) in [(DIM, &time), (Style::new(), &task), (EVENT, &record.event)] {
                let left = room.saturating_sub(line.column + usize::from(line.column > 0));
                let text = cut(text, left);
                if !text.is_empty() {
                    line.gap(1);
                    line.push(&self.styled(style, text), text.width());
                }
            }
            line.indent = GAP.len();
            line.begin();
        } else {
            line.push(&padded(&time, TIME), TIME.saturating_sub(time.width()));
            line.push(&self.styled(DIM, &time), time.width());
            let cpu = format!("{GAP}{:>CPU$}{GAP}", record.cpu);
            line.push(&cpu, cpu.width());
            let pad = padded(&task, self.task) + GAP;
            line.push(&task, task.width());
            line.push(&pad, pad.width());
            line.push(&self.styled(EVENT, &record.event), record.event.width());
            if !record.values.is_empty() {
                let pad = padded(&record.event, self.event);
                line.push(&pad, pad.width());
            }
            line.indent = match self.width {
                Some(width) if line.column + GAP.len() > width / 2 => GAP.len() * 2,
                _ => line.column + GAP.len(),
            };
        }
        for (number, cell) in record.values.iter().enumerate() {
            let is_last = number + 1 == record.values.len();
            self.cell(&mut line, &record.event, cell, is_last);
        }
        let mut text = line.end();
        for frame in &record.stack {
            let frame = format!("{GAP}{GAP}=> {frame}");
            let frame = self
                .width
                .map_or(frame.as_str(), |width| cut(&frame, width));
            text.push_str(&self.styled(DIM, frame));
            text.push('\n');
        }
        text
    }

    fn cell(&mut self, line: &mut Line, event: &str, cell: &Cell, is_last: bool) {
        let own = cell.text.width();
        let key = (event.to_string(), cell.name.clone());
        let widest = self.values.entry(key).or_default();
        *widest = (*widest).max(own.min(WIDEST));
        let widest = *widest;
        let pad = match self.is_narrow() {
            true => 0,
            false => widest.saturating_sub(own),
        };
        let (before, behind) = match cell.look {
            Look::Text => (0, if is_last { 0 } else { pad }),
            Look::Number | Look::Bad => (pad, 0),
        };
        let style = match cell.look {
            Look::Number => Style::new(),
            Look::Text => TEXT,
            Look::Bad => BAD,
        };
        let name = format!("{}=", cell.name);
        line.fit(name.width() + own + before);
        line.push(&self.styled(DIM, &name), name.width());
        line.push(&" ".repeat(before), before);
        let mut rest = cell.text.as_str();
        while !rest.is_empty() {
            let part = cut(rest, line.room());
            // A name may leave no room.
            if part.is_empty() {
                if !line.begin() {
                    break;
                }
                continue;
            }
            line.push(&self.styled(style, part), part.width());
            rest = &rest[part.len()..];
        }
        line.push(&" ".repeat(behind), behind);
    }

    /// The line of a loss.
    pub fn loss(&self, count: u64, cpu: u64) -> String {
        let text = format!("{GAP}... {count} records of CPU {cpu} are lost here");
        let text = self.width.map_or(text.as_str(), |width| cut(&text, width));
        self.styled(LOSS, text) + "\n"
    }

    fn styled(&self, style: Style, text: &str) -> String {
        match self.has_colours && style != Style::new() && !text.is_empty() {
            true => format!("{style}{text}{style:#}"),
            false => text.into(),
        }
    }
}

/// The beginning of `text` that has room.
fn cut(text: &str, room: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if used > room {
            return &text[..at];
        }
    }
    text
}

/// Lines that are being filled.
struct Line {
    text: String,
    width: Option<usize>,
    column: usize,
    indent: usize,
}

impl Line {
    fn new(width: Option<usize>) -> Self {
        Self {
            text: String::new(),
            width,
            column: 0,
            indent: 0,
        }
    }

    /// Appends what has `columns` columns.
    fn push(&mut self, text: &str, columns: usize) {
        self.text.push_str(text);
        self.column += columns;
    }

    /// Appends blanks, unless the line begins here.
    fn gap(&mut self, columns: usize) {
        if self.column > 0 {
            self.push(&" ".repeat(columns), columns);
        }
    }

    fn room(&self) -> usize {
        self.width
            .map_or(usize::MAX, |width| width.saturating_sub(self.column))
    }

    /// Begins another line. `false` if it would be as this one.
    fn begin(&mut self) -> bool {
        if self.column == self.indent && self.text.ends_with(' ') {
            return false;
        }
        self.trim();
        // Writing to a string does not fail.
        let _ = write!(self.text, "\n{:1$}", "", self.indent);
        self.column = self.indent;
        true
    }

    /// Begins another line unless `columns` more have room on this one, behind a gap.
    fn fit(&mut self, columns: usize) {
        let is_new = self.column == self.indent && self.text.ends_with(' ');
        if is_new {
            return;
        }
        match self.room() >= columns.saturating_add(GAP.len()) {
            true => self.gap(GAP.len()),
            false => {
                self.begin();
            }
        }
    }

    fn trim(&mut self) {
        let length = self.text.trim_end_matches(' ').len();
        self.text.truncate(length);
    }

    fn end(mut self) -> String {
        self.trim();
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(name: &str, text: &str, look: Look) -> Cell {
        Cell {
            name: name.into(),
            text: text.into(),
            look,
        }
    }

    fn record(file: &str, ret: &str) -> Record {
        Record {
            time: 1_204_567,
            cpu: 1,
            comm: "cat".into(),
            pid: 117,
            event: "vfs_read".into(),
            values: vec![
                cell("file", file, Look::Text),
                cell("ret", ret, Look::Number),
                cell("duration", "1.204 ms", Look::Number),
            ],
            stack: Vec::new(),
        }
    }

    #[test]
    fn columns_are_aligned() {
        let mut columns = Columns::new(None, false, &["vfs_read"]);
        let text = columns.heading()
            + &columns.record(&record("/proc/version", "105"))
            + &columns.record(&record("/a", "4"));
        assert_eq!(
            text,
            "    SECONDS  CPU  TASK-PID  EVENT     ARGUMENTS
   0.001204    1  cat-117   vfs_read  file=/proc/version  ret=105  duration=1.204 ms
   0.001204    1  cat-117   vfs_read  file=/a             ret=  4  duration=1.204 ms
"
        );
    }

    #[test]
    fn no_line_is_longer_than_a_terminal() {
        let long = "/usr/lib/x86_64-linux-gnu/perl-base/unicore/lib/a-long-name";
        for width in [1, 8, 20, 40, 63, 64, 80, 120] {
            let mut columns = Columns::new(Some(width), false, &["vfs_read"]);
            let mut record = record(long, "105");
            record.stack = vec!["do_syscall_64+0x80/0x140".into(); 2];
            let text = columns.record(&record) + &columns.loss(123_456, 0);
            for line in text.lines() {
                let is_indented_name = width < 16;
                assert!(
                    line.width() <= width || is_indented_name,
                    "{width}: {line:?}"
                );
            }
            if width >= 20 {
                let joined: String = text.chars().filter(|c| !matches!(c, ' ' | '\n')).collect();
                assert!(joined.contains(long), "{width}: {text}");
            }
        }
    }

    #[test]
    fn forty_columns_are_enough() {
        let mut columns = Columns::new(Some(40), false, &["vfs_read"]);
        assert_eq!(columns.heading(), "");
        assert_eq!(
            columns.record(&record("/proc/version", "105")),
            "0.001204 cat-117 vfs_read
  file=/proc/version  ret=105
  duration=1.204 ms
"
        );
    }

    #[test]
    fn colours_are_there_only_if_they_are_wanted() {
        let mut plain = Columns::new(Some(80), false, &[]);
        let mut coloured = Columns::new(Some(80), true, &[]);
        let record = record("/proc/version", "105");
        let (without, with) = (plain.record(&record), coloured.record(&record));
        assert!(!without.contains('\u{1b}'));
        assert!(with.contains("\u{1b}[1mvfs_read\u{1b}[0m"), "{with:?}");
        assert_eq!(anstream::adapter::strip_str(&with).to_string(), without);
    }

    #[test]
    fn a_task_cannot_paint_the_terminal() {
        let mut columns = Columns::new(None, false, &[]);
        let mut record = record("x", "1");
        record.comm = "\u{1b}[2J".into();
        assert!(columns.record(&record).contains("\\x1b[2J-117"));
    }
}
