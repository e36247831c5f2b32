// SPDX-License-Identifier: GPL-2.0

//! Prints tables at intervals, where there is no terminal to show a screen on.

use super::board::{Board, Look};
use super::kernel::Kernel;
use super::Wanted;
use crate::error::Result;
use crate::trace::ending::{Ending, LOOK};
use crate::trace::output::stdout_is_read;
use std::io::{self, Write};
use std::time::Instant;

/// Prints until the end, and returns the exit status.
pub fn run(
    wanted: &Wanted,
    views: &[usize],
    kernel: &mut Kernel<'_>,
    board: &mut Board,
    ending: &mut Ending,
) -> Result<u8> {
    let mut printed = Instant::now();
    loop {
        let next = match wanted.once {
            true => LOOK,
            false => wanted.every.saturating_sub(printed.elapsed()),
        };
        ending.wait(&kernel.armed().reader, next)?;
        kernel.take(board)?;
        if !stdout_is_read() {
            return Ok(0);
        }
        let ended = ending.ended(&kernel.armed().files, &mut |_| ());
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
