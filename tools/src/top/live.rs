// SPDX-License-Identifier: GPL-2.0

//! Shows the views on a terminal until the user has seen enough.

use super::board::{Board, Look};
use super::kernel::Kernel;
use super::save;
use super::screen::{self, Screen};
use super::state::{Effect, State};
use super::terminal::{Input, Screened};
use super::Wanted;
use crate::error::Result;
use crate::trace::ending::Ending;
use crate::trace::output::stdout_is_read;
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
    ending: &mut Ending,
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
    let mut terminal = Screened::new()?;
    let mut size = terminal.size();
    let mut due = Instant::now() + FIRST;
    // A view that is new is read also while the numbers stand still.
    let mut is_new = true;
    let mut is_changed = true;
    loop {
        if let Some(code) = ending.ended(&kernel.armed().files, &mut |_| ()) {
            return Ok(code);
        }
        if !stdout_is_read() {
            return Ok(ending.hang_up());
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
        let key = match terminal.input(ending.waker(), LOOK)? {
            Input::Gone => return Ok(ending.hang_up()),
            Input::Nothing => {
                let former = std::mem::replace(&mut size, terminal.size());
                is_changed |= former != size;
                continue;
            }
            Input::Key(key) => key,
        };
        is_changed = true;
        match state.press(key, board, screen::page(size.1)) {
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

/// Saves what is shown, and says where.
fn saved(state: &State, board: &Board, wanted: &Wanted) -> String {
    let text = board.text(state.view, &state.look, SAVED, usize::MAX);
    let text = format!("top {}\n{text}", wanted.title);
    match save::save(Path::new("."), &text) {
        Ok(path) => format!("saved to {}", path.display()),
        Err(error) => format!("not saved: {error}"),
    }
}
