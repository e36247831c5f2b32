// SPDX-License-Identifier: GPL-2.0

//! The command that defines, enables and follows.

use super::prepare::{prepare, program, Which};
use clap::Args;
use ferroprobe_tools::error::{Refusal, Result};
use ferroprobe_tools::refuse;
use ferroprobe_tools::trace::output::{Output, Style};
use ferroprobe_tools::trace::{self, units, Outcome, Request};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
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
    /// [p|r|f|t|e|b[:NAME]] PLACE [ARGUMENT...] [if FILTER], each in quotes
    #[arg(required = true, value_name = "DEFINITION")]
    definitions: Vec<String>,
}

/// KiB.
fn kilobytes(text: &str) -> std::result::Result<u64, String> {
    match units::number(text) {
        Some(bytes) if bytes >= 1 << 10 => Ok(bytes >> 10),
        _ => Err("a size has a unit: write 512K or 8M".into()),
    }
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
    let mut prepared = match prepare(&args.definitions, args.which)? {
        Ok(prepared) => prepared,
        Err(refused) => {
            output.refuse(&refused);
            return Ok(ExitCode::FAILURE);
        }
    };
    output.say_all(prepared.said);
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
    match trace::run(&request, &mut prepared.plan, &program, &mut output)? {
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

    #[test]
    fn sizes_have_units() {
        assert_eq!(kilobytes("64K"), Ok(64));
        assert_eq!(kilobytes("1M"), Ok(1024));
        assert!(kilobytes("64").is_err() && kilobytes("1ns").is_err());
    }
}
