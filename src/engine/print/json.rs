// SPDX-License-Identifier: GPL-2.0

//! Records as JSON, one object a line, see `Documentation/json.rst`.
//!
//! The order of members and the white space may change.

use super::changes;
use super::heads::{put_place, put_return_place, HeadKey, Heads};
use super::quoted;
use super::render::{Renderer, ShownEvent, SymbolNames};
use super::shape;
use super::walk::{self, PrintedArguments, PrintedHead, PrintedValue, PrintedValues};
use crate::engine::print::context::{self, put_known, Context, Time};
use crate::engine::record::{Header, Layout};
use crate::engine::ring::Note;
use crate::engine::util::address;
use crate::engine::util::digits;
use crate::engine::util::memo::Memo;
use crate::engine::util::seq_buf::{Piece, SeqBuf};

/// Renders records as JSON, and caches repeated parts.
pub struct Json {
    /// The start of recent times, and its text.
    time: Option<(u64, Piece)>,
    origins: Memo<(JsonOrigin, Piece<LONGEST_ORIGIN>), 16>,
    heads: Heads,
}

/// The members besides event and time: CPU, task and context.
#[derive(PartialEq)]
struct JsonOrigin {
    task: Note,
    tgid: Option<u32>,
    cpu: u32,
    flags: u8,
    preempt_count: u8,
}

/// Longest cached text of an origin. Names with many escapes are longer.
const LONGEST_ORIGIN: usize = 96;

/// The beginning of the arguments.
const ARGUMENTS: &[u8; 9] = b",\"args\":{";

/// Omissions in the values of a record: bits.
type JsonSeen = u8;

/// Bit: unreadable memory.
const FAULT: JsonSeen = 1;

/// Bit: truncated text.
const PART: JsonSeen = 2;

impl Renderer for Json {
    const HAS_CONTEXT: bool = true;

    fn new() -> Self {
        Self {
            time: None,
            origins: Memo::new(),
            heads: Heads::new(),
        }
    }

    fn forget(&mut self) {
        self.heads.forget();
    }

    fn close(&mut self) {
        self.origins.close();
        self.heads.close();
    }

    fn lost(&mut self, buf: &mut SeqBuf<'_>, cpu: u32, count: u64) {
        buf.text(b"{\"lost\":");
        buf.decimal(count);
        buf.text(b",\"cpu\":");
        buf.decimal(u64::from(cpu));
        buf.text(b"}\n");
    }

    fn damaged(&mut self, buf: &mut SeqBuf<'_>, cpu: u32, length: usize) {
        buf.text(b"{\"damaged\":");
        // CAST: usize to u64 widens.
        buf.decimal(length as u64);
        buf.text(b",\"cpu\":");
        buf.decimal(u64::from(cpu));
        buf.text(b"}\n");
    }

    #[inline(always)]
    fn context(&mut self, buf: &mut SeqBuf<'_>, context: &Context, header: Header) {
        let (Time::Nanoseconds(time) | Time::Count(time)) = context.time;
        self.put_time(buf, time);
        let origin = JsonOrigin {
            task: context.task,
            tgid: context.tgid,
            cpu: context.cpu,
            flags: header.flags,
            preempt_count: header.preempt_count,
        };
        let hash = u64::from(context.task.pid()) ^ u64::from(context.cpu) ^ u64::from(header.flags);
        let slot = self.origins.slot(hash);
        put_known(buf, slot, origin, |buf| put_origin(buf, context, header));
    }

    fn unknown(&mut self, buf: &mut SeqBuf<'_>, header: Header) {
        buf.text(b",\"group\":null,\"event\":null,\"id\":");
        buf.decimal(u64::from(header.event));
        buf.text(b"}\n");
    }

    #[inline(always)]
    fn event(
        &mut self,
        buf: &mut SeqBuf<'_>,
        event: ShownEvent<'_>,
        record: &[u8],
        symbols: &mut dyn SymbolNames,
    ) {
        let layout = event.layout;
        match walk::head(layout, record) {
            PrintedHead::Address(address) => self.put_head(buf, event, (address, None), symbols),
            PrintedHead::Return { function, to } => {
                self.put_head(buf, event, (function, Some(to)), symbols);
            }
            PrintedHead::Enter(_)
            | PrintedHead::Exit(_)
            | PrintedHead::Call(_)
            | PrintedHead::Event(_)
            | PrintedHead::Synthetic
            | PrintedHead::Ready(_) => {
                put_names(buf, event);
                buf.text(ARGUMENTS);
            }
            head => {
                put_names(buf, event);
                return put_builtin(buf, head, symbols);
            }
        }
        put_arguments(buf, (layout, record), symbols);
    }
}

