// SPDX-License-Identifier: GPL-2.0

//! What `trace` shows of an event itself: its name, its place and its arguments.
//!
//! It is computed when it is read, from the bytes of the record; the wording is that
//! of the 7.3 kernel, which scripts parse. Process context only.

use core::fmt::Write;

use super::memo::Memo;
use super::record::{self, Field, Layout, Text};
use super::seq_buf::SeqBuf;
use super::types::Type;
use crate::sys::Vec;

/// Prints addresses as symbols.
pub trait SymbolNames {
    /// Adds the symbol that `address` belongs to, with its module, as `%pS`
    /// (`SYM+0x0/0x0 [MOD]`) or, without offset, as `%ps`; an address that
    /// belongs to none as a hexadecimal number.
    fn symbolize(&mut self, address: u64, with_offset: bool, buf: &mut SeqBuf<'_>);

    /// Whether places show their addresses behind the symbols (option
    /// `sym-addr`).
    fn shows_addresses(&self) -> bool {
        false
    }

    /// Whether `address` is where a function returns to while another return
    /// probe follows it: its caller is then not known.
    fn is_return_trampoline(&mut self, _address: u64) -> bool {
        false
    }
}

/// An event whose records are printed.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    /// Another one for each name and layout.
    pub key: u64,
    /// Its name.
    pub name: &'a [u8],
    /// The layout of its records.
    pub layout: &'a Layout,
}

/// Prints events, and remembers the text of their names and places.
pub struct Lines {
    heads: Memo<(Key, Vec<u8>), 32>,
}

/// What decides on the text of name and place.
#[derive(PartialEq)]
struct Key {
    event: u64,
    first: u64,
    caller: u64,
    with_addresses: bool,
}

/// Bytes of name and place that are remembered.
const LONGEST_HEAD: usize = 256;

impl Lines {
    /// Remembers nothing.
    pub const fn new() -> Self {
        Self { heads: Memo::new() }
    }

    /// Forgets everything: symbols may have changed.
    pub fn forget(&mut self) {
        self.heads.clear();
    }

    /// Adds the event's own text: `EVENT: (PLACE) NAME=VALUE...` and a line feed. What a
    /// record too short does not hold prints as `(fault)`.
    pub fn put(
        &mut self,
        buf: &mut SeqBuf<'_>,
        event: Event<'_>,
        record: &[u8],
        symbols: &mut dyn SymbolNames,
    ) {
        self.put_head(buf, event, record, symbols);
        put_fields(buf, event.layout, record, symbols);
    }

    /// `EVENT: (PLACE)`.
    fn put_head(
        &mut self,
        buf: &mut SeqBuf<'_>,
        event: Event<'_>,
        record: &[u8],
        symbols: &mut dyn SymbolNames,
    ) {
        let first = integer(record, 8, 8).unwrap_or(0);
        let caller = if event.layout.is_return {
            integer(record, 16, 8).unwrap_or(0)
        } else {
            0
        };
        let key = Key {
            event: event.key,
            first,
            caller,
            with_addresses: symbols.shows_addresses(),
        };
        let hash = event.key ^ first >> 4 ^ caller >> 2;
        match self.heads.slot(hash) {
            Some(Some((known, text))) if *known == key => buf.bytes(text),
            slot => {
                let mut room = [0; LONGEST_HEAD];
                let mut head = SeqBuf::new(&mut room);
                write_head(&mut head, event, (first, caller), symbols);
                let text = head.finish().and_then(|length| room.get(..length));
                match text {
                    Some(text) => buf.bytes(text),
                    None => write_head(buf, event, (first, caller), symbols),
                }
                if let Some(slot) = slot {
                    let text = text.and_then(|text| Vec::from_slice(text).ok());
                    *slot = text.map(|text| (key, text));
                }
            }
        }
    }
}

impl Default for Lines {
    fn default() -> Self {
        Self::new()
    }
}

/// Makes the text of name and places.
fn write_head(
    buf: &mut SeqBuf<'_>,
    event: Event<'_>,
    (first, caller): (u64, u64),
    symbols: &mut dyn SymbolNames,
) {
    buf.bytes(event.name);
    buf.text(b": (");
    if event.layout.is_return {
        if symbols.is_return_trampoline(caller) {
            buf.text(b"[unknown/kretprobe'd]");
        } else {
            put_place(buf, caller, true, symbols);
        }
        buf.text(b" <- ");
        put_place(buf, first, false, symbols);
    } else {
        put_place(buf, first, true, symbols);
    }
    buf.byte(b')');
}

