// SPDX-License-Identifier: GPL-2.0

//! A writer for the many small pieces of which the lines of `trace` consist.
//!
//! The formatting of `core::fmt` costs some hundred instructions for each piece,
//! most of it calls. Here pieces are put together in a small array, which goes to
//! the real writer when it is full and at the end.

use core::fmt::{self, Write};

use super::text::OneLine;

/// Bytes that are put together: most lines.
const ROOM: usize = 192;

/// A line that is being written to `out`.
///
/// What goes wrong with `out` is told by [`Line::end`].
pub struct Line<'a> {
    out: &'a mut dyn Write,
    /// UTF-8, as only whole characters are added.
    bytes: [u8; ROOM],
    len: usize,
    failed: bool,
}

impl<'a> Line<'a> {
    /// An empty line.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self {
            out,
            bytes: [0; ROOM],
            len: 0,
            failed: false,
        }
    }

    /// Hands over what was put together.
    ///
    /// # Errors
    ///
    /// The first error of the writer behind it.
    pub fn end(mut self) -> fmt::Result {
        self.flush();
        if self.failed {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) {
        let text = core::str::from_utf8(self.bytes.get(..self.len).unwrap_or_default());
        let written = text
            .map_err(|_| fmt::Error)
            .and_then(|text| self.out.write_str(text));
        self.failed |= written.is_err();
        self.len = 0;
    }

    /// Adds `text`.
    pub fn text(&mut self, text: &str) {
        self.add(text.as_bytes());
    }

    /// Adds UTF-8.
    fn add(&mut self, bytes: &[u8]) {
        if bytes.len() > ROOM.saturating_sub(self.len) {
            self.flush();
            if bytes.len() > ROOM {
                let text = core::str::from_utf8(bytes).map_err(|_| fmt::Error);
                self.failed |= text.and_then(|text| self.out.write_str(text)).is_err();
                return;
            }
        }
        let end = self.len.saturating_add(bytes.len());
        if let Some(to) = self.bytes.get_mut(self.len..end) {
            copy(to, bytes);
            self.len = end;
        }
    }

    /// Adds an ASCII character.
    #[inline]
    pub fn character(&mut self, character: u8) {
        if self.len == ROOM {
            self.flush();
        }
        if let Some(to) = self.bytes.get_mut(self.len) {
            *to = character & 0x7f;
            self.len = self.len.saturating_add(1);
        }
    }

    /// Adds `character` until there are `width` characters from `length` on.
    pub fn pad(&mut self, character: u8, length: usize, width: usize) {
        for _ in length..width {
            self.character(character);
        }
    }

    /// Adds `bytes` as [`OneLine`] displays them.
    pub fn one_line(&mut self, bytes: &[u8]) {
        if is_printable(bytes) {
            self.add(bytes);
        } else {
            // What goes wrong is remembered.
            let _ = write!(self, "{}", OneLine(bytes));
        }
    }

    /// Adds `value` in decimal digits, at least `width` of them, filled up with
    /// `fill` on the left.
    pub fn decimal(&mut self, value: u64, width: usize, fill: u8) {
        self.number::<10>(value, width, fill);
    }

    /// Adds `value` in decimal digits, with its sign.
    pub fn signed(&mut self, value: i64) {
        if value < 0 {
            self.character(b'-');
        }
        self.decimal(value.unsigned_abs(), 0, b' ');
    }

    /// Adds `value` in hexadecimal digits.
    pub fn hexadecimal(&mut self, value: u64) {
        self.number::<16>(value, 0, b'0');
    }

    /// The digits go to their places from the last one on.
    fn number<const BASE: u64>(&mut self, value: u64, width: usize, fill: u8) {
        // CAST: at most 20.
        let count = match BASE {
            16 => value.checked_ilog2().unwrap_or(0) / 4,
            _ => value.checked_ilog10().unwrap_or(0),
        } as usize;
        let count = count.saturating_add(1);
        self.pad(fill, count, width);
        if ROOM.saturating_sub(self.len) < count {
            self.flush();
        }
        let end = self.len.saturating_add(count);
        let mut rest = value;
        if let Some(digits) = self.bytes.get_mut(self.len..end) {
            let mut pairs = digits.rchunks_exact_mut(2);
            for pair in &mut pairs {
                // CAST: below 256.
                let [high, low] = two_digits::<BASE>((rest % (BASE * BASE)) as u8);
                pair.copy_from_slice(&[high, low]);
                rest /= BASE * BASE;
            }
            if let [first] = pairs.into_remainder() {
                // CAST: below the base.
                let [_, low] = two_digits::<BASE>(rest as u8);
                *first = low;
            }
            self.len = end;
        }
    }
}