impl Json {
    /// Adds `{"ts":TIME`.
    fn put_time(&mut self, buf: &mut SeqBuf<'_>, time: u64) {
        let is_in = |start: &u64| time.checked_sub(*start).is_some_and(|t| t < digits::LIMIT);
        let start = match self.time.as_ref().filter(|(start, _)| is_in(start)) {
            Some((start, piece)) => {
                buf.piece(piece);
                *start
            }
            None => {
                let rest = time / digits::LIMIT;
                let write = |buf: &mut SeqBuf<'_>| {
                    buf.text(b"{\"ts\":");
                    buf.decimal(rest);
                };
                if rest == 0 {
                    // Without leading zeros.
                    buf.text(b"{\"ts\":");
                    return buf.decimal(time);
                }
                write(buf);
                let start = rest.wrapping_mul(digits::LIMIT);
                self.time = Piece::made_by(write).map(|piece| (start, piece));
                start
            }
        };
        // CAST: Below the limit.
        buf.text(&digits::decimal(time.wrapping_sub(start) as u32));
    }

    /// Adds the names of the event and of its addresses, and the beginning of the arguments.
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
            with_addresses: false,
        };
        self.heads.put(buf, key, symbols, |buf, symbols| {
            put_names(buf, event);
            match to {
                None => {
                    buf.text(b",\"ip\":");
                    quoted::put_written(buf, |buf| put_place(buf, address, true, symbols));
                }
                Some(to) => {
                    buf.text(b",\"func\":");
                    quoted::put_written(buf, |buf| put_place(buf, address, false, symbols));
                    buf.text(b",\"ret_ip\":");
                    quoted::put_written(buf, |buf| put_return_place(buf, to, true, symbols));
                }
            }
            buf.text(ARGUMENTS);
        });
    }
}

/// Adds CPU, task and context.
fn put_origin(buf: &mut SeqBuf<'_>, context: &Context, header: Header) {
    buf.text(b",\"cpu\":");
    buf.decimal(u64::from(context.cpu));
    buf.text(b",\"pid\":");
    // CAST: The same bits.
    buf.signed(i64::from(context.task.pid() as i32));
    match context.tgid {
        None => {}
        Some(0) => buf.text(b",\"tgid\":null"),
        Some(tgid) => {
            buf.text(b",\"tgid\":");
            buf.decimal(u64::from(tgid));
        }
    }
    buf.text(b",\"comm\":");
    let name = context.task.name();
    quoted::put(
        buf,
        name.split(|&byte| byte == 0).next().unwrap_or_default(),
    );
    buf.text(b",\"flags\":\"");
    context::put_flags(buf, header);
    buf.byte(b'"');
}

/// Adds the names of the event, which are identifiers.
fn put_names(buf: &mut SeqBuf<'_>, event: ShownEvent<'_>) {
    buf.text(b",\"group\":\"");
    buf.bytes(event.group);
    buf.text(b"\",\"event\":\"");
    buf.bytes(event.name);
    buf.byte(b'"');
}

/// Adds the arguments of a record, behind [`ARGUMENTS`], and the end of its object.
#[inline(always)]
fn put_arguments(
    buf: &mut SeqBuf<'_>,
    (layout, record): (&Layout, &[u8]),
    symbols: &mut dyn SymbolNames,
) {
    let mut seen = 0;
    let mut is_first = true;
    for argument in walk::arguments(layout, record) {
        buf.bytes(argument.name().as_member(is_first));
        is_first = false;
        match argument.values() {
            PrintedValues::One(value) => put_value(buf, value, &mut seen, symbols),
            PrintedValues::Array(elements) => seen |= put_array(buf, elements, symbols),
        }
    }
    if seen != 0 {
        buf.byte(b'}');
        put_omissions(buf, (layout, record), seen);
        buf.text(b"}\n");
    } else {
        buf.text(b"}}\n");
    }
}

/// Adds the lists of unreadable and of truncated arguments.
#[cold]
#[inline(never)]
fn put_omissions(buf: &mut SeqBuf<'_>, (layout, record): (&Layout, &[u8]), seen: JsonSeen) {
    if seen & FAULT != 0 {
        buf.text(b",\"faults\":[");
        let arguments = walk::arguments(layout, record);
        put_names_of(buf, arguments, |value| *value == PrintedValue::Fault);
        buf.byte(b']');
    }
    if seen & PART != 0 {
        buf.text(b",\"truncated\":[");
        let arguments = walk::arguments(layout, record);
        put_names_of(buf, arguments, |value| match value {
            PrintedValue::Text(_, is_whole) => !is_whole,
            PrintedValue::Structure(of, _) => of.is_cut,
            _ => false,
        });
        buf.byte(b']');
    }
}

