// SPDX-License-Identifier: GPL-2.0

//! Records of system calls as event text, in the wording of the 7.3 kernel for events that it has.

use core::fmt::Write;

use super::render::ShownEvent;
use super::walk::{self, word, Elements, PrintedValue, PrintedValues};
use crate::engine::record::{Field, Layout, OpenFlag, ShownMemory, Signature};
use crate::engine::util::errno;
use crate::engine::util::seq_buf::SeqBuf;
use crate::engine::util::units::Duration;

/// The bit of `flags` with which `openat` creates a file, which then has a mode.
const O_CREAT: u32 = 0o100;
/// The bits of `flags` for the access mode; 0 to read.
const O_ACCMODE: u32 = 0o3;

/// Adds the text of a call's entry, `sys_NAME(ARGUMENT: VALUE, ...)`, without a line feed. With
/// `with_types`, the type precedes each argument, and as in the kernel flags are not named.
pub(super) fn put_enter(
    buf: &mut SeqBuf<'_>,
    layout: &Layout,
    call: &Signature,
    record: &[u8],
    with_types: bool,
) {
    buf.bytes(&call.name);
    buf.byte(b'(');
    let count = call.types.len();
    let is_open = !call.open_flags.is_empty() && !with_types;
    for (index, field) in (0u8..).zip(layout.fields.iter().take(count)) {
        put_separator(buf, index);
        if let Some(kind) = call.types.get(usize::from(index)).filter(|_| with_types) {
            buf.one_line(kind);
            buf.byte(b' ');
        }
        put_argument_name(buf, field);
        let value = word(layout, record, field);
        let put = match with_types {
            true => Open::Other,
            false => put_open_argument(buf, call, index, value),
        };
        match put {
            Open::Last => break,
            Open::Put => {}
            Open::Other if is_open || value < 10 => buf.decimal(value),
            Open::Other => {
                buf.text(b"0x");
                buf.hexadecimal(value);
            }
        }
        let copied = call.copied.iter().position(|&argument| argument == index);
        let field = copied.and_then(|nth| layout.fields.get(count.saturating_add(nth)));
        if let Some(field) = field {
            buf.byte(b' ');
            put_memory(buf, (layout, record), field, call.shown);
        }
    }
    buf.byte(b')');
}

/// Adds the text of a whole call, `NAME(ARGUMENT: VALUE, ...) = VALUE, DURATION ns`, without a line
/// feed. A call that does not return has no value; a call whose entry was not seen has no duration.
/// `with_units` as of the option `units`.
pub(super) fn put_whole(
    buf: &mut SeqBuf<'_>,
    event: ShownEvent<'_>,
    call: &Signature,
    record: &[u8],
    with_units: bool,
) {
    let layout = event.layout;
    buf.bytes(event.name);
    buf.byte(b'(');
    let count = layout.fields.len().saturating_sub(call.results.into());
    let (arguments, results) = layout.fields.split_at_checked(count).unwrap_or_default();
    for (index, field) in (0u8..).zip(arguments) {
        put_name(buf, index, field);
        if field.base.is_text() {
            match walk::strings((layout, record), field, call) {
                Some(strings) => put_strings(buf, strings),
                None => put_memory(buf, (layout, record), field, call.shown),
            }
            continue;
        }
        match put_open_argument(buf, call, index, word(layout, record, field)) {
            Open::Last => break,
            Open::Put => {}
            Open::Other => match walk::value(layout, record, field) {
                PrintedValues::One(PrintedValue::Signed(value)) => buf.signed(value),
                // CAST: It has 32 bits.
                PrintedValues::One(PrintedValue::Unsigned(value)) if is_mode(call, index) => {
                    put_mode(buf, value as u32);
                }
                PrintedValues::One(PrintedValue::Unsigned(value)) => buf.decimal(value),
                _ => {
                    buf.text(b"0x");
                    buf.hexadecimal(word(layout, record, field));
                }
            },
        }
    }
    buf.byte(b')');
    let [result, duration] = results else {
        return;
    };
    buf.text(b" = ");
    // CAST: The same bits.
    put_result(buf, word(layout, record, result) as i64);
    match word(layout, record, duration) {
        0 => {}
        // The buffer notes an overflow.
        nanoseconds if with_units => drop(write!(buf, ", {}", Duration(nanoseconds, " "))),
        nanoseconds => {
            buf.text(b", ");
            buf.decimal(nanoseconds);
            buf.text(b" ns");
        }
    }
}

/// Adds the result of a call, an error with its name.
fn put_result(buf: &mut SeqBuf<'_>, result: i64) {
    match errno::name(result) {
        Some(name) => {
            buf.signed(result);
            if !name.is_empty() {
                buf.byte(b' ');
                buf.bytes(name.as_bytes());
            }
        }
        None if i32::try_from(result).is_ok() => buf.signed(result),
        // Usually an address.
        None => {
            buf.text(b"0x");
            // CAST: The same bits.
            buf.hexadecimal(result as u64);
        }
    }
}

fn put_name(buf: &mut SeqBuf<'_>, index: u8, field: &Field) {
    put_separator(buf, index);
    put_argument_name(buf, field);
}

fn put_separator(buf: &mut SeqBuf<'_>, index: u8) {
    if index > 0 {
        buf.text(b", ");
    }
}

fn put_argument_name(buf: &mut SeqBuf<'_>, field: &Field) {
    buf.bytes(&field.name);
    buf.text(b": ");
}