/// The two digits of a `value` below the square of the base.
#[inline(always)]
fn two_digits<const BASE: u64>(value: u8) -> [u8; 2] {
    // CAST: 10 or 16.
    let base = BASE as u8;
    let digit = |n: u8| {
        let letter = if n < 10 { 0 } else { b'a' - b'0' - 10 };
        n.wrapping_add(b'0').wrapping_add(letter)
    };
    [digit(value / base), digit(value % base)]
}

/// Copies `from` to `to`, which has the same length.
///
/// Most pieces are short, and for these the call that copies slices takes longer
/// than the copying: so ends that overlap are copied in one go each.
#[inline]
fn copy(to: &mut [u8], from: &[u8]) {
    fn ends<const N: usize>(to: &mut [u8], from: &[u8]) {
        if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
            *to = *from;
        }
        if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk::<N>()) {
            *to = *from;
        }
    }

    match from.len() {
        17.. => to.copy_from_slice(from),
        8..=16 => ends::<8>(to, from),
        4..=7 => ends::<4>(to, from),
        2..=3 => ends::<2>(to, from),
        _ => ends::<1>(to, from),
    }
}

impl Write for Line<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text(text);
        if self.failed {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

/// Whether all of `bytes` are ASCII characters that stand for themselves.
pub fn is_printable(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| (0x20..0x7f).contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(write: impl FnOnce(&mut Line<'_>)) -> String {
        let mut text = String::new();
        let mut line = Line::new(&mut text);
        write(&mut line);
        line.end().unwrap();
        text
    }

    #[test]
    fn numbers_are_those_of_the_standard_formatting() {
        for value in [0, 1, 9, 10, 15, 16, 255, 999_999, 1 << 40, u64::MAX] {
            assert_eq!(
                line(|line| line.decimal(value, 0, b' ')),
                format!("{value}")
            );
            assert_eq!(
                line(|line| line.decimal(value, 7, b' ')),
                format!("{value:7}")
            );
            assert_eq!(
                line(|line| line.decimal(value, 6, b'0')),
                format!("{value:06}")
            );
            assert_eq!(line(|line| line.hexadecimal(value)), format!("{value:x}"));
            let signed = value as i64;
            assert_eq!(line(|line| line.signed(signed)), format!("{signed}"));
        }
        assert_eq!(line(|line| line.signed(i64::MIN)), i64::MIN.to_string());
    }

    #[test]
    fn pieces_of_any_length_stay_whole() {
        for len in [1, 2, 7, ROOM - 1, ROOM, ROOM + 1, 3 * ROOM] {
            let piece = "\u{e9}".repeat(len);
            let all = line(|line| (0..5).for_each(|_| line.text(&piece)));
            assert_eq!(all, piece.repeat(5));
            let all = line(|line| (0..3 * len).for_each(|_| line.character(b'x')));
            assert_eq!(all, "x".repeat(3 * len));
        }
    }

    #[test]
    fn bytes_stay_on_their_line() {
        for bytes in [&b"plain"[..], b"a\nb\x01\xff\xc3\xa9", b"", b"\x7f\x80"] {
            assert_eq!(
                line(|line| line.one_line(bytes)),
                OneLine(bytes).to_string()
            );
        }
    }

    #[test]
    fn an_error_is_told_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write_str(&mut self, _text: &str) -> fmt::Result {
                Err(fmt::Error)
            }
        }
        let mut full = Full;
        let mut line = Line::new(&mut full);
        line.text("lost");
        assert!(line.end().is_err());
    }
}