/// Adds the names of the `arguments`, or of their elements, that `is_it` accepts.
fn put_names_of(
    buf: &mut SeqBuf<'_>,
    arguments: PrintedArguments<'_>,
    is_it: impl Fn(&PrintedValue<'_>) -> bool,
) {
    let mut is_first = true;
    let mut put = |name: &[u8], index: Option<u64>| {
        if !core::mem::take(&mut is_first) {
            buf.byte(b',');
        }
        buf.byte(b'"');
        buf.bytes(name);
        if let Some(index) = index {
            buf.byte(b'[');
            buf.decimal(index);
            buf.byte(b']');
        }
        buf.byte(b'"');
    };
    for argument in arguments {
        match argument.values() {
            PrintedValues::One(value) if is_it(&value) => put(argument.name(), None),
            PrintedValues::One(_) => {}
            PrintedValues::Array(elements) => {
                for (index, value) in (0..).zip(elements) {
                    if is_it(&value) {
                        put(argument.name(), Some(index));
                    }
                }
            }
        }
    }
}

/// Adds an array, which may be empty.
#[inline(never)]
fn put_array<'a>(
    buf: &mut SeqBuf<'_>,
    elements: impl Iterator<Item = PrintedValue<'a>>,
    symbols: &mut dyn SymbolNames,
) -> JsonSeen {
    let mut seen = 0;
    let mut is_first = true;
    buf.byte(b'[');
    for value in elements {
        if !core::mem::take(&mut is_first) {
            buf.byte(b',');
        }
        put_value(buf, value, &mut seen, symbols);
    }
    buf.byte(b']');
    seen
}

/// Adds a value. Inlined together with the walk, so that the value stays in registers.
#[inline(always)]
fn put_value(
    buf: &mut SeqBuf<'_>,
    value: PrintedValue<'_>,
    seen: &mut JsonSeen,
    symbols: &mut dyn SymbolNames,
) {
    match value {
        PrintedValue::Fault => {
            *seen |= FAULT;
            buf.text(b"null");
        }
        PrintedValue::Unsigned(value)
        | PrintedValue::Hex(value)
        | PrintedValue::Duration(value)
        | PrintedValue::Size(value) => buf.decimal(value),
        PrintedValue::Signed(value) | PrintedValue::Errno(value) => buf.signed(value),
        PrintedValue::Text(text, is_whole) => {
            if !is_whole {
                *seen |= PART;
            }
            quoted::put(buf, text);
        }
        PrintedValue::Structure(of, _) if of.is_cut => {
            *seen |= PART;
            put_other(buf, value, symbols);
        }
        other => put_other(buf, other, symbols),
    }
}

/// Adds a value other than a number or a string.
#[inline(never)]
fn put_other(buf: &mut SeqBuf<'_>, value: PrintedValue<'_>, symbols: &mut dyn SymbolNames) {
    match value {
        PrintedValue::Char(character) => quoted::put(buf, &[character]),
        PrintedValue::Symbol(address) => {
            quoted::put_written(buf, |buf| symbols.symbolize(address, true, buf));
        }
        PrintedValue::Ip4(address) => {
            quoted::put_written(buf, |buf| address::put_ip4(buf, address))
        }
        PrintedValue::Ip6(address) => {
            quoted::put_written(buf, |buf| address::put_ip6(buf, address))
        }
        PrintedValue::Mac(address) => {
            quoted::put_written(buf, |buf| address::put_mac(buf, address))
        }
        PrintedValue::Structure(of, bytes) if of.is_change => {
            changes::put_json_changes(buf, (of, bytes), symbols);
        }
        PrintedValue::Structure(of, bytes) => shape::put_json(buf, (of, bytes), symbols),
        // `put_value` adds these.
        PrintedValue::Fault
        | PrintedValue::Unsigned(_)
        | PrintedValue::Signed(_)
        | PrintedValue::Hex(_)
        | PrintedValue::Duration(_)
        | PrintedValue::Size(_)
        | PrintedValue::Errno(_)
        | PrintedValue::Text(..) => {}
    }
}

/// Adds the arguments of a predefined event, named as in its `format` file, and closes its object.
fn put_builtin(buf: &mut SeqBuf<'_>, head: PrintedHead<'_>, symbols: &mut dyn SymbolNames) {
    buf.text(ARGUMENTS);
    match head {
        PrintedHead::Text(text) => {
            buf.text(b"\"buf\":");
            quoted::put(buf, text);
        }
        PrintedHead::Raw(id, bytes) => {
            buf.text(b"\"id\":");
            buf.decimal(id);
            buf.text(b",\"buf\":");
            let bytes = bytes
                .iter()
                .map(|byte| PrintedValue::Unsigned(u64::from(*byte)));
            put_array(buf, bytes, symbols);
        }
        PrintedHead::Stack { frames, is_user } => {
            buf.text(b"\"caller\":[");
            let mut is_first = true;
            for frame in frames.of_stack(is_user) {
                if !core::mem::take(&mut is_first) {
                    buf.byte(b',');
                }
                if is_user {
                    buf.decimal(frame);
                } else {
                    quoted::put_written(buf, |buf| put_return_place(buf, frame, true, symbols));
                }
            }
            buf.byte(b']');
        }
        // No predefined event has these.
        PrintedHead::Address(_)
        | PrintedHead::Return { .. }
        | PrintedHead::Enter(_)
        | PrintedHead::Exit(_)
        | PrintedHead::Call(_)
        | PrintedHead::Event(_)
        | PrintedHead::Synthetic
        | PrintedHead::Ready(_) => {}
    }
    buf.text(b"}}\n");
}
