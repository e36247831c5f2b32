// SPDX-License-Identifier: GPL-2.0

//! Draws the state on a terminal.

use super::board::Board;
use super::sheet::cut;
use super::state::State;
use super::view::View;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::Frame;
use unicode_width::UnicodeWidthStr;

/// Lines that are no rows.
const OTHERS: u16 = 5;

/// What the keys do: the longest that fits is shown.
const HELP: [&str; 4] = [
    "q quit  Tab 1-9 view  <> sort  r reverse  / filter  p pause  s save  arrows scroll",
    "q quit  Tab view  <> sort  r reverse  / filter  p pause  s save",
    "q quit Tab view <> sort / filter p pause",
    "q Tab <> r / p s",
];

/// Parts of a cell, in eighths.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// What does not change.
#[derive(Debug, Clone)]
pub struct Screen {
    /// What is counted.
    pub title: String,
    /// Whether there are colours.
    pub has_colours: bool,
}

/// How many rows there is room for.
pub fn page(height: u16) -> usize {
    usize::from(height.saturating_sub(OTHERS))
}

impl Screen {
    /// Draws all.
    pub fn draw(&self, frame: &mut Frame<'_>, state: &State, board: &Board) {
        let area = frame.area();
        let width = usize::from(area.width);
        let mut lines = vec![
            self.top_line(state, board, width),
            self.views(state, board, width),
        ];
        let sheet = board.sheet(state.view, &state.look);
        let layout = sheet.layout(Some(width));
        let heading = sheet.heading(&layout).into_iter().map(|(column, text)| {
            let is_sorted = column == Some(state.look.column);
            let style = Style::new().add_modifier(Modifier::BOLD);
            match is_sorted {
                true => Span::styled(text, style.add_modifier(Modifier::UNDERLINED)),
                false => Span::styled(text, style),
            }
        });
        lines.push(Line::from(heading.collect::<Vec<_>>()));
        let rows = page(area.height);
        for number in state.scroll..sheet.rows.len().min(state.scroll + rows) {
            let text = sheet.line(number, &layout);
            let bar = self.bar(sheet.bar(number, &layout));
            lines.push(Line::from(vec![Span::raw(text), bar]));
        }
        if sheet.rows.is_empty() {
            lines.push(Line::from(cut(empty(state), width)));
        }
        let buffer = frame.buffer_mut();
        let room = usize::from(area.height.saturating_sub(2));
        for (at, line) in (area.y..).zip(lines.iter().take(room)) {
            buffer.set_line(area.x, at, line, area.width);
        }
        let last = [self.notice(state, board, width), help(state, width)];
        for (line, behind) in last.iter().zip([2, 1]) {
            if let Some(y) = area.height.checked_sub(behind) {
                buffer.set_line(area.x, area.y + y, line, area.width);
            }
        }
        if state.is_typing {
            let at = format!("/{}", state.look.filter)
                .width()
                .min(width.saturating_sub(1));
            let x = u16::try_from(at).unwrap_or(0);
            frame.set_cursor_position((area.x + x, bottom(area)));
        }
    }

    fn coloured(&self, colour: Color) -> Style {
        match self.has_colours {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }

    /// What is counted, and for how long.
    fn top_line(&self, state: &State, board: &Board, width: usize) -> Line<'static> {
        let meter = board.meter(state.view);
        let mut right = match (board.views.get(state.view), meter) {
            (Some(View::Slowest), _) | (_, None) => String::new(),
            (_, Some(meter)) => format!("{:.0} s", meter.at().as_secs_f64()),
        };
        if state.is_paused {
            right = format!("PAUSED  {right}").trim_end().into();
        }
        let room = width.saturating_sub(right.width() + 2);
        let left = cut(&format!("top {}", self.title), room);
        let blanks = " ".repeat(width.saturating_sub(left.width() + right.width()));
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let left = Span::styled(left, self.coloured(Color::Cyan).patch(bold));
        let right = match state.is_paused {
            true => Span::styled(right, self.coloured(Color::Yellow).patch(bold)),
            false => Span::raw(right),
        };
        Line::from(vec![left, Span::raw(blanks), right])
    }

    /// The views, or only the current one where there is no room.
    fn views(&self, state: &State, board: &Board, width: usize) -> Line<'static> {
        let current = Style::new().add_modifier(Modifier::REVERSED);
        let titles = board.views.iter().enumerate();
        let titles: Vec<String> = titles
            .map(|(number, view)| format!(" {} {} ", number + 1, view.title()))
            .collect();
        let all: usize = titles.iter().map(|title| title.width()).sum();
        if all <= width {
            let spans =
                titles
                    .into_iter()
                    .enumerate()
                    .map(|(number, title)| match number == state.view {
                        true => Span::styled(title, current),
                        false => Span::raw(title),
                    });
            return Line::from(spans.collect::<Vec<_>>());
        }
        let title = board.views.get(state.view).map_or("", View::title);
        let text = format!(" {}/{} {title} ", state.view + 1, titles.len());
        Line::from(Span::styled(cut(&text, width), current))
    }

    fn bar(&self, eighths: usize) -> Span<'static> {
        let part = EIGHTHS.get(eighths % 8).copied().unwrap_or_default();
        Span::styled("█".repeat(eighths / 8) + part, self.coloured(Color::Green))
    }

    /// What the user is to know: what was asked for first, then what is missing.
    fn notice(&self, state: &State, board: &Board, width: usize) -> Line<'static> {
        if let Some(message) = &state.message {
            return Line::from(cut(message, width));
        }
        match board.missing(state.view) {
            Some(missing) => Line::styled(cut(&missing, width), self.coloured(Color::Red)),
            None => Line::default(),
        }
    }
}

