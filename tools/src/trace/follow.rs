// SPDX-License-Identifier: GPL-2.0

//! Reads what is recorded, as it comes.

use super::command::WAITING;
use crate::error::Result;
use crate::stream::{Event, Line};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use serde_json::{Map, Value};
use signal_hook::consts::signal::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// The text of the mark with which a session begins.
pub const MARK: &str = "ferroprobe trace begins";

/// What a line is to a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// An event.
    Event(Box<Event>),
    /// The stack of the event before it.
    Stack(Box<Event>),
    /// Some events of a CPU are missing.
    Lost {
        /// How many.
        count: u64,
        /// Of which CPU.
        cpu: u64,
    },
    /// The session's own mark, with its time.
    Began(u64),
    /// What is not shown: what the program itself did before it became the command.
    Own,
}

/// Reads a line of `trace_json`.
pub fn item(line: &str) -> Result<Item> {
    let object: Map<String, Value> = serde_json::from_str(line)?;
    Ok(match Line::read(object)? {
        Line::Event(event) if event.comm == WAITING => Item::Own,
        Line::Stack(event) if event.comm == WAITING => Item::Own,
        Line::Event(event) if is_mark(&event) => Item::Began(event.time),
        Line::Event(event) => Item::Event(event),
        Line::Stack(event) => Item::Stack(event),
        Line::Lost { count, cpu } => Item::Lost { count, cpu },
        Line::Damaged => Item::Own,
    })
}

fn is_mark(event: &Event) -> bool {
    let text = event.arguments.get("buf").and_then(Value::as_str);
    (event.group.as_str(), event.name.as_str()) == ("ftrace", "print")
        && text.is_some_and(|text| text.trim_end() == MARK)
}

/// An open `trace_json`.
#[derive(Debug)]
pub struct Reader {
    file: File,
    /// What was read, and how much of it was taken.
    bytes: Vec<u8>,
    taken: usize,
}

impl Reader {
    /// Opens it. Reads do not wait.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)?;
        Ok(Self {
            file,
            bytes: Vec::new(),
            taken: 0,
        })
    }

    /// Reads more. `false` if there is nothing now.
    pub fn fill(&mut self) -> io::Result<bool> {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        let length = self.bytes.len();
        self.bytes.resize(length + CHUNK, 0);
        let read = self.file.read(&mut self.bytes[length..]);
        let count = *read.as_ref().unwrap_or(&0);
        self.bytes.truncate(length + count);
        match read {
            Ok(count) => Ok(count > 0),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(false),
                _ => Err(error),
            },
        }
    }

    /// The next whole line of what was read.
    pub fn line(&mut self) -> Option<String> {
        let rest = &self.bytes[self.taken..];
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line = String::from_utf8_lossy(&rest[..end]).into_owned();
        self.taken += end + 1;
        Some(line)
    }
}

/// Wakes a session: signals come in as bytes.
#[derive(Debug)]
pub struct Waker {
    signals: UnixStream,
}

impl Waker {
    /// From now on signals do not end the program.
    pub fn new() -> Result<Self> {
        let (signals, mut to) = UnixStream::pair()?;
        signals.set_nonblocking(true)?;
        let mut caught = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGCHLD])?;
        thread::spawn(move || {
            for signal in caught.forever() {
                let byte = u8::try_from(signal).unwrap_or(0);
                // It fails when the session has ended.
                let _ = to.write_all(&[byte]);
            }
        });
        Ok(Self { signals })
    }

    /// The signals that came, SIGCHLD aside.
    pub fn signals(&mut self) -> Vec<i32> {
        let mut bytes = [0; 64];
        let count = self.signals.read(&mut bytes).unwrap_or(0);
        let signals = bytes[..count].iter().map(|byte| i32::from(*byte));
        signals.filter(|signal| *signal != SIGCHLD).collect()
    }

    /// Waits for records or signals, at most as long as told.
    pub fn wait(&self, reader: &Reader, longest: Duration) -> io::Result<()> {
        let mut files = [
            PollFd::new(&reader.file, PollFlags::IN),
            PollFd::new(&self.signals, PollFlags::IN),
        ];
        let longest = Timespec::try_from(longest).map_err(|_| io::ErrorKind::InvalidInput)?;
        match poll(&mut files, Some(&longest)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Waker {
    /// Waits for a terminal or signals, at most as long as told. Returns what is of the terminal.
    pub fn wait_for(&self, terminal: &impl AsFd, longest: Duration) -> io::Result<PollFlags> {
        let mut files = [
            PollFd::new(terminal, PollFlags::IN),
            PollFd::new(&self.signals, PollFlags::IN),
        ];
        let longest = Timespec::try_from(longest).map_err(|_| io::ErrorKind::InvalidInput)?;
        match poll(&mut files, Some(&longest)) {
            Ok(_) => Ok(files[0].revents()),
            Err(rustix::io::Errno::INTR) => Ok(PollFlags::empty()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(comm: &str, group: &str, name: &str, arguments: &str) -> String {
        format!(
            r#"{{"ts":7,"cpu":1,"pid":258,"comm":"{comm}","flags":".....","group":"{group}","event":"{name}","args":{arguments}}}"#
        )
    }

    #[test]
    fn lines_are_what_they_are() {
        let read = |line: String| item(&line).expect("a line");
        let began = event(
            "sh",
            "ftrace",
            "print",
            r#"{"buf":"ferroprobe trace begins\n"}"#,
        );
        assert_eq!(read(began), Item::Began(7));
        let other = event("sh", "ftrace", "print", r#"{"buf":"hello"}"#);
        assert!(matches!(read(other), Item::Event(_)));
        assert_eq!(read(event(WAITING, "g", "e", "{}")), Item::Own);
        let stack = read(event(
            "sh",
            "ftrace",
            "kernel_stack",
            r#"{"caller":["a","b"]}"#,
        ));
        assert!(matches!(stack, Item::Stack(event) if event.frames() == ["a", "b"]));
        assert_eq!(
            read(r#"{"lost":3,"cpu":1}"#.into()),
            Item::Lost { count: 3, cpu: 1 }
        );
        assert!(item("{").is_err());
    }

    #[test]
    fn lines_are_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace_json");
        std::fs::write(&path, "one\ntwo\nthr").expect("a file");
        let mut reader = Reader::open(&path).expect("a file");
        assert!(reader.fill().expect("text"));
        assert_eq!(reader.line().as_deref(), Some("one"));
        assert_eq!(reader.line().as_deref(), Some("two"));
        assert_eq!(reader.line(), None);
        let mut file = OpenOptions::new().append(true).open(&path).expect("a file");
        file.write_all(b"ee\n").expect("a file");
        assert!(reader.fill().expect("text"));
        assert_eq!(reader.line().as_deref(), Some("three"));
        assert!(!reader.fill().expect("no text"));
    }
}
