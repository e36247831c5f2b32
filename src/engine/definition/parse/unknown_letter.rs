// SPDX-License-Identifier: GPL-2.0

//! The refusal of a line that begins with no letter of a kind: another tool's probe, a place
//! without its letter, or a command.

use core::fmt;

use crate::engine::language::functions::Patterns;
use crate::engine::language::lex::{self, Command, Span};
use crate::engine::refusal::error::Error;
use crate::engine::refusal::foreign;
use crate::engine::util::text::Plain;

use super::location::source_line;

/// Words that begin a probe of bpftrace, or of other tools, with the letter and the suffix that
/// stand for them here.
const PROVIDERS: &[(&str, &str, &str)] = &[
    ("kprobe k probe", "p", ""),
    ("kretprobe kr retprobe", "r", ""),
    ("fentry kfunc function func", "f", ""),
    ("fexit kretfunc", "f", "%return"),
    (
        "tracepoint rawtracepoint raw_tracepoint rawtp rt raw_tp trace",
        "t",
        "",
    ),
];

/// Words that begin what bpftrace runs without a probe, or probes that no event is like.
const NO_EVENTS: [&[u8]; 6] = [b"BEGIN", b"END", b"software", b"hardware", b"iter", b"self"];

/// Words of commands that delete one event.
const DELETIONS: [&[u8]; 6] = [b"delete", b"del", b"rm", b"remove", b"undefine", b"--del"];

/// Words that mean to remove all events.
const REMOVALS: [&[u8]; 6] = [b"reset", b"clear", b"none", b"stop", b"off", b"0"];

/// Shortest name of a function that is taken for a place without its letter: shorter ones may be a
/// letter with something behind it.
const MIN_PLACE: usize = 4;

/// Longest line that is repeated behind the letter.
const MAX_REPEATED: usize = 120;

/// Returns `error`, which refuses `command`, with what its first word `head` means.
#[cold]
#[inline(never)]
pub(super) fn unknown_letter(error: Error, command: &Command, head: Span<'_>) -> Error {
    if command.len() == 1 && REMOVALS.contains(&head.bytes) {
        return error.with_detail(format_args!(
            "write 1 to reset to remove all events, filters and triggers"
        ));
    }
    let (name, place) = match head.find(b':') {
        Some(colon) => {
            let (name, place) = head.around(colon);
            (name.bytes, Some(place))
        }
        None => (head.bytes, command.word(1)),
    };
    if let (b"usdt", Some(place)) = (name, place) {
        return error.with_detail(format_args!(
            "in uprobe_events it is p usdt:{}",
            Plain(place.bytes)
        ));
    }
    let letter = match name {
        b"uprobe" | b"u" => Some('p'),
        b"uretprobe" | b"ur" => Some('r'),
        _ => None,
    };
    if let (Some(letter), Some(place)) = (letter, place) {
        return error.with_detail(format_args!(
            "in uprobe_events it is {letter} {}",
            Plain(place.bytes)
        ));
    }
    if DELETIONS.contains(&name) {
        let event = place.map_or(&b"EVENT"[..], |event| event.bytes);
        return error.with_detail(format_args!("write -:{} to delete", Plain(event)));
    }
    match (name, place) {
        (b"interval" | b"profile", Some(period)) => return ticks(error, period),
        (b"watchpoint" | b"asyncwatchpoint", Some(data)) => return watched(error, data),
        _ => {}
    }
    if NO_EVENTS.contains(&name) {
        return error.with_detail(format_args!("no event is like it"));
    }
    let is_it = |words: &str| words.split(' ').any(|word| word.as_bytes() == name);
    let provider = PROVIDERS.iter().find(|(words, ..)| is_it(words));
    if let (Some((_, letter, suffix)), Some(place)) = (provider, place) {
        let end = place.find_by(|byte| matches!(byte, b'{' | b'/'));
        let place = place.take(end.unwrap_or(place.bytes.len()));
        // The group of a tracepoint.
        let group = place.find(b':').filter(|_| *letter == "t");
        let place = group.map_or(place, |colon| place.around(colon).1);
        let counts = match command.text().contains(&b'{') {
            true => ", and a hist trigger counts: hist:keys=common_comm",
            false => "",
        };
        return error.with_detail(format_args!(
            "here it is {letter} {}{suffix}{counts}",
            Plain(place.bytes)
        ));
    }
    if foreign::is_source(head.bytes) {
        return source_line(error, head);
    }
    if let [letter @ (b'P' | b'R' | b'T' | b'F' | b'E' | b'B' | b'C' | b'W'), rest @ ..] =
        head.bytes
    {
        if matches!(rest, [] | [b':', ..]) {
            let small = char::from(letter.to_ascii_lowercase());
            return error.with_detail(format_args!("letters are small: {small}{}", Plain(rest)));
        }
    }
    match Bare::of(command, head) {
        Some(bare) => error.with_detail(format_args!("a letter stands first: write {bare}")),
        None => error,
    }
}

