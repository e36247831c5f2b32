// SPDX-License-Identifier: GPL-2.0

//! The excerpt of a refused text that is kept and shown.

use core::fmt;

use crate::engine::util::text::Plain;

/// Longest text that is shown in full.
const WHOLE: usize = 1024;

/// Bytes shown on each side of the caret, of a longer text.
const AROUND: usize = 512;

/// Replaces omitted text.
const OMITTED: &str = "...";

/// A text, cut to the surroundings of the caret if it is long. Users may write a megabyte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excerpt<'a> {
    text: &'a [u8],
    begins_later: bool,
    ends_before: bool,
    /// The column of the caret.
    at: usize,
}

impl<'a> Excerpt<'a> {
    /// Makes an excerpt of `text`, with the caret at column `at`.
    pub fn of(text: &'a [u8], at: usize) -> Self {
        if text.len() <= WHOLE {
            return Self {
                text,
                begins_later: false,
                ends_before: false,
                at,
            };
        }
        let caret = at.min(text.len());
        let start = character(text, caret.saturating_sub(AROUND));
        let end = character(text, caret.saturating_add(AROUND).min(text.len()));
        let begins_later = start != 0;
        let mark = if begins_later { OMITTED.len() } else { 0 };
        Self {
            text: text.get(start..end).unwrap_or_default(),
            begins_later,
            ends_before: end != text.len(),
            at: caret.saturating_sub(start).saturating_add(mark),
        }
    }

    /// Returns the column of the caret in the excerpt.
    pub fn at(self) -> usize {
        self.at
    }
}

/// Returns the offset of the character that contains byte `at`.
fn character(text: &[u8], at: usize) -> usize {
    let is_inside = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let mut before = (at.saturating_sub(3)..=at).rev();
    before.find(|&at| !is_inside(at)).unwrap_or(at)
}

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.begins_later {
            f.write_str(OMITTED)?;
        }
        write!(f, "{}", Plain(self.text))?;
        if self.ends_before {
            f.write_str(OMITTED)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, at: usize) -> (String, usize) {
        let excerpt = Excerpt::of(text.as_bytes(), at);
        (excerpt.to_string(), excerpt.at())
    }

    #[test]
    fn a_short_text_is_whole() {
        for length in [0, 1, WHOLE] {
            let text = "x".repeat(length);
            for at in [0, length / 2, length, length + 7] {
                assert_eq!(shown(&text, at), (text.clone(), at));
            }
        }
    }

    #[test]
    fn what_is_around_the_caret_of_a_long_one_stays() {
        for length in [WHOLE + 1, 5000, 1 << 20] {
            let mut text: Vec<u8> = (0..length).map(|n| b'a' + (n % 26) as u8).collect();
            for at in [0, 1, 600, length / 2, length - 600, length - 1] {
                let before = core::mem::replace(&mut text[at], b'^');
                let (shown, caret) = shown(core::str::from_utf8(&text).unwrap(), at);
                assert_eq!(shown.as_bytes()[caret], b'^');
                assert!(shown.len() <= 2 * AROUND + 6, "{}", shown.len());
                assert_eq!(shown.starts_with("..."), at > AROUND);
                assert_eq!(shown.ends_with("..."), at + AROUND < length);
                text[at] = before;
            }
            // Behind the end.
            let text = core::str::from_utf8(&text).unwrap();
            for at in [length, length + 5] {
                let (shown, caret) = shown(text, at);
                assert_eq!(shown.len(), caret);
                assert!(shown.ends_with(&text[length - AROUND..]));
            }
        }
    }

    #[test]
    fn characters_stay_whole() {
        for blanks in 0..4 {
            let text = " ".repeat(blanks) + &"\u{20ac}".repeat(2000);
            for at in 2000..2010 {
                let (shown, _) = shown(&text, at);
                assert!(!shown.contains("\\x"), "{shown}");
            }
        }
        // Damaged text is not looked through for a beginning.
        assert_eq!(character(&[0x80; 100], 50), 50);
    }
}
