// SPDX-License-Identifier: GPL-2.0

//! Records as event text: the name of the event, its address and its arguments in `trace`.
//!
//! The wording is that of the 7.3 kernel, which scripts parse.

use core::fmt::Write;

use super::call;
use super::heads::{put_place, put_return_place, HeadKey, Heads, LONGEST_HEAD};
use super::ready;
use super::render::{Renderer, ShownEvent, SymbolNames};
use super::synthetic;
use super::value::{put_array, put_value};
use super::walk::{self, Frames, PrintedHead, PrintedValues};
use crate::engine::print::context::{Columns, Context};
use crate::engine::record::format;
use crate::engine::record::{Header, Layout};
use crate::engine::util::seq_buf::SeqBuf;
use crate::engine::util::text::Plain;

/// Renders records as lines of text: the prefix of the event text, and the event text.
pub struct PrintedText {
    columns: Columns,
    lines: TextLines,
}

impl Renderer for PrintedText {
    const HAS_CONTEXT: bool = false;

    fn new() -> Self {
        Self {
            columns: Columns::new(),
            lines: TextLines::new(),
        }
    }

    fn forget(&mut self) {
        self.lines.forget();
    }

    fn close(&mut self) {
        self.columns.close();
        self.lines.heads.close();
    }

    fn lost(&mut self, buf: &mut SeqBuf<'_>, cpu: u32, count: u64) {
        // The buffer notes an overflow, also below.
        let _ = format::write_lost(buf, cpu, Some(count));
    }

    fn damaged(&mut self, buf: &mut SeqBuf<'_>, cpu: u32, length: usize) {
        let _ = writeln!(buf, "# CPU {cpu}: a record of {length} bytes");
    }

    fn context(&mut self, buf: &mut SeqBuf<'_>, context: &Context, header: Header) {
        self.columns.put(buf, context, header);
    }

    fn unknown(&mut self, buf: &mut SeqBuf<'_>, header: Header) {
        let _ = writeln!(buf, "# removed event {}", header.event);
    }

    fn event(
        &mut self,
        buf: &mut SeqBuf<'_>,
        event: ShownEvent<'_>,
        record: &[u8],
        symbols: &mut dyn SymbolNames,
    ) {
        self.lines.put(buf, event, record, symbols);
    }
}

/// The prefix of text from `trace_marker`.
const MARK: &[u8; 20] = b"tracing_mark_write: ";

/// Prints events, and caches the text of their names and addresses.
pub struct TextLines {
    heads: Heads,
}

impl TextLines {
    /// Creates an empty cache.
    pub const fn new() -> Self {
        Self {
            heads: Heads::new(),
        }
    }

    /// Clears the cache, because symbols may have changed.
    pub fn forget(&mut self) {
        self.heads.forget();
    }

    /// Adds the event text, `EVENT: (ADDRESS) NAME=VALUE...`, and a line feed.
    pub fn put(
        &mut self,
        buf: &mut SeqBuf<'_>,
        event: ShownEvent<'_>,
        record: &[u8],
        symbols: &mut dyn SymbolNames,
    ) {
        match walk::head(event.layout, record) {
            PrintedHead::Address(address) => self.put_head(buf, event, (address, None), symbols),
            PrintedHead::Return { function, to } => {
                self.put_head(buf, event, (function, Some(to)), symbols);
            }
            PrintedHead::Stack { frames, is_user } => {
                return if is_user {
                    put_user_stack(buf, frames)
                } else {
                    put_stack(buf, frames, symbols)
                };
            }
            PrintedHead::Enter(call) => {
                call::put_enter(buf, event.layout, call, record, symbols.shows_types());
                return buf.byte(b'\n');
            }
            PrintedHead::Exit(call) => {
                call::put_exit(buf, event.layout, call, record);
                return buf.byte(b'\n');
            }
            PrintedHead::Call(call) => {
                call::put_whole(buf, event, call, record, symbols.shows_units());
                return buf.byte(b'\n');
            }
            PrintedHead::Ready(shape) => {
                buf.bytes(event.name);
                buf.text(b": ");
                ready::put_ready(buf, (shape, event.layout), record, symbols);
                return buf.byte(b'\n');
            }
            PrintedHead::Synthetic => {
                return synthetic::put_synthetic(buf, event, record, symbols);
            }
            PrintedHead::Event(names) => {
                buf.bytes(event.name);
                buf.text(b": (");
                buf.bytes(names);
                buf.byte(b')');
            }
            PrintedHead::Raw(id, bytes) => {
                // The buffer notes an overflow.
                let _ = write!(buf, "# {id:x} buf:");
                for byte in bytes {
                    let _ = write!(buf, " {byte:02x}");
                }
                return buf.byte(b'\n');
            }
            PrintedHead::Text(text) => {
                buf.text(MARK);
                // The buffer notes an overflow.
                let _ = write!(buf, "{}", Plain(text));
            }
        }
        put_arguments(buf, event.layout, record, symbols);
    }

