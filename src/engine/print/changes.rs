// SPDX-License-Identifier: GPL-2.0

//! Changes that a call made to a structure, which was recorded before and after it.

use super::quoted;
use super::render::SymbolNames;
use super::shape::{number, put_json_number, put_number, text, MAX_DEPTH};
use crate::engine::record::{PartKind, ShapePart, WholeShape};
use crate::engine::util::seq_buf::SeqBuf;

/// The two states of a structure.
#[derive(Clone, Copy)]
struct Changed<'a> {
    shape: &'a WholeShape,
    before: &'a [u8],
    after: &'a [u8],
}

impl<'a> Changed<'a> {
    fn new(shape: &'a WholeShape, bytes: &'a [u8]) -> Self {
        let halves = bytes.split_at_checked(usize::from(shape.size));
        let (before, after) = halves.unwrap_or_default();
        Self {
            shape,
            before,
            after,
        }
    }

    /// Returns whether a number or a text differs.
    fn differs(&self, part: &ShapePart) -> bool {
        match part.kind {
            PartKind::Number(bits, kind) => {
                number(bits, kind, self.before) != number(bits, kind, self.after)
            }
            PartKind::Text(at, length) => {
                text(self.before, at, length) != text(self.after, at, length)
            }
            _ => false,
        }
    }

    /// Returns whether there is, or may be, a change in members that are not shown.
    fn has_more(&self, is_any_shown: bool) -> bool {
        self.shape.is_cut || !is_any_shown && self.before != self.after
    }
}

/// A structure or an array that is being printed.
#[derive(Clone, Copy, Default)]
struct BegunPart {
    part: Option<ShapePart>,
    /// Its index, if it is an element of an array.
    number: Option<u32>,
    /// The number of elements so far, if it is an array.
    elements: Option<u32>,
    /// Whether its opening brace has been written.
    is_written: bool,
    /// Whether anything in it has been written.
    is_used: bool,
}

