// SPDX-License-Identifier: GPL-2.0

//! Helpers to write text: to memory that may run out, and of bytes that may not be UTF-8.

use core::fmt;

use crate::sys::Vec;

/// Writes formatted text at the end of a byte array.
///
/// A failed allocation is reported as [`fmt::Error`].
pub struct Appender<'a>(pub &'a mut Vec<u8>);

impl fmt::Write for Appender<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0
            .extend_from_slice(text.as_bytes())
            .map_err(|_| fmt::Error)
    }
}

/// Returns `text` before its first NUL; all of it if it has none.
///
/// Context: any.
#[inline]
pub fn up_to_nul(text: &[u8]) -> &[u8] {
    const EACH: u64 = 0x0101_0101_0101_0101;

    // Words without a NUL are skipped. Only the lowest bit found is reliable; a borrow may set
    // higher ones.
    let mut rest = text;
    while let Some((word, behind)) = rest.split_first_chunk() {
        let word = u64::from_le_bytes(*word);
        let found = word.wrapping_sub(EACH) & !word & EACH << 7;
        if found != 0 {
            // CAST: less than 8.
            let end = (found.trailing_zeros() / 8) as usize;
            return before(text, rest.get(end..).unwrap_or_default());
        }
        rest = behind;
    }
    let end = rest.iter().position(|&byte| byte == 0);
    before(
        text,
        end.and_then(|end| rest.get(end..)).unwrap_or_default(),
    )
}

/// Returns the part of `text` before its suffix `rest`.
#[inline(always)]
fn before<'a>(text: &'a [u8], rest: &[u8]) -> &'a [u8] {
    let length = text.len().wrapping_sub(rest.len());
    text.get(..length).unwrap_or(text)
}

/// Displays UTF-8 as it is, and other bytes as `\xNN`.
pub struct Plain<'a>(pub &'a [u8]);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// Displays bytes on one line: control characters and bytes that are not UTF-8 are escaped.
pub struct OneLine<'a>(pub &'a [u8]);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;

        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '\n' => f.write_str("\\n")?,
                    '\t' => f.write_str("\\t")?,
                    '\r' => f.write_str("\\r")?,
                    c if c.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(c))?,
                    c => f.write_char(c)?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_nul_ends_a_text() {
        for length in 0..40 {
            for byte in [1, 0x7f, 0x80, 0x81, 0xff] {
                let text = vec![byte; length];
                assert_eq!(up_to_nul(&text), text);
                for end in 0..length {
                    let mut text = text.clone();
                    for (other, following) in [(end, 0), (end + 1, 1), (length - 1, 0)] {
                        if let Some(at) = text.get_mut(other).filter(|_| other >= end) {
                            *at = following;
                        }
                    }
                    assert_eq!(up_to_nul(&text), &text[..end]);
                }
            }
        }
    }

    #[test]
    fn bytes_stay_on_their_line() {
        assert_eq!(
            OneLine(b"a\nb\x01\xff\xc3\xa9").to_string(),
            "a\\nb\\x01\\xff\u{e9}"
        );
        assert_eq!(Plain(b"a\nb\xff").to_string(), "a\nb\\xff");
    }
}
