// SPDX-License-Identifier: GPL-2.0

//! Records of system calls as event text, in the words of the 7.3 kernel.

use super::walk::{self, Value, Values};
use crate::engine::record::{Field, Layout, OpenFlag, ShownMemory, Signature};
use crate::engine::seq_buf::SeqBuf;

/// The bits of `flags` by which `openat` may make a file, which then has a mode.
const O_CREAT: u32 = 0o100;
/// The bits of `flags` that say for what a file is opened; 0 to read it.
const O_ACCMODE: u32 = 0o3;

/// Adds the text of a call's entry, `sys_NAME(ARGUMENT: VALUE, ...)`, without a line feed.
pub(super) fn put_enter(buf: &mut SeqBuf<'_>, layout: &Layout, call: &Signature, record: &[u8]) {
    buf.bytes(&call.name);
    buf.byte(b'(');
    let is_open = !call.open_flags.is_empty();
    let count = call.types.len();
    let word = |field| match walk::value(layout, record, field) {
        Values::One(Value::Hex(value)) => value,
        _ => 0,
    };
    for (index, field) in (0u8..).zip(layout.fields.iter().take(count)) {
        if index > 0 {
            buf.text(b", ");
        }
        let value = word(field);
        buf.bytes(&field.name);
        buf.text(b": ");
        if is_open && index == 2 {
            // CAST: The flags are a C int.
            let flags = value as u32;
            put_open_flags(buf, flags, call.open_flags);
            if !may_make_file(flags, call.open_flags) {
                break;
            }
        } else if is_open && index == 3 {
            // CAST: The mode is a C int.
            put_mode(buf, value as u32);
        } else if is_open || value < 10 {
            buf.decimal(value);
        } else {
            buf.text(b"0x");
            buf.hexadecimal(value);
        }
        let copied = call.copied.iter().position(|&argument| argument == index);
        let field = copied.and_then(|nth| layout.fields.get(count.saturating_add(nth)));
        if let Some(field) = field {
            let number = |index: u8| layout.fields.get(usize::from(index)).map_or(0, word);
            put_memory(buf, record, field, call.shown, number);
        }
    }
    buf.byte(b')');
}

/// Adds the text of a call's return, `sys_NAME -> VALUE`, without a line feed.
pub(super) fn put_exit(buf: &mut SeqBuf<'_>, layout: &Layout, call: &Signature, record: &[u8]) {
    buf.bytes(&call.name);
    buf.text(b" -> 0x");
    let field = layout.fields.first();
    if let Some(Values::One(Value::Signed(value))) = field.map(|f| walk::value(layout, record, f)) {
        // CAST: The same bits.
        buf.hexadecimal(value as u64);
    }
}

/// Adds the user memory that was copied to `field`. `number` returns the value of an argument.
fn put_memory(
    buf: &mut SeqBuf<'_>,
    record: &[u8],
    field: &Field,
    shown: ShownMemory,
    number: impl Fn(u8) -> u64,
) {
    let bytes = walk::memory(record, field);
    let ShownMemory::Bytes(size) = shown else {
        if bytes.is_empty() {
            buf.text(b" (fault)");
            return;
        }
        let end = bytes.iter().position(|&byte| byte == 0);
        let text = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        buf.text(b" \"");
        match shown {
            ShownMemory::RawText => buf.one_line(text),
            // Unprintable characters were replaced.
            ShownMemory::Text | ShownMemory::Bytes(_) => buf.bytes(text),
        }
        buf.byte(b'"');
        return;
    };
    // CAST: The kernel takes it for a C int here.
    let expected = number(size) as i32;
    let is_part = i32::try_from(bytes.len()).is_ok_and(|length| length < expected);
    buf.text(b" (");
    for (index, &byte) in bytes.iter().enumerate() {
        if index > 0 {
            buf.byte(b':');
        }
        if byte < 0x10 {
            buf.byte(b'0');
        }
        buf.hexadecimal(byte.into());
    }
    if is_part {
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
    if is_part {
        buf.text(b"...");
    }
}

fn is_printable(byte: &u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// Returns whether a file may be made with `flags`. The first of `names` is `O_TMPFILE`.
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

/// Adds a mode in octal digits, at least three behind the first 0.
fn put_mode(buf: &mut SeqBuf<'_>, mode: u32) {
    buf.byte(b'0');
    let digits = mode.checked_ilog2().map_or(1, |top| top / 3 + 1).max(3);
    for digit in (0..digits).rev() {
        // CAST: Less than 8.
        let value = (mode.wrapping_shr(digit.saturating_mul(3)) & 7) as u8;
        buf.byte(b'0'.saturating_add(value));
    }
}
