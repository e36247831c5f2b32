// SPDX-License-Identifier: GPL-2.0

//! How a refusal is shown: the reason, and a caret under what it means.

use std::fmt::{self, Write};

/// Why something that the user wrote is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The reason, with what to write instead.
    pub reason: String,
    /// What the user wrote.
    pub written: String,
    /// The byte of it that is meant.
    pub at: usize,
}

/// What stands before what the user wrote.
const INDENT: &str = "  ";

impl Refused {
    /// Shows it on lines of at most `width` columns, but for the reason, which a terminal wraps.
    /// Of what is longer it shows what is around the caret.
    pub fn text(&self, width: Option<usize>) -> String {
        let room = width.map_or(usize::MAX, |width| {
            width.saturating_sub(INDENT.len()).max(8)
        });
        let shown: Vec<char> = self.written.chars().map(plain).collect();
        let before = self
            .written
            .char_indices()
            .take_while(|(at, _)| *at < self.at);
        let caret = before.count();
        let start = match shown.len() < room {
            true => 0,
            // The caret may be behind the end.
            false => (caret + 1 + room / 3)
                .min(shown.len() + 1)
                .saturating_sub(room)
                .min(caret),
        };
        let mut text = format!("ferroprobe: {}\n{INDENT}", self.reason);
        text.extend(shown.iter().skip(start).take(room));
        // Writing to a string does not fail.
        let _ = write!(text, "\n{INDENT}{:1$}^", "", caret - start);
        text
    }
}

/// What the kernel says, in words for a session: it has no files of its events, and options.
pub fn for_session(reason: &str) -> String {
    let reason = reason.replace(
        "the trigger stacktrace, or the option stacktrace",
        "--stack",
    );
    let (begin, end) = ("write it to events/", "/filter");
    match reason.split_once(begin) {
        Some((before, event)) => match event.split_once(end) {
            Some((_, behind)) => format!("{before}write it behind 'if'{behind}"),
            None => reason,
        },
        None => reason,
    }
}

/// A terminal is to get no control characters, and a caret needs each character to be one column.
fn plain(c: char) -> char {
    match c.is_control() {
        true => ' ',
        false => c,
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(written: &str, at: usize, width: Option<usize>) -> Vec<String> {
        let refused = Refused {
            reason: "no".into(),
            written: written.into(),
            at,
        };
        refused.text(width).lines().map(String::from).collect()
    }

    #[test]
    fn a_session_has_no_files() {
        for (reason, expected) in [
            (
                "no: write it to events/trace_1/vfs_read/filter",
                "no: write it behind 'if'",
            ),
            ("write it to events/x", "write it to events/x"),
            (
                "did you mean the trigger stacktrace, or the option stacktrace?",
                "did you mean --stack?",
            ),
            ("other", "other"),
        ] {
            assert_eq!(for_session(reason), expected);
        }
    }

    #[test]
    fn a_caret_is_under_what_it_means() {
        let lines = refused("r vfs_raed file", 2, None);
        assert_eq!(lines, ["ferroprobe: no", "  r vfs_raed file", "    ^"]);
        assert_eq!(refused("é vfs_raed", 3, None)[2], "    ^");
        assert_eq!(refused("a\tb", 3, None)[1..], ["  a b", "     ^"]);
    }

    #[test]
    fn what_is_around_the_caret_is_shown_where_lines_are_short() {
        let written = format!("{}X{}", "a".repeat(100), "b".repeat(100));
        for (at, width) in [(0, 40), (100, 40), (100, 10), (200, 40), (201, 40)] {
            let lines = refused(&written, at, Some(width));
            let (shown, caret) = (&lines[1], &lines[2]);
            assert!(
                shown.len() <= width && caret.len() <= width,
                "{at}: {shown}"
            );
            if at == 100 {
                assert_eq!(shown.as_bytes()[caret.len() - 1], b'X');
            }
        }
    }
}
