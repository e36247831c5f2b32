// SPDX-License-Identifier: GPL-2.0

//! Prints tables at intervals, where there is no terminal to show a screen on.

use super::board::{Board, Look};
use super::kernel::Kernel;
use super::{code_of, Wanted};
use crate::error::Result;
use crate::trace::command::{self, Started};
use crate::trace::follow::Waker;
use crate::trace::output::stdout_is_read;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// How often signals and records are looked after.
const LOOK: Duration = Duration::from_millis(500);

/// Prints until the end, and returns the exit status.
pub fn run(
    wanted: &Wanted,
    views: &[usize],
    kernel: &mut Kernel<'_>,
    board: &mut Board,
    waker: &mut Waker,
) -> Result<u8> {
    let begin = Instant::now();
    let mut command = kernel.armed().command.take();
    if let Some(command) = &command {
        command.open_gate()?;
    }
    // One table is of all the time.
    let end = match (wanted.once, wanted.time) {
        (true, None) if command.is_none() => Some(wanted.every),
        (_, time) => time,
    };
    let mut printed = begin;
    loop {
        let left = end.map(|end| end.saturating_sub(begin.elapsed()));
        let next = match wanted.once {
            true => LOOK,
            false => wanted.every.saturating_sub(printed.elapsed()),
        };
        let longest = left.unwrap_or(LOOK).min(next).min(LOOK);
        waker.wait(&kernel.armed().reader, longest)?;
        kernel.take(board)?;
        if !stdout_is_read() {
            return Ok(0);
        }
        let ended = ended(waker, &mut command).or(match left {
            Some(Duration::ZERO) => Some(0),
            _ => None,
        });
        let is_due = !wanted.once && printed.elapsed() >= wanted.every;
        if ended.is_some() || is_due {
            printed = Instant::now();
            while ended.is_some() && kernel.take(board)? {}
            if !print(wanted, views, kernel, board)? {
                return Ok(0);
            }
        }
        if let Some(code) = ended {
            return Ok(code);
        }
    }
}

/// The exit status, if it is the end.
fn ended(waker: &mut Waker, command: &mut Option<Started>) -> Option<u8> {
    if let Some(status) = command.as_mut().and_then(Started::ended) {
        return Some(command::code(status));
    }
    waker.signals().into_iter().map(code_of).next()
}

/// Prints the views. Returns whether anybody reads.
fn print(
    wanted: &Wanted,
    views: &[usize],
    kernel: &mut Kernel<'_>,
    board: &mut Board,
) -> Result<bool> {
    let look = Look {
        column: wanted.sort,
        reverse: wanted.reverse,
        filter: wanted.filter.clone(),
    };
    let mut text = String::new();
    for view in views {
        kernel.read(*view, board)?;
        text.push_str(&board.text(*view, &look, wanted.width, wanted.rows));
        text.push('\n');
    }
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error.into()),
    }
}
