// SPDX-License-Identifier: GPL-2.0

//! Helpers to write text: to memory that can run out, and of bytes that need not be UTF-8.

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
    fn bytes_stay_on_their_line() {
        assert_eq!(
            OneLine(b"a\nb\x01\xff\xc3\xa9").to_string(),
            "a\\nb\\x01\\xff\u{e9}"
        );
        assert_eq!(Plain(b"a\nb\xff").to_string(), "a\nb\\xff");
    }
}