    /// Adds `EVENT: (ADDRESS)`.
    fn put_head(
        &mut self,
        buf: &mut SeqBuf<'_>,
        event: ShownEvent<'_>,
        (address, to): (u64, Option<u64>),
        symbols: &mut dyn SymbolNames,
    ) {
        let key = HeadKey {
            event: event.key,
            address,
            to,
            with_addresses: symbols.shows_addresses(),
        };
        self.heads.put(buf, key, symbols, |buf, symbols| {
            write_head(buf, event, (address, to), symbols);
        });
    }
}

impl Default for TextLines {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes name and addresses.
fn write_head(
    buf: &mut SeqBuf<'_>,
    event: ShownEvent<'_>,
    (address, to): (u64, Option<u64>),
    symbols: &mut dyn SymbolNames,
) {
    buf.bytes(event.name);
    buf.text(b": (");
    if let Some(to) = to {
        put_return_place(buf, to, true, symbols);
        // The trampoline says nothing about the caller.
        if !symbols.is_return_trampoline(to) {
            put_number(buf, to, symbols);
        }
        buf.text(b" <- ");
    }
    put_place(buf, address, to.is_none(), symbols);
    put_number(buf, address, symbols);
    buf.byte(b')');
}

/// Adds ` <ADDRESS>` behind a symbol, if the option `sym-addr` is set.
fn put_number(buf: &mut SeqBuf<'_>, address: u64, symbols: &dyn SymbolNames) {
    if symbols.shows_addresses() && address != 0 {
        // The buffer notes an overflow.
        let _ = write!(buf, " <{address:016x}>");
    }
}

/// Adds the lines of a kernel stack. As in the kernel, symbols have offsets and modules only if the
/// options ask for them.
fn put_stack(buf: &mut SeqBuf<'_>, frames: Frames<'_>, symbols: &mut dyn SymbolNames) {
    buf.text(b"<stack trace>\n");
    for frame in frames.of_stack(false) {
        buf.text(b" => ");
        if symbols.is_return_trampoline(frame) {
            buf.text(b"[unknown/kretprobe'd]");
        } else if frame == 0 {
            buf.byte(b'0');
        } else if symbols.shows_offsets() {
            symbols.symbolize(frame, true, buf);
        } else {
            let mut room = [0; LONGEST_HEAD];
            let mut name = SeqBuf::new(&mut room);
            symbols.symbolize(frame, false, &mut name);
            match name.finish().and_then(|length| room.get(..length)) {
                Some(name) => {
                    let end = name.iter().position(|&byte| byte == b' ');
                    buf.bytes(name.get(..end.unwrap_or(name.len())).unwrap_or_default());
                }
                None => symbols.symbolize(frame, false, buf),
            }
        }
        if symbols.shows_addresses() {
            // The buffer notes an overflow.
            let _ = write!(buf, " <{frame:016x}>");
        }
        buf.byte(b'\n');
    }
}

/// Adds the lines of a user stack, for which the kernel has no symbols.
fn put_user_stack(buf: &mut SeqBuf<'_>, frames: Frames<'_>) {
    buf.text(b"<user stack trace>\n");
    for frame in frames.of_stack(true) {
        // The buffer notes an overflow.
        let _ = writeln!(buf, " =>  <{frame:016x}>");
    }
}

/// Adds ` NAME=VALUE...` and a line feed.
fn put_arguments(
    buf: &mut SeqBuf<'_>,
    layout: &Layout,
    record: &[u8],
    symbols: &mut dyn SymbolNames,
) {
    for argument in walk::arguments(layout, record) {
        buf.byte(b' ');
        // An identifier, which needs no escapes.
        buf.bytes(argument.name());
        buf.byte(b'=');
        match argument.values() {
            PrintedValues::One(value) => put_value(buf, value, symbols),
            PrintedValues::Array(elements) => put_array(buf, elements, symbols),
        }
    }
    buf.byte(b'\n');
}
