// SPDX-License-Identifier: GPL-2.0

//! What the user sees of a board, and what keys do.

use super::board::{Board, Look};

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A letter.
    Char(char),
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first row.
    Home,
    /// To the next column.
    Right,
    /// To the one before.
    Left,
    /// To the next view.
    Tab,
    /// To the one before.
    BackTab,
    /// The end of a text.
    Enter,
    /// No text.
    Escape,
    /// One character less.
    Backspace,
    /// Ctrl-C.
    Interrupt,
}

/// What is to be done besides drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// Another view is shown.
    View,
    /// The screen is to be saved.
    Save,
    /// The end.
    Quit,
}

/// The state.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The number of the view.
    pub view: usize,
    /// How it is shown.
    pub look: Look,
    /// Whether the filter is being typed.
    pub is_typing: bool,
    /// Whether the numbers stand still.
    pub is_paused: bool,
    /// Rows above the first one that is shown.
    pub scroll: usize,
    /// What the user is to know.
    pub message: Option<String>,
}

impl State {
    /// Does what a key is for, where `page` rows are shown.
    pub fn press(&mut self, key: Key, board: &Board, page: usize) -> Effect {
        self.message = None;
        if key == Key::Interrupt {
            return Effect::Quit;
        }
        if self.is_typing {
            self.type_filter(key);
            return Effect::None;
        }
        match key {
            Key::Char('q') => return Effect::Quit,
            Key::Char('s') => return Effect::Save,
            Key::Char('p' | ' ') => self.is_paused = !self.is_paused,
            Key::Char('r') => self.look.reverse = !self.look.reverse,
            Key::Char('/') => self.is_typing = true,
            Key::Escape => self.set_filter(String::new()),
            Key::Char('>') | Key::Right => self.sort(board, 1),
            Key::Char('<') | Key::Left => self.sort(board, -1),
            Key::Tab => return self.go(board, 1),
            Key::BackTab => return self.go(board, -1),
            Key::Char(digit) if digit.is_ascii_digit() => {
                let number = digit.to_digit(10).unwrap_or(0) as usize;
                if (1..=board.views.len()).contains(&number) {
                    return self.show(number - 1);
                }
            }
            Key::Up => self.scroll = self.scroll.saturating_sub(1),
            Key::Down => self.scroll += 1,
            Key::PageUp => self.scroll = self.scroll.saturating_sub(page),
            Key::PageDown => self.scroll += page,
            Key::Home => self.scroll = 0,
            _ => {}
        }
        // Not behind the last row.
        let rows = board.sheet(self.view, &self.look).rows.len();
        self.scroll = self.scroll.min(rows.saturating_sub(page));
        Effect::None
    }

    fn type_filter(&mut self, key: Key) {
        let mut filter = self.look.filter.clone();
        match key {
            Key::Char(c) => filter.push(c),
            Key::Backspace => {
                filter.pop();
            }
            Key::Escape => {
                filter.clear();
                self.is_typing = false;
            }
            Key::Enter => self.is_typing = false,
            _ => return,
        }
        self.set_filter(filter);
    }

    fn set_filter(&mut self, filter: String) {
        self.look.filter = filter;
        self.scroll = 0;
    }

    fn show(&mut self, view: usize) -> Effect {
        self.view = view;
        self.scroll = 0;
        Effect::View
    }

    /// Another view, one step forwards or backwards.
    fn go(&mut self, board: &Board, step: isize) -> Effect {
        self.show(around(self.view, board.views.len(), step))
    }

    /// Sorts by another column, one step to the right or left.
    fn sort(&mut self, board: &Board, step: isize) {
        let columns = board.columns(self.view);
        let now = columns
            .iter()
            .position(|column| *column == self.look.column);
        let next = around(now.unwrap_or(0), columns.len(), step);
        if let Some(column) = columns.get(next) {
            self.look.column = *column;
            self.scroll = 0;
        }
    }
}

/// One step in a ring of so many.
fn around(at: usize, count: usize, step: isize) -> usize {
    match (step < 0, count) {
        (_, 0) => 0,
        (true, _) => (at + count - 1) % count,
        (false, _) => (at + 1) % count,
    }
}

#[cfg(test)]
mod tests {
    use super::super::board::tests::board;
    use super::super::rows::Column;
    use super::*;

    fn press(state: &mut State, keys: &[Key]) -> Effect {
        let board = board();
        let effects = keys.iter().map(|key| state.press(*key, &board, 10));
        effects.last().unwrap_or(Effect::None)
    }

    #[test]
    fn views_are_gone_through_in_a_ring() {
        let mut state = State::default();
        assert_eq!(press(&mut state, &[Key::BackTab]), Effect::View);
        assert_eq!(state.view, 6);
        press(&mut state, &[Key::Tab, Key::Tab]);
        assert_eq!(state.view, 1);
        press(&mut state, &[Key::Char('5'), Key::Char('9')]);
        assert_eq!(state.view, 4);
    }

    #[test]
    fn columns_are_gone_through() {
        let mut state = State::default();
        press(&mut state, &[Key::Right, Key::Char('>'), Key::Char('r')]);
        assert_eq!(
            (state.look.column, state.look.reverse),
            (Column::Mean, true)
        );
        press(&mut state, &[Key::Left, Key::Left, Key::Left]);
        assert_eq!(state.look.column, Column::Name);
    }

    #[test]
    fn a_filter_is_typed() {
        let mut state = State::default();
        let keys = [
            Key::Char('/'),
            Key::Char('q'),
            Key::Char('s'),
            Key::Backspace,
        ];
        assert_eq!(press(&mut state, &keys), Effect::None);
        assert!(state.is_typing);
        press(&mut state, &[Key::Enter]);
        assert_eq!((state.look.filter.as_str(), state.is_typing), ("q", false));
        press(&mut state, &[Key::Escape]);
        assert_eq!(state.look.filter, "");
        press(&mut state, &[Key::Char('/')]);
        assert_eq!(press(&mut state, &[Key::Interrupt]), Effect::Quit);
    }

    #[test]
    fn the_rest_of_the_keys() {
        let mut state = State::default();
        press(&mut state, &[Key::Char('p')]);
        assert!(state.is_paused);
        press(&mut state, &[Key::Char(' '), Key::Down, Key::PageDown]);
        assert!(!state.is_paused);
        assert_eq!(state.scroll, 0, "all rows are shown");
        assert_eq!(press(&mut state, &[Key::Char('s')]), Effect::Save);
        assert_eq!(press(&mut state, &[Key::Char('q')]), Effect::Quit);
    }
}
