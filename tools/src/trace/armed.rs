// SPDX-License-Identifier: GPL-2.0

//! What a session has until its end: definitions, an instance and, maybe, a command.

use super::command::Started;
use super::directory::{Directory, Owner};
use super::follow::Reader;
use super::format::Format;
use super::instance::Instance;
use super::losses::{self, Hits};
use super::mapped::Mapped;
use super::plan::Plan;
use super::refused::Refused;
use super::setup;
use crate::error::Result;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// What is asked for.
#[derive(Debug, Default)]
pub struct Request {
    /// The directory, if it is given.
    pub directory: Option<PathBuf>,
    /// The processes whose hits count; all if there are none.
    pub pids: Vec<u32>,
    /// The command to run.
    pub command: Vec<OsString>,
    /// How long.
    pub time: Option<Duration>,
    /// Whether the end of the processes is the end.
    pub ends_with_tasks: bool,
    /// Whether a stack follows each record.
    pub stack: bool,
    /// KiB of the buffer of each CPU.
    pub buffer: Option<u64>,
}

impl Request {
    /// Whether only the hits of some tasks count.
    pub fn follows_tasks(&self) -> bool {
        !self.pids.is_empty() || !self.command.is_empty()
    }
}

/// How this program is started as another process, with a hidden command.
pub type Program<'a> = &'a dyn Fn(&str) -> Result<Command>;

/// What there is. Its parts go in their order: the instance last, without open files.
#[derive(Debug)]
pub struct Armed {
    /// The command, which waits at its gate.
    pub command: Option<Started>,
    /// The records.
    pub reader: Reader,
    /// The files of the instance.
    pub files: Directory,
    /// The fields of each event of the plan.
    pub formats: Vec<Format>,
    /// When it began.
    pub begin: Option<u64>,
    directory: Directory,
    owner: Owner,
    _instance: Instance,
}

impl Armed {
    /// Defines the events of `plan`, sets their filters and tasks, and enables none. Or returns what
    /// is refused, and nothing is left. `say` gets what the user is to know.
    pub fn new(
        request: &Request,
        plan: &mut Plan,
        program: Program<'_>,
        say: &mut dyn FnMut(Vec<String>),
    ) -> Result<std::result::Result<Self, Vec<Refused>>> {
        let directory = Directory::find(request.directory.as_deref())?;
        let mut owner = directory.owner()?;
        let mut refused = plan.find_events(&directory);
        let plan = &*plan;
        refused.extend(setup::define(&directory, &mut owner, plan));
        if !refused.is_empty() {
            return Ok(Err(refused));
        }
        say(setup::waiting(&directory, plan));
        let instance = Instance::new(&directory, program("trace-keeper")?)?;
        let files = instance.directory().clone();
        if let Some(kilobytes) = request.buffer {
            files.set("buffer_size_kb", &kilobytes.to_string())?;
        }
        if request.stack {
            files.set("options/stacktrace", "1")?;
        }
        let formats = match setup::filter(&files, plan) {
            Ok(formats) => formats,
            Err(refused) => return Ok(Err(refused)),
        };
        let mut reader = Reader::open(&files.path("trace_json"))?;
        let command = match request.command.as_slice() {
            [] => None,
            words => Some(Started::new(program("trace-gate")?, words)?),
        };
        let mut pids = request.pids.clone();
        pids.extend(command.as_ref().map(Started::pid));
        say(setup::follow_tasks(&files, &pids)?);
        setup::leave_out_own(&files)?;
        let begin = setup::mark(&files, &mut reader);
        Ok(Ok(Self {
            command,
            reader,
            files,
            formats,
            begin,
            directory,
            owner,
            _instance: instance,
        }))
    }

    /// Defines further events, each of a line: all or none. They are not enabled.
    pub fn define(&mut self, lines: &str) -> std::result::Result<(), Refused> {
        let mut text = Mapped::default();
        text.push_written(lines, 0);
        self.owner.define(&self.directory, &text, lines)
    }

    /// What became of the hits of each event of the plan.
    pub fn hits(&self, plan: &Plan) -> Vec<Hits> {
        let stats = self.directory.read("kprobe_stats").unwrap_or_default();
        let events = plan.events.iter();
        events
            .map(|event| losses::hits(&stats, &event.event()))
            .collect()
    }

    /// The directory above the instance.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }
}
