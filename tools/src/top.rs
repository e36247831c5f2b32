// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe top`: counts and rates, live.
//!
//! The definitions and the instance of the command are private: [`crate::trace`] says how.
//! The kernel counts, in histograms of the instance; what is read of them becomes rows with rates,
//! and these a screen or a table:
//!
//! * [`source`]: what is counted; [`view`]: by what, and the histograms for that;
//! * [`counts`], [`rows`], [`slowest`], [`board`]: what is known, without where it comes from;
//! * [`sheet`]: how it is text; [`state`], [`screen`]: what the user sees of it, and keys;
//! * [`kernel`]: what is written to and read from the directory;
//! * [`live`], [`plain`], [`terminal`], [`save`]: what the user gets.

pub mod board;
pub mod counts;
pub mod kernel;
pub mod live;
pub mod plain;
pub mod rows;
pub mod save;
pub mod screen;
pub mod sheet;
pub mod slowest;
pub mod source;
pub mod state;
pub mod terminal;
pub mod view;

use crate::error::Result;
use crate::trace::armed::{Armed, Program, Request};
use crate::trace::ending::Ending;
use crate::trace::plan::Plan;
use crate::trace::Outcome;
use board::Board;
use kernel::Kernel;
use rows::Column;
use source::Source;
use std::time::Duration;

/// How it is wanted.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What is counted, as the user has written it.
    pub title: String,
    /// The views, by their names.
    pub by: Vec<String>,
    /// What rows are sorted by.
    pub sort: Column,
    /// The least first.
    pub reverse: bool,
    /// What rows must have.
    pub filter: String,
    /// The time between two readings.
    pub every: Duration,
    /// One table of all the time.
    pub once: bool,
    /// Rows of a table.
    pub rows: usize,
    /// Columns of a table, if they are limited.
    pub width: Option<usize>,
    /// Whether there is a screen.
    pub is_live: bool,
    /// Whether it has colours.
    pub has_colours: bool,
}

/// Counts and shows.
pub fn run(
    wanted: &Wanted,
    request: &Request,
    source: &Source,
    plan: &mut Plan,
    program: Program<'_>,
) -> Result<Outcome> {
    let mut ending = Ending::new()?;
    let mut say = |texts: Vec<String>| {
        for text in texts {
            eprintln!("ferroprobe: {text}");
        }
    };
    let mut armed = match Armed::new(request, plan, program, &mut say)? {
        Ok(armed) => armed,
        Err(refused) => return Ok(Outcome::Refused(refused)),
    };
    let mut kernel = Kernel::new(source, plan, &mut armed);
    let mut board = Board::new(&kernel.subjects);
    let views = wanted.by.iter().map(|name| board.find(name));
    let views = views.collect::<Result<Vec<usize>>>()?;
    for view in views.iter().filter_map(|view| board.views.get(*view)) {
        kernel.show(view)?;
    }
    let command = kernel.armed().command.take();
    let shown = ending
        .begin(request, command)
        .and_then(|()| match wanted.is_live {
            true => {
                let view = views.first().copied().unwrap_or(0);
                live::run(wanted, view, &mut kernel, &mut board, &mut ending)
            }
            false => plain::run(wanted, &views, &mut kernel, &mut board, &mut ending),
        });
    ending.finish();
    Ok(Outcome::Ended(shown?))
}
