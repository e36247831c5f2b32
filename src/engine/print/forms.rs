// SPDX-License-Identifier: GPL-2.0

//! The forms of records that the options `raw`, `hex`, `bin` and `fields` select.
//!
//! The wording is that of the 7.3 kernel (`kernel/trace/trace.c`, `print_trace_line()`;
//! `kernel/trace/trace_output.c`, `print_fields()`). In the first three forms, probe events are
//! shown by their id, as in the kernel.

use core::fmt::{self, Write};

use super::render::{ShownEvent, SymbolNames};
use super::walk::{self, PrintedHead};
use crate::engine::record::format;
use crate::engine::record::{self, Faults, Header};
use crate::engine::util::seq_buf::SeqBuf;
use crate::engine::util::text::Plain;

/// How records are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintForm {
    /// The text of the event.
    Text,
    /// The fields of the record.
    Fields,
    /// Context and number of the event.
    Raw,
    /// Like `Raw`, the context in hexadecimal.
    Hex,
    /// Like `Raw`, the context in binary.
    Binary,
}

impl PrintForm {
    /// Returns whether the form shows a short context.
    pub fn is_short(self) -> bool {
        matches!(self, Self::Raw | Self::Hex | Self::Binary)
    }
}

/// Adds the context of a record in a short form: pid, CPU and time.
#[cold]
#[inline(never)]
pub fn put_short_context(
    buf: &mut SeqBuf<'_>,
    form: PrintForm,
    header: Header,
    (cpu, time): (u32, u64),
) {
    // The buffer notes an overflow, also below.
    let _ = match form {
        PrintForm::Hex => write!(buf, "{:08x} {cpu:08x} {time:016x} ", header.pid),
        PrintForm::Binary => {
            buf.bytes(&header.pid.to_le_bytes());
            buf.bytes(&cpu.to_le_bytes());
            buf.bytes(&time.to_le_bytes());
            Ok(())
        }
        _ => write!(buf, "{} {cpu} {time} ", header.pid),
    };
}

/// Adds the part of a short form behind the context.
#[cold]
#[inline(never)]
pub fn put_type(
    buf: &mut SeqBuf<'_>,
    form: PrintForm,
    header: Header,
    known: Option<(ShownEvent<'_>, &[u8])>,
) {
    let head = known.map(|(event, record)| (walk::head(event.layout, record), record));
    let _ = match head {
        Some((PrintedHead::Text(text), record)) if form == PrintForm::Raw => {
            let address = record
                .get(record::COMMON_SIZE..)
                .and_then(<[u8]>::first_chunk);
            let address = u64::from_le_bytes(*address.unwrap_or(&[0; 8]));
            writeln!(buf, "# {address:x} {}", Plain(text))
        }
        Some((PrintedHead::Raw(id, bytes), _)) if form == PrintForm::Raw => {
            let _ = write!(buf, "# {id:x} buf:");
            for byte in bytes {
                let _ = write!(buf, " {byte:02x}");
            }
            buf.write_char('\n')
        }
        Some(_) => writeln!(buf, "type: {}", header.event),
        None if form == PrintForm::Raw => writeln!(buf, "{} ?", header.event),
        None => Ok(()),
    };
    if form == PrintForm::Hex {
        buf.byte(b'\n');
    }
}

/// Adds the name of `event` and the fields of `record`, as `format` describes them, and a line
/// feed.
#[cold]
#[inline(never)]
pub fn put_shown_fields(
    buf: &mut SeqBuf<'_>,
    event: ShownEvent<'_>,
    record: &[u8],
    symbols: &mut dyn SymbolNames,
) {
    buf.bytes(event.name);
    buf.byte(b':');
    let mut fields = FieldLines {
        line: [0; LONGEST_LINE],
        length: 0,
        buf,
        record,
        symbols,
    };
    // `buf` notes an overflow.
    let _ = format::write_format(&mut fields, "", 0, event.layout);
    buf.byte(b'\n');
}

/// Longest line of a `format` file that describes a field.
const LONGEST_LINE: usize = 256;

/// Parses the lines of a `format` file that is written to it, and prints the fields that they
/// describe.
struct FieldLines<'a, 'b, 'c> {
    line: [u8; LONGEST_LINE],
    length: usize,
    buf: &'a mut SeqBuf<'b>,
    record: &'c [u8],
    symbols: &'a mut dyn SymbolNames,
}

impl Write for FieldLines<'_, '_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if byte == b'\n' {
                self.end_line();
                self.length = 0;
            } else if let Some(to) = self.line.get_mut(self.length) {
                *to = byte;
                self.length = self.length.wrapping_add(1);
            }
        }
        Ok(())
    }
}

/// The line of a field, parsed.
struct FieldLine<'a> {
    c_type: &'a [u8],
    name: &'a [u8],
    /// `[N]` behind the name, or empty.
    suffix: &'a [u8],
    offset: usize,
    size: usize,
}

