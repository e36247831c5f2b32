// SPDX-License-Identifier: GPL-2.0

//! Records of text and of bytes that a user writes into the buffer.
//!
//! They are records of the kernel's events `print` and `raw_data`, which every reader knows.
//! `print`: the common header, the field `ip`, which is 0 here, then the text with a line feed and
//! a NUL. `raw_data`: the common header, then the bytes, of which the first four are a number that
//! the writer chooses.

use crate::engine::language::types::Type;
use crate::engine::program::fetch::{General, LoadOrigin, Program, Store};
use crate::engine::record::{
    self, Class, Field, Header, Layout, Name, COMMON_SIZE, PRINT, PROBE_SIZE, RAW_DATA,
};
use crate::sys::AllocError;

/// Number of bytes of a record besides its text.
pub const OVERHEAD: usize = PROBE_SIZE + 2;

/// Returns the bytes of the record of `text`; one more than needed if the text already ends in a
/// line feed.
pub fn length(text: &[u8]) -> usize {
    text.len().saturating_add(OVERHEAD)
}

/// Writes the record of `text`, written by the task `pid`; returns false if `out` is
/// shorter than its [`length`].
///
/// Context: any.
pub fn write_record(out: &mut [u8], pid: i32, text: &[u8]) -> bool {
    let header = Header {
        event: PRINT.id,
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

/// Number of bytes of a text that triggers see, with its NUL: the length that a filter compares.
pub const SEEN: usize = 256;

/// The beginning of a text, as triggers see it, with a NUL.
pub type Seen = [u8; SEEN];

/// Returns the beginning of `text` that triggers see, without its line feed.
///
/// Context: any.
pub fn seen(text: &[u8]) -> Seen {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let mut seen = [0; SEEN];
    for (to, from) in seen.iter_mut().take(SEEN - 1).zip(text) {
        *to = *from;
    }
    seen
}

/// Returns the program that fetches a hit's argument, the address of a [`Seen`], and the fields
/// that triggers can name.
///
/// # Errors
///
/// [`AllocError`] when there is no memory.
pub fn fields() -> Result<(Program, Layout), AllocError> {
    const OFFSET: u16 = 16;
    const _: () = assert!(OFFSET as usize == PROBE_SIZE);
    let mut program = Program::empty();
    program.add_general(General {
        origin: LoadOrigin::Register(0),
        links: (0, 0),
        store: Store::Text {
            offset: 0,
            user: false,
        },
        dst: OFFSET,
        fault: None,
        texts_behind: 0,
    })?;
    program.fixed = OFFSET + 4;
    let mut layout = Layout::of(Class::MARK);
    layout.fields.push(Field {
        name: Name::new(b"buf")?,
        base: Type::STRING,
        count: None,
        offset: OFFSET,
        fault: None,
    })?;
    Ok((program, layout))
}

/// Least bytes of a raw record's data: the number.
pub const RAW_LEAST: usize = 4;

/// Returns the bytes of the record of `data`.
pub fn raw_length(data: &[u8]) -> usize {
    data.len().saturating_add(COMMON_SIZE)
}

/// Writes the record of `data`, written by the task `pid`; returns false if `out` is shorter than
/// its [`raw_length`]. Pads `out` with zeroes.
///
/// Context: any.
pub fn write_raw(out: &mut [u8], pid: i32, data: &[u8]) -> bool {
    let header = Header {
        event: RAW_DATA.id,
        flags: 0,
        preempt_count: 0,
        pid,
    };
    if out.len() < raw_length(data) {
        return false;
    }
    out.fill(0);
    for (to, from) in out.iter_mut().skip(COMMON_SIZE).zip(data) {
        *to = *from;
    }
    record::put(out, 0, header.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::print::{ShownEvent, SymbolNames, TextLines};
    use crate::engine::record::Builtin;
    use crate::engine::util::seq_buf::SeqBuf;

    fn shown(mark: &[u8]) -> String {
        let mut record = vec![0xaa; length(mark)];
        assert!(write_record(&mut record, 7, mark));
        assert_eq!(Header::from_record(&record).map(|h| h.pid), Some(7));
        text(&PRINT, &record)
    }

    fn text(builtin: &Builtin, record: &[u8]) -> String {
        let mut room = [0; 100];
        let mut out = SeqBuf::new(&mut room);
        let event = ShownEvent {
            key: 0,
            group: Builtin::GROUP.as_bytes(),
            name: builtin.name.as_bytes(),
            layout: &builtin.layout,
        };
        TextLines::new().put(&mut out, event, record, &mut NoNames);
        let length = out.finish().unwrap();
        String::from_utf8(room[..length].to_vec()).unwrap()
    }

    struct NoNames;

    impl SymbolNames for NoNames {
        fn symbolize(&mut self, _: u64, _: bool, _: &mut SeqBuf<'_>) {
            unreachable!("text has no symbols");
        }
    }

    #[test]
    fn text_ends_with_one_line_feed() {
        assert_eq!(shown(b"hello"), "tracing_mark_write: hello\n");
        assert_eq!(shown(b"hello\n"), "tracing_mark_write: hello\n");
        assert_eq!(shown(b""), "tracing_mark_write: \n");
        assert_eq!(shown(b"a\nb\n"), "tracing_mark_write: a\nb\n");
    }

    #[test]
    fn triggers_see_the_beginning_of_a_text() {
        for (text, expected) in [("", ""), ("hello", "hello"), ("hello\n", "hello")] {
            let seen = seen(text.as_bytes());
            assert_eq!(&seen[..expected.len()], expected.as_bytes());
            assert!(seen[expected.len()..].iter().all(|byte| *byte == 0));
        }
        let long = seen(&[b'x'; 1000]);
        assert_eq!(long.iter().filter(|byte| **byte == b'x').count(), SEEN - 1);
        assert_eq!(long[SEEN - 1], 0);
    }

    #[test]
    fn bytes_are_shown_with_their_number_up_to_a_whole_word() {
        let data = [0xef, 0xbe, 0xad, 0xde, 1, 2, 0xff];
        let mut record = [0xaa; 16];
        assert!(write_raw(&mut record, 7, &data));
        assert_eq!(Header::from_record(&record).map(|h| h.pid), Some(7));
        assert_eq!(text(&RAW_DATA, &record), "# deadbeef buf: 01 02 ff 00\n");
        assert!(!write_raw(&mut record[..14], 7, &data));
    }

    #[test]
    fn a_record_without_room_is_refused() {
        let mut short = vec![0; length(b"hello") - 1];
        assert!(!write_record(&mut short, 7, b"hello"));
        assert!(!write_record(&mut [0; 4], 7, b""));
    }
}
