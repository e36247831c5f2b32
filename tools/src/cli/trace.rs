// SPDX-License-Identifier: GPL-2.0

//! The command that defines, enables and follows.

use super::FileArgs;
use clap::Args;
use ferroprobe_tools::error::{Refusal, Result};
use ferroprobe_tools::refuse;
use ferroprobe_tools::trace::output::{Output, Style};
use ferroprobe_tools::trace::plan::Plan;
use ferroprobe_tools::trace::{self, units, Outcome, Request};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// What is to be traced, and how it is shown.
#[derive(Args)]
#[command(override_usage = "ferroprobe trace [OPTIONS] DEFINITION... [-c COMMAND...]")]
pub(super) struct TraceArgs {
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
        conflicts_with = "command"
    )]
    pid: Vec<u32>,
    /// End after this time, such as 10s or 1m30s
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    /// Show the kernel's stack of each record
    #[arg(long)]
    stack: bool,
    /// Write to a file, default: the standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Size of the buffer of each CPU, such as 8M
    #[arg(long, value_name = "SIZE", value_parser = kilobytes)]
    buffer: Option<u64>,
    /// Columns of a line, the terminal's by default
    #[arg(long, value_name = "COLUMNS")]
    width: Option<usize>,
    /// The directory of ferroprobe, default: where the kernel shows it
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Leave out locations where a variable cannot be fetched
    #[arg(long)]
    skip: bool,
    /// [p|r|f|t|e|b[:NAME]] PLACE [ARGUMENT...] [if FILTER], each in quotes
    #[arg(required = true, value_name = "DEFINITION")]
    definitions: Vec<String>,
}

/// Where debug information is.
#[derive(Args)]
struct Which {
    /// The running kernel with its debug information, default: found by its build-id
    #[arg(long, short = 'k', value_name = "FILE")]
    vmlinux: Option<PathBuf>,
    /// A module, by name or as a file with debug information, whose source lines are meant
    #[arg(long, short, value_name = "MODULE", conflicts_with = "vmlinux")]
    module: Option<String>,
    /// Folder to look for debug information in, default: /usr/lib/debug
    #[arg(long, value_name = "DIR")]
    debug_dir: Option<PathBuf>,
}

/// Takes what is behind the first word of a command off the line: its options are not this
/// program's.
pub(super) fn split(mut line: Vec<OsString>) -> (Vec<OsString>, Vec<OsString>) {
    let is_trace = line.get(1).is_some_and(|word| word == "trace");
    let mut words = line.iter().take_while(|word| *word != "--");
    let at = words.position(|word| word == "-c" || word == "--command");
    let rest = match at {
        Some(at) if is_trace && at + 2 < line.len() => line.split_off(at + 2),
        _ => Vec::new(),
    };
    (line, rest)
}

/// KiB.
fn kilobytes(text: &str) -> std::result::Result<u64, String> {
    match units::number(text) {
        Some(bytes) if bytes >= 1 << 10 => Ok(bytes >> 10),
        _ => Err("a size has a unit: write 512K or 8M".into()),
    }
}

/// This program, with a hidden command.
fn program(command: &str) -> Result<Command> {
    let path = std::env::current_exe()?;
    let mut program = Command::new(path);
    program.arg(command);
    Ok(program)
}

/// Traces.
pub(super) fn run(args: TraceArgs, rest: Vec<OsString>) -> Result<ExitCode> {
    let style = Style {
        json: args.json,
        stack: args.stack,
        width: args.width,
    };
    let about = |error: std::io::Error| match &args.output {
        Some(path) => Refusal::from(error).about(path.display()),
        None => error.into(),
    };
    let mut output = Output::new(args.output.as_deref(), style).map_err(about)?;
    let mut plan = match Plan::new(&args.definitions) {
        Ok(plan) => plan,
        Err(refused) => {
            output.refuse(&refused);
            return Ok(ExitCode::FAILURE);
        }
    };
    if plan.needs_source() || plan.may_be_inlined() {
        let files = FileArgs {
            vmlinux: args.which.vmlinux,
            module: args.which.module,
            debug_dir: args.which.debug_dir,
            other: false,
        };
        let notes = files.with(|session| {
            let module = files.module_name(session.image)?;
            plan.resolve(session, module.as_deref(), args.skip)
        });
        match notes {
            Ok(notes) => {
                output.say_all(notes.said);
                if !notes.refused.is_empty() {
                    output.refuse(&notes.refused);
                    return Ok(ExitCode::FAILURE);
                }
            }
            Err(refusal) if plan.needs_source() => return Err(refusal),
            // Without debug information nothing is known of inlining.
            Err(_) => {}
        }
    }
    let request = Request {
        directory: args.dir,
        pids: args.pid,
        command: args.command.into_iter().chain(rest).collect(),
        time: args.time,
        stack: args.stack,
        buffer: args.buffer,
    };
    if request.pids.contains(&0) {
        refuse!("0 is no process");
    }
    match trace::run(&request, &mut plan, &program, &mut output)? {
        Outcome::Ended(code) => Ok(ExitCode::from(code)),
        Outcome::Refused(refused) => {
            output.refuse(&refused);
            Ok(ExitCode::FAILURE)
        }
    }
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