/// Returns `error` with what stands for bpftrace's `UNIT:NUMBER`.
fn ticks(error: Error, period: Span<'_>) -> Error {
    let parts = period.find(b':').map(|colon| period.around(colon));
    let is_unit = |unit: &[u8]| [&b"hz"[..], b"us", b"ms", b"s"].contains(&unit);
    let is_period = |(unit, number): &(Span<'_>, Span<'_>)| {
        is_unit(unit.bytes) && lex::decimal(number.bytes).is_some()
    };
    match parts.filter(is_period) {
        Some((unit, number)) => error.with_detail(format_args!(
            "here it is c {}{}",
            Plain(number.bytes),
            Plain(unit.bytes)
        )),
        None => error.with_detail(format_args!("here it is c PERIOD, as in c 99hz")),
    }
}

/// Returns `error` with what stands for bpftrace's `DATA:LENGTH:ACCESS`.
fn watched(error: Error, data: Span<'_>) -> Error {
    let parts = data.rfind(b':').map(|colon| data.around(colon));
    match parts {
        Some((data, access)) if [&b"w"[..], b"rw"].contains(&access.bytes) => error.with_detail(
            format_args!("here it is w {}@{}", Plain(access.bytes), Plain(data.bytes)),
        ),
        _ => error.with_detail(format_args!(
            "here it is w ACCESS@DATA:LENGTH, as in w w@jiffies"
        )),
    }
}

/// A line that begins with a place; displayed with the letter of the place.
struct Bare<'a> {
    letter: char,
    place: &'a [u8],
    /// What is behind the place, with the blank.
    rest: &'a [u8],
}

impl<'a> Bare<'a> {
    /// Returns `None` if `head` is no place.
    fn of(command: &'a Command, head: Span<'a>) -> Option<Self> {
        let is_in = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:*?,!%+#[]-".contains(&byte);
        let starts = head
            .first()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        // The name of an event stands behind a letter and a colon.
        let is_named = head.get(1) == Some(b':');
        if !starts
            || is_named
            || head.bytes.len() < MIN_PLACE
            || head.find_by(|b| !is_in(b)).is_some()
        {
            return None;
        }
        let name = head.bytes.strip_suffix(b"%return");
        let (letter, place) = match (Patterns::is_list(head.bytes), name) {
            (true, _) => ('f', head.bytes),
            (false, Some(name)) => ('r', name),
            (false, None) => ('p', head.bytes),
        };
        let whole = command.text();
        let rest = whole.get(head.end()..).unwrap_or_default();
        let rest = Some(rest).filter(|_| whole.len() <= MAX_REPEATED);
        Some(Self {
            letter,
            place,
            rest: rest.unwrap_or_default(),
        })
    }
}

impl fmt::Display for Bare<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}{}",
            self.letter,
            Plain(self.place),
            Plain(self.rest)
        )
    }
}
