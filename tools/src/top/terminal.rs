// SPDX-License-Identifier: GPL-2.0

//! The terminal: its screen and its keys.

use super::state::Key;
use crate::trace::follow::Waker;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    disable_raw_mode, enable_raw_mode, EnterAlternateScreen, LeaveAlternateScreen,
};
use ratatui::{Frame, Terminal};
use rustix::event::PollFlags;
use std::collections::VecDeque;
use std::io::{self, Stdout};
use std::time::Duration;

/// A terminal that shows a screen. It is as it was when this is dropped.
pub struct Screened {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// What was read and is not yet returned: several keys may come at once.
    events: VecDeque<Event>,
}

/// What comes from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A key.
    Key(Key),
    /// The terminal is gone.
    Gone,
    /// Nothing.
    Nothing,
}

impl Screened {
    /// Takes the terminal of the standard output.
    pub fn new() -> io::Result<Self> {
        enable_raw_mode()?;
        let begun = execute!(io::stdout(), EnterAlternateScreen);
        let terminal = begun.and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match terminal {
            Ok(terminal) => Ok(Self {
                terminal,
                events: VecDeque::new(),
            }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Draws a screen.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw)?;
        Ok(())
    }

    /// Its columns and lines.
    pub fn size(&self) -> (u16, u16) {
        let size = self.terminal.size();
        size.map_or((0, 0), |size| (size.width, size.height))
    }

    /// Waits for a key or a signal, at most as long as told. The library would read a terminal that
    /// is gone for ever: it is asked only where there is something to read, and then for all of it.
    pub fn input(&mut self, waker: &Waker, longest: Duration) -> io::Result<Input> {
        if self.events.is_empty() {
            let ready = waker.wait_for(&io::stdin(), longest)?;
            if ready.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
                return Ok(Input::Gone);
            }
            while ready.contains(PollFlags::IN) && event::poll(Duration::ZERO)? {
                self.events.push_back(event::read()?);
            }
        }
        Ok(match self.events.pop_front() {
            Some(Event::Key(event)) => key(event).map_or(Input::Nothing, Input::Key),
            _ => Input::Nothing,
        })
    }
}

impl Drop for Screened {
    fn drop(&mut self) {
        give_back();
    }
}

/// It fails only where there is no terminal any more.
fn give_back() {
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

fn key(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let has_control = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match event.code {
        KeyCode::Char('c' | 'd') if has_control => Key::Interrupt,
        KeyCode::Char(_) if has_control => return None,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_the_state_knows() {
        let pressed = |code, modifiers| key(KeyEvent::new(code, modifiers));
        let none = KeyModifiers::NONE;
        assert_eq!(pressed(KeyCode::Char('c'), none), Some(Key::Char('c')));
        let control = KeyModifiers::CONTROL;
        assert_eq!(pressed(KeyCode::Char('c'), control), Some(Key::Interrupt));
        assert_eq!(pressed(KeyCode::Char('q'), control), None);
        assert_eq!(pressed(KeyCode::F(1), none), None);
    }
}