/// What stands where there are no rows.
fn empty(state: &State) -> &'static str {
    match state.look.filter.is_empty() {
        true => "nothing yet",
        false => "nothing that the filter takes",
    }
}

/// The keys, or the filter.
fn help(state: &State, width: usize) -> Line<'static> {
    if state.is_typing {
        return Line::from(cut(&format!("/{}", state.look.filter), width));
    }
    let filter = match state.look.filter.as_str() {
        "" => String::new(),
        filter => format!("/{filter}  "),
    };
    let room = width.saturating_sub(filter.width());
    let mut texts = HELP.iter().filter(|text| text.width() <= room);
    let text = texts.next().unwrap_or(&"q");
    let dim = Style::new().add_modifier(Modifier::DIM);
    Line::from(vec![Span::raw(filter), Span::styled(*text, dim)])
}

fn bottom(area: Rect) -> u16 {
    area.y + area.height.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::super::board::tests::board;
    use super::super::state::Key;
    use super::*;
    use ratatui::backend::TestBackend;
    use ratatui::Terminal;

    fn shown(width: u16, height: u16, state: &State, board: &Board) -> Vec<String> {
        let screen = Screen {
            title: "'r vfs_read file:path count $retval:errno $duration'".into(),
            has_colours: true,
        };
        let backend = TestBackend::new(width, height);
        let mut terminal = Terminal::new(backend).expect("a terminal");
        let drawn = terminal.draw(|frame| screen.draw(frame, state, board));
        let buffer = drawn.expect("a screen").buffer.clone();
        let lines = (0..height).map(|y| {
            let cells = (0..width).map(|x| buffer[(x, y)].symbol());
            cells.collect::<String>().trim_end().to_string()
        });
        lines.collect()
    }

    #[test]
    fn a_screen_of_80_columns_has_all() {
        let lines = shown(80, 24, &State::default(), &board());
        let expected = [
            "top 'r vfs_read file:path count $retval:errno $duration'                     2 s",
            " 1 name  2 process  3 error  4 file  5 count  6 duration  7 slowest",
            "RATE/s  COUNT      MEAN       MAX      TIME  BYTES  NAME",
            "   500   1000  50.00 us  1.000 ms  50.00 ms     1M  vfs_read",
            "   3.5      7    128 ns  1.000 ms    900 ns     1M  vfs_write",
            "",
        ];
        assert_eq!(lines[..6], expected);
        assert!(
            lines[23].starts_with("q quit  Tab view  <> sort"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_screen_of_40_columns_has_what_matters() {
        let mut state = State::default();
        let mut board = board();
        board.missing.push("5 hits missed".into());
        state.press(Key::Char('p'), &board, page(12));
        let lines = shown(40, 12, &state, &board);
        let expected = [
            "top 'r vfs_read file:path >  PAUSED  2 s",
            " 1/7 name",
            "RATE/s  COUNT      MEAN  NAME",
            "   500   1000  50.00 us  vfs_read",
            "   3.5      7    128 ns  vfs_write",
        ];
        assert_eq!(lines[..5], expected);
        assert_eq!(lines[10], "missing: 5 hits missed");
        assert_eq!(lines[11], "q quit Tab view <> sort / filter p pause");
    }

    #[test]
    fn bars_have_the_rest_of_the_line() {
        let board = board();
        let mut state = State {
            view: board.find("duration").expect("a view"),
            ..State::default()
        };
        let lines = shown(60, 12, &state, &board);
        assert_eq!(lines[2], "RATE/s  COUNT  SHARE   duration");
        assert_eq!(lines[3], "    15     30   3.0%  <= 2.0 us  ▉");
        let bar = "█".repeat(27);
        assert_eq!(lines[4], format!("   488    977  97.0%  <= 4.1 us  {bar}"));
        state.look.filter = "x".into();
        let lines = shown(60, 12, &state, &board);
        assert_eq!(lines[3], "nothing that the filter takes");
        assert!(lines[11].starts_with("/x  q quit"), "{lines:?}");
    }

    #[test]
    fn a_terminal_may_be_tiny() {
        let board = board();
        for width in 1..30 {
            for height in 1..8 {
                for is_typing in [false, true] {
                    let state = State {
                        is_typing,
                        ..State::default()
                    };
                    shown(width, height, &state, &board);
                }
            }
        }
    }
}
