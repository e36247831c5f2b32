// SPDX-License-Identifier: GPL-2.0

//! The text of a synthetic event, in the kernel's wording: strings without quotes, and one line for
//! each frame of a stack.

use super::render::{ShownEvent, SymbolNames};
use super::value::put_one;
use super::walk::{self, PrintedValue, PrintedValues};
use crate::engine::record::format::conversion;
use crate::engine::record::LayoutNames;
use crate::engine::util::seq_buf::SeqBuf;

/// Adds `EVENT: NAME=VALUE...`, and a line feed.
pub(super) fn put_synthetic(
    buf: &mut SeqBuf<'_>,
    event: ShownEvent<'_>,
    record: &[u8],
    symbols: &mut dyn SymbolNames,
) {
    buf.bytes(event.name);
    buf.text(b": ");
    let mut before: &[u8] = b"";
    let types = match event.layout.names.as_deref() {
        Some(LayoutNames::Types(types)) if symbols.shows_types() => &**types,
        _ => &[],
    };
    let mut types = event.layout.fields.iter().zip(types);
    for argument in walk::arguments(event.layout, record) {
        buf.bytes(before);
        if let Some((field, c_type)) = types.next() {
            buf.bytes(conversion(field, c_type).as_bytes());
            buf.byte(b' ');
        }
        buf.bytes(argument.name());
        buf.byte(b'=');
        before = b" ";
        match argument.values() {
            PrintedValues::One(PrintedValue::Text(text, _)) => buf.one_line(text),
            PrintedValues::One(value) => put_one(buf, value, symbols),
            PrintedValues::Array(frames) => {
                buf.text(b"STACK:\n");
                for frame in frames.filter(|frame| *frame != PrintedValue::Symbol(0)) {
                    buf.text(b"=> ");
                    put_one(buf, frame, symbols);
                    buf.byte(b'\n');
                }
                before = b"";
            }
        }
    }
    buf.byte(b'\n');
}
