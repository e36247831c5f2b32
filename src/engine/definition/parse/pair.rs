// SPDX-License-Identifier: GPL-2.0

//! The location of a pair: `GROUP.EVENT(KEY,...) GROUP.EVENT(KEY,...)`.

use crate::engine::definition::ast::{PairSide, Place};
use crate::engine::definition::kind::ProbeKind;
use crate::engine::language::lex::{self, Command, Span};
use crate::engine::pairs::MAX_PAIR_KEYS;
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::util::text::Plain;
use crate::sys::Vec;

use super::location::attached;

/// The key of a pair without keys.
const DEFAULT_KEY: &[u8] = b"common_pid";

/// Parses both events; `first` is the first one, `head` the word with the letter.
pub(super) fn place(command: &Command, first: Span<'_>, head: Span<'_>) -> Result<Place, Error> {
    let begin = side(first).map_err(|error| match command.word(2) {
        Some(second) if second.bytes.ends_with(b"%return") => one_call(error, first, head),
        _ => error,
    })?;
    let Some(second) = command.word(2) else {
        return Err(Error::new(Kind::NoPairEnd, command.column(2)));
    };
    let end = side(second)?;
    if begin.keys.len() != end.keys.len() {
        return Err(second.error(Kind::BadPairKeys));
    }
    let mut sides = Vec::new();
    sides.push(begin)?;
    sides.push(end)?;
    Ok(Place::Pair(sides))
}

/// Returns `error` with the remedy for a pair of the entry and the return of `function`.
#[cold]
#[inline(never)]
fn one_call(error: Error, function: Span<'_>, head: Span<'_>) -> Error {
    let (function, names) = (
        Plain(function.bytes),
        head.find(b':').map(|at| head.skip(at)),
    );
    error.with_detail(format_args!(
        "both are one call: write r{} {function} $duration",
        Plain(names.map_or(b"", |names| names.bytes))
    ))
}

/// Parses `GROUP.EVENT[(KEY[,KEY])]`.
fn side(word: Span<'_>) -> Result<PairSide, Error> {
    let (name, list) = match word.find(b'(') {
        Some(open) => {
            let (name, list) = word.around(open);
            (name, Some(list))
        }
        None => (word, None),
    };
    let Place::Event { group, event } = attached(name, ProbeKind::Pair)? else {
        return Err(word.error(Kind::NoEventInfo));
    };
    Ok(PairSide {
        group,
        event,
        keys: keys(list)?,
        at: word.at,
    })
}

/// Parses the keys behind the parenthesis.
fn keys(list: Option<Span<'_>>) -> Result<Vec<Vec<u8>>, Error> {
    let mut keys = Vec::new();
    let Some(list) = list else {
        keys.push(Vec::from_slice(DEFAULT_KEY)?)?;
        return Ok(keys);
    };
    let Some(close) = list
        .bytes
        .len()
        .checked_sub(1)
        .filter(|_| list.bytes.ends_with(b")"))
    else {
        return Err(list
            .error(Kind::BadPairKeys)
            .with_detail(format_args!("add )")));
    };
    let mut rest = Some(list.take(close));
    while let Some(text) = rest {
        let key;
        (key, rest) = text.first_item(b',');
        if !lex::is_identifier(key.bytes) || keys.len() >= MAX_PAIR_KEYS {
            return Err(key.error(Kind::BadPairKeys));
        }
        keys.push(key.to_vec()?)?;
    }
    Ok(keys)
}
