// SPDX-License-Identifier: GPL-2.0

//! Prints structures that are recorded as bytes.

use super::quoted;
use super::render::SymbolNames;
use crate::engine::record::{NumberKind, PartKind, ShapeBits, WholeShape};
use crate::engine::util::seq_buf::SeqBuf;
use crate::engine::util::text::up_to_nul;

/// Deepest nesting that is printed; no shape is deeper.
pub(super) const MAX_DEPTH: usize = 16;

/// Adds the structure as text: `{MEMBER=VALUE,MEMBER={...},...}`.
#[inline(never)]
pub(super) fn put_text(
    buf: &mut SeqBuf<'_>,
    (shape, bytes): (&WholeShape, &[u8]),
    symbols: &mut dyn SymbolNames,
) {
    let mut is_first = true;
    for part in &shape.parts {
        if part.kind == PartKind::End {
            buf.byte(b'}');
            is_first = false;
            continue;
        }
        if !core::mem::take(&mut is_first) {
            buf.byte(b',');
        }
        let name = shape.text(part.name);
        if !name.is_empty() {
            buf.bytes(name);
            buf.byte(b'=');
        }
        match part.kind {
            PartKind::Structure | PartKind::Array => {
                buf.byte(b'{');
                is_first = true;
            }
            PartKind::More => buf.text(b"..."),
            PartKind::Number(bits, kind) => match number(bits, kind, bytes) {
                Some(value) => put_number(buf, (value, kind), shape, symbols),
                None => buf.text(b"..."),
            },
            PartKind::Text(at, length) => {
                buf.byte(b'"');
                buf.one_line(text(bytes, at, length));
                buf.byte(b'"');
            }
            PartKind::End => {}
        }
    }
}

/// Adds the structure as an object.
#[inline(never)]
pub(super) fn put_json(
    buf: &mut SeqBuf<'_>,
    (shape, bytes): (&WholeShape, &[u8]),
    symbols: &mut dyn SymbolNames,
) {
    let mut ends = [b'}'; MAX_DEPTH];
    let mut depth = 0usize;
    let mut is_first = true;
    for part in &shape.parts {
        match part.kind {
            PartKind::End => {
                depth = depth.saturating_sub(1);
                buf.byte(ends.get(depth).copied().unwrap_or(b'}'));
                is_first = false;
                continue;
            }
            // Omissions are listed beside the arguments.
            PartKind::More => continue,
            _ => {}
        }
        if !core::mem::take(&mut is_first) {
            buf.byte(b',');
        }
        let name = shape.text(part.name);
        if !name.is_empty() {
            quoted::put(buf, name);
            buf.byte(b':');
        }
        let (begin, end) = match part.kind {
            PartKind::Structure => (b'{', b'}'),
            PartKind::Array => (b'[', b']'),
            PartKind::Number(bits, kind) => {
                match number(bits, kind, bytes) {
                    Some(value) => put_json_number(buf, (value, kind), shape, symbols),
                    None => buf.text(b"null"),
                }
                continue;
            }
            PartKind::Text(at, length) => {
                quoted::put(buf, text(bytes, at, length));
                continue;
            }
            PartKind::End | PartKind::More => continue,
        };
        buf.byte(begin);
        if let Some(slot) = ends.get_mut(depth) {
            *slot = end;
        }
        depth = depth.saturating_add(1);
        is_first = true;
    }
}

/// Adds the number in the low bits of `word`, whose names are in `shape`.
pub fn put_enum_number(buf: &mut SeqBuf<'_>, shape: &WholeShape, word: u64) {
    let Some(PartKind::Number(bits, kind)) = shape.parts.first().map(|part| part.kind) else {
        return buf.decimal(word);
    };
    let value = number(bits, kind, &word.to_le_bytes()).unwrap_or(word);
    if !put_enum(buf, value, kind, shape) {
        put_plain(buf, value, kind);
    }
}

/// Returns the text at `at`, of at most `length` bytes.
pub(super) fn text(bytes: &[u8], at: u16, length: u16) -> &[u8] {
    let start = usize::from(at);
    let end = start.saturating_add(usize::from(length)).min(bytes.len());
    up_to_nul(bytes.get(start..end).unwrap_or_default())
}

/// Returns the number at `bits`.
pub(super) fn number(bits: ShapeBits, kind: NumberKind, bytes: &[u8]) -> Option<u64> {
    let is_signed = match kind {
        NumberKind::Signed => true,
        NumberKind::Enum { signed, .. } => signed,
        _ => false,
    };
    bits.of(bytes, is_signed)
}

/// Adds a number as text.
pub(super) fn put_number(
    buf: &mut SeqBuf<'_>,
    (value, kind): (u64, NumberKind),
    shape: &WholeShape,
    symbols: &mut dyn SymbolNames,
) {
    match kind {
        NumberKind::Unsigned => buf.decimal(value),
        // CAST: the same bits.
        NumberKind::Signed => buf.signed(value as i64),
        // Shown without the address, as elsewhere.
        NumberKind::Function if value != 0 => symbols.symbolize(value, true, buf),
        NumberKind::Pointer | NumberKind::Function => {
            buf.text(b"0x");
            buf.hexadecimal(value);
        }
        NumberKind::Enum { .. } => {
            if !put_enum(buf, value, kind, shape) {
                put_plain(buf, value, kind);
            }
        }
    }
}

/// Adds a number as JSON.
pub(super) fn put_json_number(
    buf: &mut SeqBuf<'_>,
    (value, kind): (u64, NumberKind),
    shape: &WholeShape,
    symbols: &mut dyn SymbolNames,
) {
    match kind {
        NumberKind::Function if value != 0 => {
            quoted::put_written(buf, |buf| symbols.symbolize(value, true, buf));
        }
        NumberKind::Enum { .. } if has_name(value, kind, shape) => {
            buf.byte(b'"');
            put_enum(buf, value, kind, shape);
            buf.byte(b'"');
        }
        _ => put_plain(buf, value, kind),
    }
}

/// Adds a number in decimal.
fn put_plain(buf: &mut SeqBuf<'_>, value: u64, kind: NumberKind) {
    match kind {
        // CAST: the same bits.
        NumberKind::Signed | NumberKind::Enum { signed: true, .. } => buf.signed(value as i64),
        _ => buf.decimal(value),
    }
}

/// Returns whether an enumeration has a name for `value`, or for one of its bits.
fn has_name(value: u64, kind: NumberKind, shape: &WholeShape) -> bool {
    let NumberKind::Enum {
        first,
        count,
        are_flags,
        ..
    } = kind
    else {
        return false;
    };
    let mut names = shape.enumerators(first, count).iter();
    names.any(|e| e.value == value || are_flags && e.value & value != 0)
}

/// Adds the name of `value`, or the names of its bits and the remaining bits. Returns false if it
/// has no name.
fn put_enum(buf: &mut SeqBuf<'_>, value: u64, kind: NumberKind, shape: &WholeShape) -> bool {
    let NumberKind::Enum { first, count, .. } = kind else {
        return false;
    };
    if !has_name(value, kind, shape) {
        return false;
    }
    let names = shape.enumerators(first, count);
    if let Some(whole) = names.iter().find(|e| e.value == value) {
        buf.bytes(shape.text(whole.name));
        return true;
    }
    let mut left = value;
    for name in names.iter().filter(|e| e.value & value != 0) {
        if left & name.value != 0 {
            if left != value {
                buf.byte(b'|');
            }
            buf.bytes(shape.text(name.name));
            left &= !name.value;
        }
    }
    if left != 0 {
        buf.text(b"|0x");
        buf.hexadecimal(left);
    }
    true
}
