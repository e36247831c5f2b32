// SPDX-License-Identifier: GPL-2.0

//! The command that shows the calls below a function.

use super::prepare::{
    exit_code, open_output, prepare, program, say_refused, BufferArgs, SessionArgs,
};
use clap::Args;
use ferroprobe_tools::error::Result;
use ferroprobe_tools::graph::{self, Wanted};
use ferroprobe_tools::trace::output::Style;
use ferroprobe_tools::trace::Request;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Which calls, and how they are shown.
#[derive(Args)]
#[command(override_usage = "ferroprobe graph [OPTIONS] FUNCTION [-c COMMAND...]")]
pub(super) struct GraphArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// How many calls below the function
    #[arg(long, value_name = "NUMBER", default_value = "3")]
    depth: usize,
    /// How many functions are followed at most, the nearest first
    #[arg(long, value_name = "NUMBER", default_value = "400")]
    most: usize,
    /// Only trees whose first call satisfies this: 'ret < 0', 'duration > 1ms && count > 4K'
    #[arg(long = "if", value_name = "FILTER")]
    filter: Option<String>,
    /// Run the command before, at most once for each level, to learn whom it calls through pointers
    #[arg(long)]
    learn: bool,
    /// Print one JSON object a line, for each tree
    #[arg(long)]
    json: bool,
    /// Write to a file, default: the standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    buffer: BufferArgs,
    /// A function, which may be MODULE:NAME; in quotes with arguments to show of it, as for trace
    #[arg(value_name = "FUNCTION")]
    function: String,
}

/// Follows the calls.
pub(super) fn run(args: GraphArgs, rest: Vec<OsString>) -> Result<ExitCode> {
    let (which, request) = args.session.split(rest)?;
    let wanted = Wanted {
        function: args.function,
        depth: args.depth,
        most: args.most,
        filter: args.filter,
        json: args.json,
        learn: args.learn,
    };
    graph::check(&wanted, &request)?;
    let mut output = open_output(args.output.as_deref(), Style::default())?;
    let mut prepared = match prepare(&[wanted.definition()], which)? {
        Ok(prepared) => prepared,
        Err(refused) => return Ok(say_refused(&refused, None)),
    };
    output.say_all(prepared.said);
    let request = Request {
        buffer: args.buffer.kilobytes,
        ..request
    };
    let outcome = graph::run(&wanted, &request, &mut prepared.plan, &program, &mut output)?;
    Ok(exit_code(outcome, None))
}
