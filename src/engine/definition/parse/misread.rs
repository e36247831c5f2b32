// SPDX-License-Identifier: GPL-2.0

//! What a refused argument is, where it is no argument: a filter, a call of a function, an
//! argument with a comma behind it.

use core::fmt;

use crate::engine::definition::ast::Definition;
use crate::engine::definition::kind::Location;
use crate::engine::language::lex::Span;
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::refusal::foreign;
use crate::engine::util::text::Plain;

/// Begins a constant text, in which any character may stand.
const TEXT: &[u8] = b"\\\"";

/// Returns whether `text` has a character that no name of a parameter and no member has.
#[inline(never)]
pub(super) fn is_no_name(text: Span<'_>) -> bool {
    let is_odd = |byte: u8| matches!(byte, b',' | b'(' | b'<' | b'!' | b'&' | b'|' | b'*' | b'/');
    text.find_by(is_odd).is_some() || is_greater(text.bytes)
}

/// Returns whether `text` has a `>` that is not part of `->`.
fn is_greater(text: &[u8]) -> bool {
    let mut before = b'-';
    text.iter().any(|&byte| {
        let is_it = byte == b'>' && before != b'-';
        before = byte;
        is_it
    })
}

/// Returns whether `text` compares, joins comparisons, or encloses them as in bpftrace.
fn compares(text: &[u8]) -> bool {
    let is_pair = |pair: &[u8]| matches!(pair, b"==" | b"!=" | b"&&" | b"||");
    text == b">" || text.contains(&b'<') || is_greater(text) || text.windows(2).any(is_pair)
}

/// Returns `error`, which refuses the argument `word` of `definition`, with what the word is.
#[cold]
#[inline(never)]
pub(super) fn misread(error: Error, word: Span<'_>, definition: &Definition) -> Error {
    let text = word.bytes;
    if error.kind == Kind::NoMemory || text.windows(TEXT.len()).any(|start| start == TEXT) {
        return error;
    }
    if let Some(before) = text
        .strip_suffix(b",")
        .filter(|before| !before.contains(&b'('))
    {
        return error.with_detail(format_args!(
            "arguments are separated by blanks: write {} without the comma",
            Plain(before)
        ));
    }
    if text == b"/" {
        return error.with_detail(format_args!(
            "an argument does not calculate, and a filter is no part of such a definition: write it \
             to events/{}/filter",
            Designation(definition)
        ));
    }
    if compares(text) {
        return a_filter(error, definition);
    }
    // What is fetched, behind the name.
    let fetched = word.find(b'=').map_or(word, |equals| word.around(equals).1);
    if let [b'*', pointer @ ..] = fetched.bytes {
        return error.with_detail(format_args!(
            "write +0({}) for what it points to",
            Plain(pointer)
        ));
    }
    if let [b'&', member @ ..] = fetched.bytes {
        if member.iter().any(|byte| matches!(byte, b'>' | b'.')) {
            return error.with_detail(format_args!(
                "write {}:struct for what is in it",
                Plain(member)
            ));
        }
    }
    let open = fetched.find(b'(').unwrap_or(0);
    let name = fetched.take(open).bytes;
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if name.is_empty() || !name.iter().all(is_name) || name.starts_with(b"this_cpu_") {
        return error;
    }
    match foreign::call(name) {
        Some(meant) => error.with_detail(format_args!("did you mean {meant}?")),
        None => error.with_detail(format_args!(
            "the only functions are this_cpu_ptr(...) and this_cpu_read(...)"
        )),
    }
}

/// Returns `error` with the remedy for a filter in an argument's position of `definition`.
#[cold]
#[inline(never)]
pub(super) fn a_filter(error: Error, definition: &Definition) -> Error {
    if let Some(Location::Event | Location::Pair) = definition.kind.location {
        return error.with_detail(format_args!("a filter stands at the end, behind if"));
    }
    let event = Designation(definition);
    error.with_detail(format_args!(
        "a filter is no part of such a definition: write it to events/{event}/filter"
    ))
}

/// Displays the names of the event that a definition makes.
struct Designation<'a>(&'a Definition);

impl fmt::Display for Designation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(definition) = self;
        let event: &[u8] = match &*definition.event {
            b"" => b"EVENT",
            event => event,
        };
        write!(f, "{}/{}", Plain(&definition.group), Plain(event))
    }
}
