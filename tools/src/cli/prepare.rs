// SPDX-License-Identifier: GPL-2.0

//! What the commands that trace for a while have in common: whose hits count, how long, and a plan
//! of definitions, with debug information where that is needed.

use super::FileArgs;
use clap::Args;
use ferroprobe_tools::error::{Refusal, Result};
use ferroprobe_tools::refuse;
use ferroprobe_tools::trace::output::{terminal_width, Output, Style};
use ferroprobe_tools::trace::plan::Plan;
use ferroprobe_tools::trace::refused::Refused;
use ferroprobe_tools::trace::{units, Outcome, Request};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// The commands that run others.
const RUN: [&str; 3] = ["trace", "top", "graph"];

/// Whose hits count, for how long, and where the files are.
#[derive(Args)]
pub(super) struct SessionArgs {
    #[command(flatten)]
    which: Which,
    /// Run a command, which is the rest of the line, follow it and what it begins, and end with its
    /// exit status
    #[arg(short, long, value_name = "COMMAND...")]
    command: Option<OsString>,
    /// Follow this process and what it begins; more than one with commas
    #[arg(
        short,
        long,
        value_name = "PID",
        value_delimiter = ',',
        value_parser = process,
        conflicts_with = "command"
    )]
    pid: Vec<u32>,
    /// End after this time, such as 10s or 1m30s
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    /// The directory of ferroprobe, default: where the kernel shows it
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl SessionArgs {
    /// Takes them apart; `rest` is the rest of the command.
    pub(super) fn split(self, rest: Vec<OsString>) -> Result<(Which, Request)> {
        if self.pid.contains(&0) {
            refuse!("0 is no process");
        }
        let request = Request {
            directory: self.dir,
            pids: self.pid,
            command: self.command.into_iter().chain(rest).collect(),
            time: self.time,
            ends_with_tasks: true,
            ..Request::default()
        };
        Ok((self.which, request))
    }
}

/// The pid of a process.
fn process(text: &str) -> std::result::Result<u32, String> {
    let pid = text.parse();
    pid.map_err(|_| {
        format!("a pid is a number: 'if comm == \"{text}\"' behind a definition is for a name")
    })
}

/// How large the buffer is.
#[derive(Args)]
pub(super) struct BufferArgs {
    /// Size of the buffer of each CPU, such as 8M
    #[arg(long = "buffer", value_name = "SIZE", value_parser = kilobytes)]
    pub(super) kilobytes: Option<u64>,
}

/// KiB.
fn kilobytes(text: &str) -> std::result::Result<u64, String> {
    match units::number(text) {
        Some(bytes) if bytes >= 1 << 10 => Ok(bytes >> 10),
        _ => Err("a size has a unit: write 512K or 8M".into()),
    }
}

/// Opens what a session writes to: a file, or the standard output.
pub(super) fn open_output(file: Option<&Path>, style: Style) -> Result<Output> {
    Output::new(file, style).map_err(|error| match file {
        Some(path) => Refusal::from(error).about(path.display()),
        None => error.into(),
    })
}

/// The exit status of a session that has ended.
pub(super) fn exit_code(outcome: Outcome, columns: Option<usize>) -> ExitCode {
    match outcome {
        Outcome::Ended(code) => ExitCode::from(code),
        Outcome::Refused(all) => say_refused(&all, columns),
    }
}

/// Says what is refused, on lines of so many columns, or of the terminal's.
pub(super) fn say_refused(all: &[Refused], columns: Option<usize>) -> ExitCode {
    let terminal = || io::stderr().is_terminal().then(terminal_width).flatten();
    let width = columns.or_else(terminal);
    for refused in all {
        eprintln!("{}", refused.text(width));
    }
    ExitCode::FAILURE
}

/// Where debug information is.
#[derive(Args)]
pub(super) struct Which {
    /// The running kernel with its debug information, default: found by its build-id
    #[arg(long, short = 'k', value_name = "FILE")]
    vmlinux: Option<PathBuf>,
    /// A module, by name or as a file with debug information, whose source lines are meant
    #[arg(long, short, value_name = "MODULE", conflicts_with = "vmlinux")]
    module: Option<String>,
    /// Folder to look for debug information in, default: /usr/lib/debug
    #[arg(long, value_name = "DIR")]
    debug_dir: Option<PathBuf>,
    /// Leave out locations where a variable cannot be fetched
    #[arg(long)]
    skip: bool,
}

/// A plan, unless something is refused.
pub(super) struct Prepared {
    /// The plan.
    pub(super) plan: Plan,
    /// What the user is to know.
    pub(super) said: Vec<String>,
}

/// Plans `definitions`.
pub(super) fn prepare(
    definitions: &[String],
    which: Which,
) -> Result<std::result::Result<Prepared, Vec<Refused>>> {
    let mut plan = match Plan::new(definitions) {
        Ok(plan) => plan,
        Err(refused) => return Ok(Err(refused)),
    };
    let mut said = Vec::new();
    if plan.needs_source() || plan.may_be_inlined() {
        let files = FileArgs {
            vmlinux: which.vmlinux,
            module: which.module,
            debug_dir: which.debug_dir,
            other: false,
        };
        let notes = files.with(|session| {
            let module = files.module_name(session.image)?;
            plan.resolve(session, module.as_deref(), which.skip)
        });
        match notes {
            Ok(notes) if !notes.refused.is_empty() => return Ok(Err(notes.refused)),
            Ok(notes) => said = notes.said,
            Err(refusal) if plan.needs_source() => return Err(refusal),
            // Without debug information nothing is known of inlining.
            Err(_) => {}
        }
    }
    Ok(Ok(Prepared { plan, said }))
}

/// Takes what is behind the first word of a command off the line: its options are not this
/// program's.
pub(super) fn split(mut line: Vec<OsString>) -> (Vec<OsString>, Vec<OsString>) {
    let runs = line
        .get(1)
        .is_some_and(|word| RUN.iter().any(|run| word == run));
    let mut words = line.iter().take_while(|word| *word != "--");
    let at = words.position(|word| word == "-c" || word == "--command");
    let rest = match at {
        Some(at) if runs && at + 2 < line.len() => line.split_off(at + 2),
        _ => Vec::new(),
    };
    (line, rest)
}

/// This program, with a hidden command.
pub(super) fn program(command: &str) -> Result<Command> {
    let path = std::env::current_exe()?;
    let mut program = Command::new(path);
    program.arg(command);
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_text(line: &str) -> (String, String) {
        let words = line.split(' ').map(OsString::from).collect();
        let (line, rest) = split(words);
        let joined = |words: Vec<OsString>| words.join(" ".as_ref()).into_string();
        (joined(line).expect("text"), joined(rest).expect("text"))
    }

    #[test]
    fn a_command_keeps_its_options() {
        for (text, line, rest) in [
            ("f trace x -c ls -l --json", "f trace x -c ls", "-l --json"),
            ("f trace x --json -c ls", "f trace x --json -c ls", ""),
            ("f trace x -c", "f trace x -c", ""),
            ("f trace -- x -c ls -l", "f trace -- x -c ls -l", ""),
            ("f top calls -c ls -l", "f top calls -c ls", "-l"),
            ("f graph x -c ls -l", "f graph x -c ls", "-l"),
            ("f define x -c ls -l", "f define x -c ls -l", ""),
        ] {
            assert_eq!(split_text(text), (line.into(), rest.into()));
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(kilobytes("64K"), Ok(64));
        assert_eq!(kilobytes("1M"), Ok(1024));
        assert!(kilobytes("64").is_err() && kilobytes("1ns").is_err());
    }
}
