// SPDX-License-Identifier: GPL-2.0

//! The command that counts and shows a live view.

use super::prepare::{prepare, program, Which};
use clap::{Args, ValueEnum};
use ferroprobe_tools::error::Result;
use ferroprobe_tools::refuse;
use ferroprobe_tools::top::rows::Column;
use ferroprobe_tools::top::source::Source;
use ferroprobe_tools::top::{self, Wanted};
use ferroprobe_tools::trace::refused::Refused;
use ferroprobe_tools::trace::{Outcome, Request};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The least time between two readings.
const LEAST: Duration = Duration::from_millis(100);

/// What is counted, and how it is shown.
#[derive(Args)]
#[command(override_usage = "ferroprobe top [OPTIONS] WHAT... [-c COMMAND...]")]
pub(super) struct TopArgs {
    #[command(flatten)]
    which: Which,
    /// Run a command, which is the rest of the line, count what it and what it begins do, and end
    /// with its exit status
    #[arg(short, long, value_name = "COMMAND...")]
    command: Option<OsString>,
    /// Count what this process and what it begins do; more than one with commas
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
    /// The time between two readings
    #[arg(long, value_name = "TIME", default_value = "1s",
        value_parser = humantime::parse_duration)]
    every: Duration,
    /// Print one table, of all the time, and end
    #[arg(long)]
    once: bool,
    /// Print tables, also to a terminal
    #[arg(long)]
    plain: bool,
    /// By name, process, error, slowest or a field of the events; more than one with commas
    #[arg(
        long,
        value_name = "VIEW",
        value_delimiter = ',',
        default_value = "name"
    )]
    by: Vec<String>,
    /// The column to sort by
    #[arg(long, value_enum, default_value = "rate")]
    sort: Sort,
    /// The least first
    #[arg(long)]
    reverse: bool,
    /// Only rows that have this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// Rows of a printed table
    #[arg(long, value_name = "NUMBER", default_value = "20")]
    rows: usize,
    /// Columns of a printed table, the terminal's by default
    #[arg(long, value_name = "COLUMNS")]
    width: Option<usize>,
    /// The directory of ferroprobe, default: where the kernel shows it
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// calls, files, locks or block; a function, or patterns such as 'vfs_*'; or definitions as
    /// for trace, each in quotes
    #[arg(required = true, value_name = "WHAT")]
    what: Vec<String>,
}

/// A column.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Sort {
    /// Hits a second
    Rate,
    /// Hits
    Count,
    /// The mean time
    Mean,
    /// The longest time
    Max,
    /// All time
    Time,
    /// Bytes
    Bytes,
    /// The name
    Name,
}

impl From<Sort> for Column {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Rate => Self::Rate,
            Sort::Count => Self::Count,
            Sort::Mean => Self::Mean,
            Sort::Max => Self::Longest,
            Sort::Time => Self::Time,
            Sort::Bytes => Self::Bytes,
            Sort::Name => Self::Name,
        }
    }
}

/// The columns of the terminal.
fn width() -> Option<usize> {
    let size = terminal_size::terminal_size_of(io::stdout());
    size.map(|(width, _)| usize::from(width.0).max(1))
}

/// Says what is refused.
fn refused(all: &[Refused]) -> ExitCode {
    let width = io::stderr().is_terminal().then(width).flatten();
    for refused in all {
        eprintln!("{}", refused.text(width));
    }
    ExitCode::FAILURE
}

/// Counts and shows.
pub(super) fn run(args: TopArgs, rest: Vec<OsString>) -> Result<ExitCode> {
    if args.every < LEAST {
        refuse!("--every: not more often than each 100ms");
    }
    if args.pid.contains(&0) {
        refuse!("0 is no process");
    }
    let source = Source::new(&args.what);
    let mut prepared = match prepare(&source.definitions, args.which)? {
        Ok(prepared) => prepared,
        Err(all) => return Ok(refused(&all)),
    };
    for text in &prepared.said {
        eprintln!("ferroprobe: {text}");
    }
    let has_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
    // By NO_COLOR, CLICOLOR and TERM.
    let choice = anstream::AutoStream::choice(&io::stdout());
    let command: Vec<OsString> = args.command.into_iter().chain(rest).collect();
    let wanted = Wanted {
        title: args.what.join(" "),
        by: args.by,
        sort: args.sort.into(),
        reverse: args.reverse,
        filter: args.filter,
        every: args.every,
        time: args.time,
        once: args.once,
        rows: args.rows,
        width: args.width.or_else(width),
        // A command has the terminal for itself.
        is_live: has_terminal && !args.once && !args.plain && command.is_empty(),
        has_colours: choice != anstream::ColorChoice::Never,
    };
    let request = Request {
        directory: args.dir,
        pids: args.pid,
        command,
        time: args.time,
        ..Request::default()
    };
    match top::run(&wanted, &request, &source, &mut prepared.plan, &program)? {
        Outcome::Ended(code) => Ok(ExitCode::from(code)),
        Outcome::Refused(all) => Ok(refused(&all)),
    }
}
