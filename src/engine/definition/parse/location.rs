// SPDX-License-Identifier: GPL-2.0

//! The location of a definition, and the default name of an event.

use core::fmt::Write;

use crate::engine::definition::ast::{Place, Which, MAX_NAME_LEN};
use crate::engine::definition::file_place::FilePlace;
use crate::engine::definition::kind::{Location, ProbeKind};
use crate::engine::definition::ready::{ReadyGroup, GROUPS};
use crate::engine::language::functions::{self, Patterns};
use crate::engine::language::lex::{self, Span};
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::refusal::foreign;
use crate::engine::util::glob;
use crate::engine::util::text::{Appender, Plain};
use crate::sys::{AllocError, Vec};

/// Returns whether `word` is a location in a file, and not a line of the kernel's source.
pub(super) fn is_file(word: Span<'_>) -> bool {
    let is_absolute = word.first() == Some(b'/');
    FilePlace::is_one(word.bytes) && (is_absolute || !foreign::is_source(word.bytes))
}

/// Parses a location; the second value tells whether it ends in `%return`.
pub(super) fn place(word: Span<'_>) -> Result<(Place, bool), Error> {
    if foreign::is_source(word.bytes) {
        return Err(source_line(word.error(Kind::BadProbeAddr), word));
    }
    let (text, is_return) = match word.find(b'%') {
        None => (word, false),
        Some(percent) if word.skip(percent).bytes == b"%return" => (word.take(percent), true),
        Some(percent) => return Err(word.skip(percent).error(Kind::BadAddrSuffix)),
    };
    if let Some(address) = lex::unsigned(text.bytes) {
        return Ok((Place::Address(address), is_return));
    }
    let bad = || word.error(Kind::BadProbeAddr);
    let (name, offset) = split_offset(text).ok_or_else(bad)?;
    let offset = u32::try_from(offset).map_err(|_| bad())?;
    let (name, which) = numbered(name)?;
    // The name of a module may begin with a digit.
    let symbol = match name.find(b':') {
        Some(0) => return Err(bad()),
        Some(colon) => name.skip(colon.saturating_add(1)),
        None => name,
    };
    match symbol.first() {
        None => return Err(bad()),
        Some(b'0'..=b'9') => {
            return Err(bad().with_detail(format_args!(
                "a symbol cannot begin with a digit, and an offset follows a +"
            )))
        }
        Some(_) => {}
    }
    let mut name = name.to_vec()?;
    functions::underscore_module(&mut name);
    Ok((
        Place::Symbol {
            name,
            which,
            offset,
        },
        is_return,
    ))
}

/// Returns `error` with the remedy for `word`, a line or a file of the source.
#[cold]
#[inline(never)]
pub(super) fn source_line(error: Error, word: Span<'_>) -> Error {
    error.with_detail(format_args!(
        "a source line: ferroprobe define '{}' prints the line to write",
        Plain(word.bytes)
    ))
}

