// SPDX-License-Identifier: GPL-2.0

//! Splits a trigger into parts.

use crate::engine::language::lex::Span;

/// Returns whether `byte` is white space.
pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Returns `text` without surrounding blanks.
pub(super) fn trim(text: Span<'_>) -> Span<'_> {
    let start = text.find_by(|b| !is_blank(b)).unwrap_or(text.bytes.len());
    let text = text.skip(start);
    let end = text.bytes.iter().rposition(|&b| !is_blank(b));
    text.take(end.map_or(0, |end| end.saturating_add(1)))
}

/// Splits `text` at the bytes `at`.
pub(super) fn pieces(text: Span<'_>, at: u8) -> impl Iterator<Item = Span<'_>> {
    let mut rest = Some(text);
    core::iter::from_fn(move || {
        let text = rest?;
        let (piece, behind) = match text.find(at) {
            Some(n) => {
                let (piece, behind) = text.around(n);
                (piece, Some(behind))
            }
            None => (text, None),
        };
        rest = behind;
        Some(piece)
    })
}
