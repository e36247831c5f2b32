// SPDX-License-Identifier: GPL-2.0

//! Records of text that a user writes into the buffer.
//!
//! They are those of the kernel's event `print`, so that its number and layout
//! are known to every reader: the common header, a place, which is 0 here, then
//! the text with a line feed and a NUL.

use core::fmt::{self, Write};

use super::record::{self, Header, PROBE_SIZE};
use super::text::Plain;

/// Number of the kernel's event `print`.
pub const EVENT: u16 = 5;

/// Bytes of a record besides its text.
pub const OVERHEAD: usize = PROBE_SIZE + 2;

/// Bytes of the record of `text`, which at most has a line feed too many.
pub fn length(text: &[u8]) -> usize {
    text.len().saturating_add(OVERHEAD)
}

/// Writes the record of `text`, written by the task `pid`; `false` if `out` is
/// shorter than its [`length`].
///
/// Contexts: any.
pub fn write_record(out: &mut [u8], pid: i32, text: &[u8]) -> bool {
    let header = Header {
        event: EVENT,
        flags: 0,
        preempt_count: 0,
        pid,
    };
    if !record::start_probe(out, header, 0) {
        return false;
    }
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let ended = text.iter().copied().chain(*b"\n\0");
    let Some(to) = out.get_mut(PROBE_SIZE..) else {
        return false;
    };
    if to.len() < text.len().saturating_add(2) {
        return false;
    }
    to.fill(0);
    for (to, from) in to.iter_mut().zip(ended) {
        *to = from;
    }
    true
}

/// Writes the text of `record` as `trace` shows it.
///
/// # Errors
///
/// Those of `out`.
pub fn write_event(out: &mut dyn Write, record: &[u8]) -> fmt::Result {
    let text = record.get(PROBE_SIZE..).unwrap_or_default();
    let end = text.iter().position(|&byte| byte == 0);
    let text = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    writeln!(out, "tracing_mark_write: {}", Plain(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &[u8]) -> String {
        let mut record = vec![0xaa; length(text)];
        assert!(write_record(&mut record, 7, text));
        assert_eq!(Header::from_record(&record).map(|h| h.pid), Some(7));
        let mut out = String::new();
        write_event(&mut out, &record).unwrap();
        out
    }

    #[test]
    fn text_ends_with_one_line_feed() {
        assert_eq!(shown(b"hello"), "tracing_mark_write: hello\n");
        assert_eq!(shown(b"hello\n"), "tracing_mark_write: hello\n");
        assert_eq!(shown(b""), "tracing_mark_write: \n");
        assert_eq!(shown(b"a\nb\n"), "tracing_mark_write: a\nb\n");
    }

    #[test]
    fn a_record_without_room_is_refused() {
        let mut short = vec![0; length(b"hello") - 1];
        assert!(!write_record(&mut short, 7, b"hello"));
        assert!(!write_record(&mut [0; 4], 7, b""));
    }
}