/// Returns `word`, the location of a definition with the letter of `kind`.
///
/// # Errors
///
/// `BAD_PROBE_ADDR` for patterns, which only `f` takes.
pub(super) fn one_symbol(word: Span<'_>, kind: ProbeKind) -> Result<Span<'_>, Error> {
    let end = word.find_by(|byte| matches!(byte, b'#' | b'%' | b'+'));
    let name = word.take(end.unwrap_or(word.bytes.len()));
    match Patterns::is_list(name.bytes) {
        false => Ok(word),
        true => Err(many_symbols(word, name, kind)),
    }
}

#[cold]
#[inline(never)]
fn many_symbols(word: Span<'_>, name: Span<'_>, kind: ProbeKind) -> Error {
    let (error, name) = (word.error(Kind::BadProbeAddr), Plain(name.bytes));
    let letter = kind.letter;
    if let [symbol @ .., b','] = name.0 {
        if !Patterns::is_list(symbol) && !symbol.contains(&b'(') {
            return error.with_detail(format_args!(
                "arguments follow behind a blank: write {letter} {} without the comma",
                Plain(symbol)
            ));
        }
    }
    match kind.is_return || word.bytes.ends_with(b"%return") {
        false => error.with_detail(format_args!(
            "{letter} takes one symbol: write f {name} for the entries of all functions"
        )),
        true => error.with_detail(format_args!(
            "{letter} takes one symbol: write f {name}%return for the returns of all functions"
        )),
    }
}

/// Splits `SYMBOL[#N|#*]`.
fn numbered(name: Span<'_>) -> Result<(Span<'_>, Which), Error> {
    let Some(sign) = name.find(b'#') else {
        return Ok((name, Which::Only));
    };
    let (symbol, number) = name.around(sign);
    if number.bytes == b"*" {
        return Ok((symbol, Which::All));
    }
    let number = lex::decimal(number.bytes).and_then(|n| u16::try_from(n).ok());
    match number.filter(|&n| n > 0) {
        Some(n) => Ok((symbol, Which::Number(n))),
        None => Err(name
            .skip(sign)
            .error(Kind::BadProbeAddr)
            .with_detail(format_args!(
                "write #1 for the first of the symbols of that name, or #* for all"
            ))),
    }
}

/// Parses `[MODULE:]FUNCTION[%return]`, or a list of patterns with the further words `more`, with
/// or without `%return`. The second value tells whether `%return` is there.
pub(super) fn function<'a>(
    word: Span<'a>,
    more: impl Iterator<Item = Span<'a>> + Clone,
) -> Result<(Place, bool), Error> {
    let (name, is_return) = match word.find(b'%') {
        Some(percent) if word.skip(percent).bytes == b"%return" => (word.take(percent), true),
        _ => (word, false),
    };
    let is_numbered = name.find(b'#').is_some();
    if !is_numbered && Patterns::is_list(name.bytes) || more.clone().next().is_some() {
        return Ok((Place::Functions(Patterns::parse(name, more)?), is_return));
    }
    let (place, is_return) = place(word)?;
    let bad = || word.error(Kind::BadProbeAddr);
    match place {
        Place::Symbol { offset: 0, .. } => Ok((place, is_return)),
        Place::Symbol { .. } => {
            Err(bad().with_detail(format_args!("only p probes inside of a function")))
        }
        _ => Err(bad().with_detail(format_args!("f takes a name, p an address"))),
    }
}

/// Parses `[GROUP:]NAME` of a tracepoint, or a pattern. The group must be that of the ready-made
/// event; it is not part of the place.
pub(super) fn tracepoint(word: Span<'_>) -> Result<Place, Error> {
    let word = match word.find(b':') {
        Some(colon) => behind_group(word, colon)?,
        None => word,
    };
    if word.find_by(|b| matches!(b, b'*' | b'?' | b'[')).is_some() {
        let is_in = |b: u8| b.is_ascii_alphanumeric() || b"_*?[]!-".contains(&b);
        if let Some(wrong) = word.find_by(|b| !is_in(b)) {
            return Err(word.skip(wrong).error(Kind::BadTpName));
        }
        return Ok(Place::Symbol {
            name: word.to_vec()?,
            which: Which::All,
            offset: 0,
        });
    }
    let wrong = word.find_by(|b| !b.is_ascii_alphanumeric() && b != b'_');
    match wrong.map(|at| (word.get(at), word.skip(at))) {
        None => Ok(Place::Symbol {
            name: word.to_vec()?,
            which: Which::Only,
            offset: 0,
        }),
        Some((Some(b'%'), suffix)) => Err(suffix.error(Kind::BadAddrSuffix)),
        Some((byte, rest)) => {
            let refusal = rest.error(Kind::BadTpName);
            Err(match byte {
                Some(b':' | b'/') => refusal.with_detail(format_args!(
                    "a group is written GROUP:NAME, and a module not at all, see available_tracepoints"
                )),
                Some(b'#') => refusal.with_detail(format_args!(
                    "there is one tracepoint of a name: leave # out, or a space before a comment"
                )),
                _ => refusal,
            })
        }
    }
}

