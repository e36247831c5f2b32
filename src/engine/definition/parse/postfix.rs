// SPDX-License-Identifier: GPL-2.0

//! C postfix operators of an expression: `->MEMBER`, `.MEMBER`, `[N]`, and the variables and casts
//! that they apply to.

use crate::engine::definition::ast::{Origin, Step, StepKind};
use crate::engine::language::lex::Span;
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::util::text::Plain;
use crate::sys::Vec;

/// Suffixes that compilers append to symbol names, behind a `.`.
const SUFFIXES: &[&[u8]] = &[
    b"llvm",
    b"lto_priv",
    b"constprop",
    b"isra",
    b"part",
    b"cold",
];

/// Returns `text` without a leading `->`, if it consists of members; `None` if it does not begin
/// with `->`, `.` or `[`.
pub(super) fn of(text: Span<'_>) -> Option<Span<'_>> {
    match text.first() {
        Some(b'[' | b'.') => Some(text),
        _ => text.strip(b"->"),
    }
}

/// Appends the step for `members`.
pub(super) fn push(members: Span<'_>, steps: &mut Vec<Step>) -> Result<(), Error> {
    let action = StepKind::Members(members.to_vec()?);
    let at = members.at;
    Ok(steps.push(Step { action, at })?)
}

/// Returns the end of the kernel variable's name at the start of `text`, where members begin. A
/// symbol name may contain `.` and a number or compiler suffix.
pub(super) fn end_of_variable(text: Span<'_>) -> Option<usize> {
    (0..text.bytes.len()).find(|&at| {
        let behind = text.skip(at);
        let next = behind.get(1);
        match behind.first() {
            Some(b'[') => true,
            Some(b'-') => next == Some(b'>'),
            Some(b'.') => {
                let word = behind.skip(1);
                let end = word.find_by(|b| !b.is_ascii_alphanumeric() && b != b'_');
                let word = word.take(end.unwrap_or(word.bytes.len()));
                let is_name = next.is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
                is_name && !SUFFIXES.contains(&word.bytes)
            }
            _ => false,
        }
    })
}

/// Parses `@VARIABLE` and the members behind it.
pub(super) fn variable(text: Span<'_>) -> Result<Origin, Error> {
    let end = end_of_variable(text).unwrap_or(text.bytes.len());
    let (name, path) = (text.take(end).skip(1), text.skip(end));
    let is_symbol = name
        .first()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if !is_symbol || name.find_by(|b| matches!(b, b'+' | b'-')).is_some() {
        return Err(text.error(Kind::BadMemAddr).with_detail(format_args!(
            "an address has no type: write (struct NAME *)(@{}){}",
            Plain(name.bytes),
            Plain(path.bytes)
        )));
    }
    Ok(Origin::Variable {
        name: name.to_vec()?,
        path: path.to_vec()?,
        path_at: path.at,
    })
}

/// Returns the structure's name in a cast: `file`, or `struct file *` as in C.
pub(super) fn cast_name(cast: Span<'_>) -> Result<Span<'_>, Error> {
    let mut name = trim(cast);
    for word in [&b"const "[..], b"struct ", b"union "] {
        name = name.strip(word).unwrap_or(name);
    }
    let star = name.find(b'*');
    let (name, stars) = (trim(name.take(star.unwrap_or(name.bytes.len()))), star);
    let behind = stars.map_or(cast.skip(cast.bytes.len()), |_| {
        let at = cast.find(b'*').unwrap_or(0);
        trim(cast.skip(at.saturating_add(1)))
    });
    let is_one = name.find(b' ').is_none() && !name.bytes.is_empty();
    match is_one && behind.bytes.is_empty() {
        true => Ok(name),
        // The lookup refuses the name.
        false if cast.find(b' ').is_none() && stars.is_none() => Ok(cast),
        false => Err(name.error(Kind::NoPtrStrct).with_detail(format_args!(
            "a cast is to a structure: write (struct NAME *)"
        ))),
    }
}

/// Returns `text` without spaces at its ends.
fn trim(text: Span<'_>) -> Span<'_> {
    let text = text.skip(text.find_by(|b| b != b' ').unwrap_or(text.bytes.len()));
    let end = text.bytes.iter().rposition(|&b| b != b' ');
    text.take(end.map_or(0, |end| end.saturating_add(1)))
}