fn put_place(buf: &mut SeqBuf<'_>, address: u64, with_offset: bool, symbols: &mut dyn SymbolNames) {
    if address == 0 {
        buf.byte(b'0');
        return;
    }
    symbols.symbolize(address, with_offset, buf);
    if symbols.shows_addresses() {
        // Whether there was room is remembered.
        let _ = write!(buf, " <{address:016x}>");
    }
}

/// ` NAME=VALUE...` and a line feed.
fn put_fields(buf: &mut SeqBuf<'_>, layout: &Layout, record: &[u8], symbols: &mut dyn SymbolNames) {
    for field in &layout.fields {
        buf.byte(b' ');
        // An identifier: it stands for itself.
        buf.bytes(&field.name);
        buf.byte(b'=');
        put_field(buf, layout, field, record, symbols);
    }
    buf.byte(b'\n');
}

/// Adds the value of `field`.
fn put_field(
    buf: &mut SeqBuf<'_>,
    layout: &Layout,
    field: &Field,
    record: &[u8],
    symbols: &mut dyn SymbolNames,
) {
    if let (Some(faults), Some(bit)) = (layout.faults, field.fault) {
        if faults.is_set(record, bit) {
            buf.text(FAULT);
            return;
        }
    }
    let Some(count) = field.count else {
        put_element(buf, field, record, 0, symbols);
        return;
    };
    for n in 0..count {
        buf.byte(if n == 0 { b'{' } else { b',' });
        put_element(buf, field, record, n, symbols);
    }
    buf.byte(b'}');
}

/// What is printed for memory that could not be read.
const FAULT: &[u8; 7] = b"(fault)";

fn put_element(
    buf: &mut SeqBuf<'_>,
    field: &Field,
    record: &[u8],
    n: u8,
    symbols: &mut dyn SymbolNames,
) {
    let size = field.base.size();
    let at = u16::from(size)
        .saturating_mul(u16::from(n))
        .saturating_add(field.offset);
    let Some(value) = integer(record, at, size) else {
        buf.text(FAULT);
        return;
    };
    match field.base {
        Type::Unsigned(_) => buf.decimal(value),
        Type::Hex(_) => {
            buf.text(b"0x");
            buf.hexadecimal(value);
        }
        Type::Signed(width) => {
            let unused = 64u32.saturating_sub(u32::from(width.bits()));
            // CAST: the sign bit was shifted to the top.
            let shifted = value.wrapping_shl(unused) as i64;
            buf.signed(shifted.wrapping_shr(unused));
        }
        Type::Char => {
            buf.byte(b'\'');
            // CAST: one byte was read.
            buf.one_line(&[value as u8]);
            buf.byte(b'\'');
        }
        Type::Symbol => symbols.symbolize(value, true, buf),
        // CAST: four bytes were read.
        Type::String | Type::Ustring | Type::Symstr => put_text(buf, record, value as u32),
    }
}

/// Adds the text of `record` to which `loc` points.
fn put_text(buf: &mut SeqBuf<'_>, record: &[u8], loc: u32) {
    let (text, is_whole) = match record::text(record, loc) {
        Text::Fault => {
            buf.text(FAULT);
            return;
        }
        Text::Whole(text) => (text, true),
        Text::Truncated(text) => (text, false),
    };
    buf.byte(b'"');
    buf.one_line(text);
    buf.byte(b'"');
    if !is_whole {
        buf.text(b"...");
    }
}

/// The little-endian number of `size` bytes at `at`.
#[inline]
fn integer(record: &[u8], at: u16, size: u8) -> Option<u64> {
    let bytes = record.get(usize::from(at)..)?;
    Some(match size {
        1 => u64::from(*bytes.first()?),
        2 => u64::from(u16::from_le_bytes(*bytes.first_chunk()?)),
        4 => u64::from(u32::from_le_bytes(*bytes.first_chunk()?)),
        _ => u64::from_le_bytes(*bytes.first_chunk()?),
    })
}