/// Parses the names of an event: `GROUP.EVENT` or `GROUP/EVENT`.
pub(super) fn attached(word: Span<'_>, kind: ProbeKind) -> Result<Place, Error> {
    let separator = word.find(b'/').or_else(|| word.find(b'.'));
    let refusal = || no_names(word, kind);
    let (group, event) = word.around(separator.ok_or_else(refusal)?);
    if !lex::is_group_name(group.bytes) || !lex::is_identifier(event.bytes) {
        return Err(refusal());
    }
    Ok(Place::Event {
        group: group.to_vec()?,
        event: event.to_vec()?,
    })
}

/// Returns the refusal of `word`, which is not `GROUP.EVENT`, in a definition of `kind`.
#[cold]
#[inline(never)]
fn no_names(word: Span<'_>, kind: ProbeKind) -> Error {
    let error = word.error(Kind::NoEventInfo);
    let form = match kind {
        ProbeKind::Pair => "b:NAME GROUP.EVENT(KEY) GROUP.EVENT(KEY)",
        _ => "e:NAME GROUP.EVENT",
    };
    if let Some(colon) = word.find(b':') {
        let (group, event) = word.around(colon);
        return error.with_detail(format_args!(
            "a dot, not a colon: {}.{}, as in {form}",
            Plain(group.bytes),
            Plain(event.bytes)
        ));
    }
    match group_of(word.bytes) {
        Some(group) => error.with_detail(format_args!(
            "did you mean {}.{}? write {form}",
            group.name,
            Plain(word.bytes)
        )),
        None => error.with_detail(format_args!("write {form}, see available_events")),
    }
}

/// Returns the group of the ready-made event `name`.
fn group_of(name: &[u8]) -> Option<&'static ReadyGroup> {
    GROUPS.iter().find(|group| {
        let mut names = group.events().map(|row| row.name.as_bytes());
        names.any(|known| known == name)
    })
}

