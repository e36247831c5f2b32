// SPDX-License-Identifier: GPL-2.0

//! The command that defines, enables and follows.

use super::prepare::{
    exit_code, open_output, prepare, program, say_refused, BufferArgs, SessionArgs,
};
use clap::Args;
use ferroprobe_tools::error::Result;
use ferroprobe_tools::trace::output::Style;
use ferroprobe_tools::trace::{self, Request};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// What is to be traced, and how it is shown.
#[derive(Args)]
#[command(override_usage = "ferroprobe trace [OPTIONS] DEFINITION... [-c COMMAND...]")]
pub(super) struct TraceArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    /// Show the kernel's stack of each record
    #[arg(long)]
    stack: bool,
    /// Write to a file, default: the standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    buffer: BufferArgs,
    /// Columns of a line, the terminal's by default
    #[arg(long, value_name = "COLUMNS")]
    width: Option<usize>,
    /// [p|r|f|t|e|b|c|w[:NAME]] PLACE [ARGUMENT...] [if FILTER], each in quotes, or GROUP/EVENT
    #[arg(required = true, value_name = "DEFINITION")]
    definitions: Vec<String>,
}

/// Traces.
pub(super) fn run(args: TraceArgs, rest: Vec<OsString>) -> Result<ExitCode> {
    let style = Style {
        json: args.json,
        stack: args.stack,
        width: args.width,
    };
    let mut output = open_output(args.output.as_deref(), style)?;
    let (which, request) = args.session.split(rest)?;
    let mut prepared = match prepare(&args.definitions, which)? {
        Ok(prepared) => prepared,
        Err(refused) => return Ok(say_refused(&refused, args.width)),
    };
    output.say_all(prepared.said);
    let request = Request {
        stack: args.stack,
        buffer: args.buffer.kilobytes,
        ..request
    };
    let outcome = trace::run(&request, &mut prepared.plan, &program, &mut output)?;
    Ok(exit_code(outcome, args.width))
}
