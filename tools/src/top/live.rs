// SPDX-License-Identifier: GPL-2.0

//! Shows the views on a terminal until the user has seen enough.

use super::board::{Board, Look};
use super::kernel::Kernel;
use super::save;
use super::screen::{self, Screen};
use super::state::{Effect, Key, State};
use super::terminal::{Input, Screened};
use super::{code_of, Wanted};
use crate::error::Result;
use crate::trace::follow::Waker;
use crate::trace::output::stdout_is_read;
use signal_hook::consts::signal::SIGHUP;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often signals and records are looked after.
const LOOK: Duration = Duration::from_millis(100);

/// How long a view is counted before it is read for the first time: rates are of that time.
const FIRST: Duration = Duration::from_millis(300);

/// Columns of what is saved: as many as there are.
const SAVED: Option<usize> = None;

/// Shows them from `view` on, and returns the exit status.
pub fn run(
    wanted: &Wanted,
    view: usize,
    kernel: &mut Kernel<'_>,
    board: &mut Board,
    waker: &mut Waker,
) -> Result<u8> {
    let screen = Screen {
        title: wanted.title.clone(),
        has_colours: wanted.has_colours,
    };
    let mut state = State {
        view,
        look: Look {
            column: wanted.sort,
            reverse: wanted.reverse,
            filter: wanted.filter.clone(),
        },
        ..State::default()
    };
    let begin = Instant::now();
    let mut terminal = Screened::new()?;
    let mut due = begin + FIRST;
    // A view that is new is read also while the numbers stand still.
    let mut is_new = true;
    let mut is_changed = true;
    loop {
        if let Some(signal) = waker.signals().into_iter().next() {
            return Ok(code_of(signal));
        }
        if !stdout_is_read() {
            return Ok(code_of(SIGHUP));
        }
        if wanted.time.is_some_and(|time| begin.elapsed() >= time) {
            return Ok(0);
        }
        let now = Instant::now();
        while kernel.take(board)? && now.elapsed() < LOOK {}
        if (is_new || !state.is_paused) && Instant::now() >= due {
            kernel.read(state.view, board)?;
            is_new = false;
            due = Instant::now() + wanted.every;
            is_changed = true;
        }
        if is_changed {
            // A terminal that goes sends a signal as well.
            let _ = terminal.draw(|frame| screen.draw(frame, &state, board));
            is_changed = false;
        }
        let Some(key) = wait(&terminal, &mut is_changed)? else {
            continue;
        };
        is_changed = true;
        match state.press(key, board, screen::page(terminal.height())) {
            Effect::None => {}
            Effect::Quit => return Ok(0),
            Effect::Save => state.message = Some(saved(&state, board, wanted)),
            Effect::View => {
                let view = board.views.get(state.view).cloned();
                let begins = view.map_or(Ok(false), |view| kernel.show(&view))?;
                // What has been counted before is there at once.
                due = Instant::now() + if begins { FIRST } else { Duration::ZERO };
                is_new = true;
            }
        }
    }
}

/// Waits for a key for a while.
fn wait(terminal: &Screened, is_changed: &mut bool) -> Result<Option<Key>> {
    match terminal.input(LOOK) {
        Ok(Input::Key(key)) => return Ok(Some(key)),
        Ok(Input::Resized) => *is_changed = true,
        Ok(Input::Nothing) => {}
        // Without a terminal there are no keys; the signal says so.
        Err(_) => std::thread::sleep(LOOK),
    }
    Ok(None)
}

/// Saves what is shown, and says where.
fn saved(state: &State, board: &Board, wanted: &Wanted) -> String {
    let text = board.text(state.view, &state.look, SAVED, usize::MAX);
    let text = format!("top {}\n{text}", wanted.title);
    match save::save(Path::new("."), &text) {
        Ok(path) => format!("saved to {}", path.display()),
        Err(error) => format!("not saved: {error}"),
    }
}