impl<'a> FieldLine<'a> {
    /// Reads `\tfield:TYPE NAME;\toffset:N;\tsize:N;\tsigned:N;`.
    fn read(line: &'a [u8]) -> Option<Self> {
        let mut parts = line.strip_prefix(b"\tfield:")?.split(|&byte| byte == b';');
        let declared = parts.next()?;
        let space = declared.iter().rposition(|&byte| byte == b' ')?;
        let (c_type, name) = declared.split_at_checked(space)?;
        let name = name.get(1..)?;
        let bracket = name.iter().position(|&byte| byte == b'[');
        let (name, suffix) = name.split_at_checked(bracket.unwrap_or(name.len()))?;
        let mut number = |start: &[u8]| {
            let digits = parts.next()?.strip_prefix(start)?;
            core::str::from_utf8(digits).ok()?.parse::<usize>().ok()
        };
        Some(Self {
            c_type,
            name,
            suffix,
            offset: number(b"\toffset:")?,
            size: number(b"\tsize:")?,
        })
    }

    fn has_type(&self, part: &[u8]) -> bool {
        self.c_type.windows(part.len()).any(|found| found == part)
    }

    /// Returns the bytes of the field in `record`.
    fn of<'r>(&self, record: &'r [u8]) -> Option<&'r [u8]> {
        record.get(self.offset..self.offset.checked_add(self.size)?)
    }
}

impl FieldLines<'_, '_, '_> {
    fn end_line(&mut self) {
        let line = self.line;
        let Some(field) = line.get(..self.length).and_then(FieldLine::read) else {
            return;
        };
        // Skip the common header, and the field that the kernel's records lack.
        if field.name.starts_with(b"common_") || field.name == Faults::NAME.as_bytes() {
            return;
        }
        self.buf.byte(b' ');
        self.buf.bytes(field.name);
        self.buf.byte(b'=');
        match field.of(self.record) {
            None => self.buf.text(b"<OVERFLOW>"),
            Some(bytes) => self.value(&field, bytes),
        }
    }

    /// Adds the value of a field.
    fn value(&mut self, field: &FieldLine<'_>, bytes: &[u8]) {
        let is_text = field.has_type(b"char");
        let is_located = field.has_type(b"__data_loc");
        let number = number(bytes);
        // The buffer notes an overflow.
        let _ = match bytes.len() {
            4 if is_located => {
                // CAST: Four bytes.
                match record::located(self.record, number as u32) {
                    None => self.buf.write_str("<OVERFLOW>"),
                    // The kernel records this text.
                    Some([]) if is_text => self.buf.write_str("(fault)"),
                    Some(text) if is_text => self.text(text),
                    Some(bytes) => self.bytes(bytes),
                }
            }
            _ if is_text && !field.suffix.is_empty() => {
                let end = bytes.iter().position(|&byte| byte == 0);
                self.buf
                    .one_line(bytes.get(..end.unwrap_or(bytes.len())).unwrap_or(bytes));
                Ok(())
            }
            1 => {
                // CAST: One byte.
                let byte = number as u8;
                if byte == b' ' || byte.is_ascii_graphic() {
                    let _ = write!(self.buf, "'{}'", char::from(byte));
                }
                write!(self.buf, "({byte})")
            }
            2 => write!(self.buf, "{number:#x} ({number})"),
            // CAST: The same bits.
            4 => write!(self.buf, "{number:#x} ({})", number as u32 as i32),
            8 => {
                self.symbols.symbolize(number, true, self.buf);
                // CAST: The same bits.
                write!(self.buf, " ({})", number as i64)
            }
            _ => self.buf.write_str("<INVALID-SIZE>"),
        };
    }

    /// Adds text; unprintable bytes become dots, and all bytes follow as numbers.
    fn text(&mut self, text: &[u8]) -> fmt::Result {
        let is_printable = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        let is_plain = text.iter().all(|&byte| byte == 0 || is_printable(byte));
        if is_plain {
            let end = text.iter().position(|&byte| byte == 0);
            self.buf
                .bytes(text.get(..end.unwrap_or(text.len())).unwrap_or(text));
            return Ok(());
        }
        for &byte in text {
            self.buf.byte(if is_printable(byte) { byte } else { b'.' });
        }
        self.buf.write_str(" (")?;
        for (n, byte) in text.iter().enumerate() {
            write!(self.buf, "{}{byte:02x}", if n == 0 { "" } else { ":" })?;
        }
        self.buf.write_char(')')
    }

    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        for (n, byte) in bytes.iter().enumerate() {
            write!(self.buf, "{}{byte:02x}", if n == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// Returns the number in up to eight bytes; 0 for more.
fn number(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    match word.get_mut(..bytes.len()) {
        Some(to) => to.copy_from_slice(bytes),
        None => return 0,
    }
    u64::from_le_bytes(word)
}