/// How changes are written.
trait ChangeWriter {
    /// Adds the name of a part, or its number in an array.
    fn name(&self, buf: &mut SeqBuf<'_>, name: &[u8], number: Option<u32>);

    /// Adds the value of `part` before and after.
    fn values(
        &self,
        buf: &mut SeqBuf<'_>,
        part: &ShapePart,
        of: &Changed<'_>,
        symbols: &mut dyn SymbolNames,
    );
}

/// Adds the changes as text: `{MEMBER=OLD->NEW,MEMBER={MEMBER=OLD->NEW},ARRAY={[N]=OLD->NEW}}`.
#[inline(never)]
pub(super) fn put_changes(
    buf: &mut SeqBuf<'_>,
    (shape, bytes): (&WholeShape, &[u8]),
    symbols: &mut dyn SymbolNames,
) {
    let of = Changed::new(shape, bytes);
    buf.byte(b'{');
    let is_any = put_all(buf, &of, &AsText, symbols);
    if of.has_more(is_any) {
        buf.bytes(if is_any { b",..." } else { b"..." });
    }
    buf.byte(b'}');
}

/// Adds the changes as a JSON object, with an object of `old` and `new` for each value. Omissions
/// are listed beside the arguments.
#[inline(never)]
pub(super) fn put_json_changes(
    buf: &mut SeqBuf<'_>,
    (shape, bytes): (&WholeShape, &[u8]),
    symbols: &mut dyn SymbolNames,
) {
    buf.byte(b'{');
    put_all(buf, &Changed::new(shape, bytes), &AsObject, symbols);
    buf.byte(b'}');
}

/// Adds all changes. Returns whether there were any.
fn put_all(
    buf: &mut SeqBuf<'_>,
    of: &Changed<'_>,
    writer: &dyn ChangeWriter,
    symbols: &mut dyn SymbolNames,
) -> bool {
    // The caller writes the outermost braces.
    let mut begun = [BegunPart::default(); MAX_DEPTH];
    let mut depth = 0usize;
    for part in &of.shape.parts {
        match part.kind {
            PartKind::Structure | PartKind::Array => {
                let number = next_number(&mut begun, depth);
                let is_first = begun.first().is_some_and(|first| first.part.is_none());
                if !is_first {
                    depth = depth.saturating_add(1);
                }
                if let Some(slot) = begun.get_mut(depth) {
                    *slot = BegunPart {
                        part: Some(*part),
                        number,
                        elements: (part.kind == PartKind::Array).then_some(0),
                        is_written: is_first,
                        is_used: false,
                    };
                }
            }
            PartKind::End => {
                let ended = begun.get(depth).is_some_and(|ended| ended.is_written);
                if ended && depth > 0 {
                    buf.byte(b'}');
                }
                depth = depth.saturating_sub(1);
            }
            PartKind::More => {}
            PartKind::Number(..) | PartKind::Text(..) => {
                let number = next_number(&mut begun, depth);
                if of.differs(part) {
                    begin(buf, of, &mut begun, depth, writer);
                    writer.name(buf, of.shape.text(part.name), number);
                    writer.values(buf, part, of, symbols);
                }
            }
        }
    }
    begun.first().is_some_and(|first| first.is_used)
}

/// Returns the index of the next part, if it is an array element.
fn next_number(begun: &mut [BegunPart], depth: usize) -> Option<u32> {
    let elements = begun.get_mut(depth)?.elements.as_mut()?;
    let number = *elements;
    *elements = number.saturating_add(1);
    Some(number)
}

/// Writes the pending openings, and a comma if needed.
fn begin(
    buf: &mut SeqBuf<'_>,
    of: &Changed<'_>,
    begun: &mut [BegunPart],
    depth: usize,
    writer: &dyn ChangeWriter,
) {
    for at in 1..depth.saturating_add(1) {
        let Some(slot) = begun.get(at).copied().filter(|slot| !slot.is_written) else {
            continue;
        };
        separate(buf, begun.get_mut(at.saturating_sub(1)));
        let name = slot.part.map(|part| of.shape.text(part.name));
        writer.name(buf, name.unwrap_or_default(), slot.number);
        buf.byte(b'{');
        if let Some(slot) = begun.get_mut(at) {
            slot.is_written = true;
        }
    }
    separate(buf, begun.get_mut(depth));
}

/// Adds a comma if `parent` already has contents.
fn separate(buf: &mut SeqBuf<'_>, parent: Option<&mut BegunPart>) {
    if let Some(parent) = parent {
        if core::mem::replace(&mut parent.is_used, true) {
            buf.byte(b',');
        }
    }
}

struct AsText;

impl ChangeWriter for AsText {
    fn name(&self, buf: &mut SeqBuf<'_>, name: &[u8], number: Option<u32>) {
        match number {
            Some(number) => {
                buf.byte(b'[');
                buf.decimal(u64::from(number));
                buf.byte(b']');
            }
            None => buf.bytes(name),
        }
        buf.byte(b'=');
    }

    fn values(
        &self,
        buf: &mut SeqBuf<'_>,
        part: &ShapePart,
        of: &Changed<'_>,
        symbols: &mut dyn SymbolNames,
    ) {
        for (arrow, bytes) in [(&b""[..], of.before), (b"->", of.after)] {
            buf.bytes(arrow);
            match part.kind {
                PartKind::Number(bits, kind) => match number(bits, kind, bytes) {
                    Some(value) => put_number(buf, (value, kind), of.shape, symbols),
                    None => buf.text(b"..."),
                },
                PartKind::Text(at, length) => {
                    buf.byte(b'"');
                    buf.one_line(text(bytes, at, length));
                    buf.byte(b'"');
                }
                _ => {}
            }
        }
    }
}

struct AsObject;

impl ChangeWriter for AsObject {
    fn name(&self, buf: &mut SeqBuf<'_>, name: &[u8], number: Option<u32>) {
        match number {
            Some(number) => {
                buf.byte(b'"');
                buf.decimal(u64::from(number));
                buf.byte(b'"');
            }
            None => quoted::put(buf, name),
        }
        buf.byte(b':');
    }

    fn values(
        &self,
        buf: &mut SeqBuf<'_>,
        part: &ShapePart,
        of: &Changed<'_>,
        symbols: &mut dyn SymbolNames,
    ) {
        for (key, bytes) in [(&b"{\"old\":"[..], of.before), (b",\"new\":", of.after)] {
            buf.bytes(key);
            match part.kind {
                PartKind::Number(bits, kind) => match number(bits, kind, bytes) {
                    Some(value) => put_json_number(buf, (value, kind), of.shape, symbols),
                    None => buf.text(b"null"),
                },
                PartKind::Text(at, length) => quoted::put(buf, text(bytes, at, length)),
                _ => {}
            }
        }
        buf.byte(b'}');
    }
}
