// SPDX-License-Identifier: GPL-2.0

//! The command that counts and shows a live view.

use super::prepare::{exit_code, prepare, program, say_refused, SessionArgs};
use clap::{Args, ValueEnum};
use ferroprobe_tools::error::Result;
use ferroprobe_tools::refuse;
use ferroprobe_tools::top::rows::Column;
use ferroprobe_tools::top::source::Source;
use ferroprobe_tools::top::{self, Wanted};
use ferroprobe_tools::trace::output::stdout_width;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

/// The least time between two readings.
const LEAST: Duration = Duration::from_millis(100);

/// What is counted, and how it is shown.
#[derive(Args)]
#[command(override_usage = "ferroprobe top [OPTIONS] WHAT... [-c COMMAND...]")]
pub(super) struct TopArgs {
    #[command(flatten)]
    session: SessionArgs,
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

/// Counts and shows.
pub(super) fn run(args: TopArgs, rest: Vec<OsString>) -> Result<ExitCode> {
    if args.every < LEAST {
        refuse!("--every: not more often than each 100ms");
    }
    let (which, mut request) = args.session.split(rest)?;
    let source = Source::new(&args.what);
    let mut prepared = match prepare(&source.definitions, which)? {
        Ok(prepared) => prepared,
        Err(all) => return Ok(say_refused(&all, args.width)),
    };
    for text in &prepared.said {
        eprintln!("ferroprobe: {text}");
    }
    let has_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
    // By NO_COLOR, CLICOLOR and TERM.
    let choice = anstream::AutoStream::choice(&io::stdout());
    // A table of what tasks did is of interest when they have ended.
    request.ends_with_tasks = false;
    if args.once && request.command.is_empty() {
        request.time.get_or_insert(args.every);
    }
    let wanted = Wanted {
        title: args.what.join(" "),
        by: args.by,
        sort: args.sort.into(),
        reverse: args.reverse,
        filter: args.filter,
        every: args.every,
        once: args.once,
        rows: args.rows,
        width: args.width.or_else(stdout_width),
        // A command has the terminal for itself.
        is_live: has_terminal && !args.once && !args.plain && request.command.is_empty(),
        has_colours: choice != anstream::ColorChoice::Never,
    };
    let outcome = top::run(&wanted, &request, &source, &mut prepared.plan, &program)?;
    Ok(exit_code(outcome, args.width))
}