/// The result of printing an argument in the form of `openat`.
enum Open {
    /// Not flags or mode of `openat`; nothing was added.
    Other,
    /// The argument was added.
    Put,
    /// The argument was added, and the remaining ones have no meaning.
    Last,
}

/// Adds the argument with this index if it is the flags or the mode of `openat`.
fn put_open_argument(buf: &mut SeqBuf<'_>, call: &Signature, index: u8, value: u64) -> Open {
    // CAST: Both are a C int.
    let value = value as u32;
    match index {
        _ if call.open_flags.is_empty() => return Open::Other,
        2 => {
            put_open_flags(buf, value, call.open_flags);
            if !may_make_file(value, call.open_flags) {
                return Open::Last;
            }
        }
        3 => put_mode(buf, value),
        _ => return Open::Other,
    }
    Open::Put
}

/// Adds the text of a call's return, `sys_NAME -> VALUE`, without a line feed.
pub(super) fn put_exit(buf: &mut SeqBuf<'_>, layout: &Layout, call: &Signature, record: &[u8]) {
    buf.bytes(&call.name);
    buf.text(b" -> 0x");
    let field = layout.fields.first();
    if let Some(PrintedValues::One(PrintedValue::Signed(value))) =
        field.map(|f| walk::value(layout, record, f))
    {
        // CAST: The same bits.
        buf.hexadecimal(value as u64);
    }
}

/// Adds the strings of an array.
fn put_strings(buf: &mut SeqBuf<'_>, strings: Elements<'_>) {
    buf.byte(b'{');
    for (index, string) in strings.enumerate() {
        if index > 0 {
            buf.byte(b',');
        }
        if let PrintedValue::Text(text, is_whole) = string {
            put_quoted(buf, text, is_whole);
        }
    }
    buf.byte(b'}');
}

/// Adds arbitrary bytes as quoted text.
fn put_quoted(buf: &mut SeqBuf<'_>, text: &[u8], is_whole: bool) {
    buf.byte(b'"');
    buf.one_line(text);
    buf.byte(b'"');
    if !is_whole {
        buf.text(b"...");
    }
}

/// Adds the user memory that was copied to `field`.
fn put_memory(
    buf: &mut SeqBuf<'_>,
    (layout, record): (&Layout, &[u8]),
    field: &Field,
    shown: ShownMemory,
) {
    let PrintedValue::Text(bytes, is_whole) = walk::copied((layout, record), field, shown) else {
        return buf.text(b"(fault)");
    };
    if !matches!(shown, ShownMemory::Bytes(_)) {
        if matches!(shown, ShownMemory::RawText | ShownMemory::ExactText) {
            return put_quoted(buf, bytes, is_whole);
        }
        // Unprintable characters were replaced when the text was copied.
        buf.byte(b'"');
        buf.bytes(bytes);
        buf.byte(b'"');
        if !is_whole {
            buf.text(b"...");
        }
        return;
    }
    buf.byte(b'(');
    for (index, &byte) in bytes.iter().enumerate() {
        if index > 0 {
            buf.byte(b':');
        }
        if byte < 0x10 {
            buf.byte(b'0');
        }
        buf.hexadecimal(byte.into());
    }
    if !is_whole {
        buf.text(b", ...");
    }
    buf.byte(b')');
    if !bytes.iter().any(is_printable) {
        return;
    }
    buf.text(b" \"");
    for byte in bytes {
        buf.byte(if is_printable(byte) { *byte } else { b'.' });
    }
    buf.byte(b'"');
    if !is_whole {
        buf.text(b"...");
    }
}

fn is_printable(byte: &u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// Returns whether `flags` may create a file. The first of `names` is `O_TMPFILE`.
fn may_make_file(flags: u32, names: &[OpenFlag]) -> bool {
    let temporary = names.first().map_or(0, |(bits, _)| *bits);
    flags & (O_CREAT | temporary) != 0
}

/// Adds the names of `flags`.
fn put_open_flags(buf: &mut SeqBuf<'_>, flags: u32, names: &[OpenFlag]) {
    if flags & O_ACCMODE == 0 {
        buf.text(b"O_RDONLY");
        if flags == 0 {
            return;
        }
        buf.byte(b'|');
    }
    let mut rest = flags;
    let mut is_first = true;
    let mut next = |buf: &mut SeqBuf<'_>| {
        if !core::mem::take(&mut is_first) {
            buf.byte(b'|');
        }
    };
    for (bits, name) in names {
        if rest & bits == *bits {
            rest &= !bits;
            next(buf);
            buf.bytes(name.as_bytes());
        }
    }
    if rest != 0 {
        next(buf);
        buf.text(b"0x");
        // CAST: The kernel extends the sign.
        buf.hexadecimal(i64::from(rest as i32) as u64);
    }
}

/// Returns whether the argument with this index is the mode of a file.
fn is_mode(call: &Signature, index: u8) -> bool {
    let c_type = call.types.get(usize::from(index));
    c_type.is_some_and(|c_type| **c_type == *b"umode_t")
}

/// Adds a mode in octal, at least three digits behind the leading 0.
fn put_mode(buf: &mut SeqBuf<'_>, mode: u32) {
    buf.byte(b'0');
    let digits = mode.checked_ilog2().map_or(1, |top| top / 3 + 1).max(3);
    for digit in (0..digits).rev() {
        // CAST: Less than 8.
        let value = (mode.wrapping_shr(digit.saturating_mul(3)) & 7) as u8;
        buf.byte(b'0'.saturating_add(value));
    }
}