/// Returns the tracepoint in `word`, whose group ends at `colon`.
fn behind_group(word: Span<'_>, colon: usize) -> Result<Span<'_>, Error> {
    let (group, name) = word.around(colon);
    let refusal = || word.skip(colon).error(Kind::BadTpName);
    let is_it = |known: &&ReadyGroup| known.name.as_bytes() == group.bytes;
    if let Some(known) = GROUPS.iter().find(is_it) {
        let mut names = known.events().map(|row| row.name.as_bytes());
        if names.any(|known| glob::matches(name.bytes, known)) {
            return Ok(name);
        }
    }
    Err(match group_of(name.bytes) {
        Some(of) => refusal().with_detail(format_args!("its group is {}", of.name)),
        None if group.bytes == b"syscalls" => refusal().with_detail(format_args!(
            "system calls have events, and no tracepoints: write 1 to events/syscalls/{}/enable",
            Plain(name.bytes)
        )),
        None => refusal().with_detail(format_args!(
            "no ready-made event is called so: write t:{}/{name} {name}, see \
             available_tracepoints",
            Plain(group.bytes),
            name = Plain(name.bytes)
        )),
    })
}

/// Splits `SYMBOL[+|-OFFSET]`; returns `None` if the offset is not a number.
pub(super) fn split_offset(text: Span<'_>) -> Option<(Span<'_>, i64)> {
    // A module's file name may contain a dash.
    let from = text.find(b':').unwrap_or(0);
    let sign = text.skip(from).find_by(|b| b == b'+' || b == b'-');
    match sign.map(|sign| sign.saturating_add(from)) {
        None => Some((text, 0)),
        Some(sign) => Some((text.take(sign), lex::signed(text.skip(sign).bytes)?)),
    }
}

/// Returns the default name of an event: letter, symbol and offset; letter and address; letter and
/// period; the tracepoint's name; or the function and `__entry` or `__exit`. Characters that an identifier
/// cannot contain become `_`.
pub(super) fn generated_name(kind: ProbeKind, place: &Place) -> Result<Vec<u8>, AllocError> {
    let mut name = Vec::new();
    let letter = kind.letter;
    let mut out = Appender(&mut name);
    let written = match place {
        Place::Symbol { name: point, .. } if kind.location == Some(Location::Tracepoint) => {
            push_start(&mut out, point)
        }
        Place::Symbol {
            name: function,
            which,
            ..
        } if kind.location == Some(Location::Function) => {
            function_event_name(&mut out, function, *which, kind)
        }
        Place::Symbol {
            name: symbol,
            which,
            offset,
        } => write!(out, "{letter}_").and_then(|()| {
            out.0
                .extend_from_slice(symbol)
                .map_err(|_| core::fmt::Error)?;
            match which {
                Which::Number(n) => write!(out, "_{n}_{offset}"),
                Which::Only | Which::All => write!(out, "_{offset}"),
            }
        }),
        Place::File(place) => file_event_name(&mut out, place, letter),
        Place::Functions(patterns) => {
            function_event_name(&mut out, patterns.text(), Which::Only, kind)
        }
        Place::Address(address) => write!(out, "{letter}_{address:#x}"),
        Place::Event { event, .. } => out.0.extend_from_slice(event).map_err(|_| core::fmt::Error),
        Place::Pair(sides) => {
            let end = sides.last().map_or(&b""[..], |side| &side.event);
            out.0.extend_from_slice(end).map_err(|_| core::fmt::Error)
        }
        Place::Every(period) => write!(out, "{letter}_{period}"),
        Place::Data(watched) => match &watched.symbol {
            None => write!(out, "{letter}_{:#x}", watched.address(0)),
            Some(symbol) => write!(out, "{letter}_{}_{}", Plain(symbol), watched.offset),
        },
        Place::None => Ok(()),
    };
    written.map_err(|_| AllocError)?;
    name.truncate(MAX_NAME_LEN);
    for byte in name.iter_mut() {
        if !byte.is_ascii_alphanumeric() {
            *byte = b'_';
        }
    }
    Ok(name)
}

/// Adds `text` at the start of a name, which cannot be a digit.
fn push_start(out: &mut Appender<'_>, text: &[u8]) -> core::fmt::Result {
    let starts_with_digit = text.first().is_some_and(u8::is_ascii_digit);
    let prefix: &[u8] = if starts_with_digit { b"_" } else { b"" };
    for part in [prefix, text] {
        let added = out.0.extend_from_slice(part);
        added.map_err(|_| core::fmt::Error)?;
    }
    Ok(())
}

fn function_event_name(
    out: &mut Appender<'_>,
    function: &[u8],
    which: Which,
    kind: ProbeKind,
) -> core::fmt::Result {
    let end = if kind.is_return { "exit" } else { "entry" };
    push_start(out, function)?;
    if let Which::Number(n) = which {
        write!(out, "_{n}")?;
    }
    write!(out, "__{end}")
}

/// Writes the kernel's name for an offset, which has `p` for returns, too; for a symbol
/// `LETTER_FILE_SYMBOL_OFFSET`; for a static point `PROVIDER_NAME`.
fn file_event_name(out: &mut Appender<'_>, place: &FilePlace, letter: char) -> core::fmt::Result {
    if let Some(point) = &place.point {
        return write!(out, "{}_{}", Plain(&point.provider), Plain(&point.name));
    }
    let (name, offset) = (Plain(place.file_name()), place.offset);
    match &place.symbol {
        None => write!(out, "p_{name}_{offset:#x}"),
        Some(symbol) => write!(out, "{letter}_{name}_{}_{offset}", Plain(symbol)),
    }
}
