// SPDX-License-Identifier: GPL-2.0

//! Parses the text of a trigger.
//!
//! The name decides how the rest is parsed. A new trigger is a variant of [`Trigger`] and an arm of
//! [`trigger`].

use super::ROWS;
use crate::engine::language::lex::{self, Span};
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::refusal::foreign;
use crate::engine::refusal::suggest::suggest;
use crate::engine::util::text::Plain;

/// Longest text of a trigger: ftrace takes less than a page.
const MAX_LEN: usize = 4095;

/// What a write to `trigger` requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerRequest<'a> {
    /// Set a trigger.
    Set {
        /// The action.
        trigger: Trigger<'a>,
        /// How often it may act.
        count: Count,
        /// The filter, behind `if`; without one, all hits.
        filter: Option<Span<'a>>,
    },
    /// Remove a trigger. Count and filter are ignored.
    Remove(Trigger<'a>),
    /// Set, change or remove a histogram, see [`hist`](crate::engine::hist).
    Histogram {
        /// What follows `hist:`.
        text: Span<'a>,
        /// Whether it is removed.
        removes: bool,
    },
}

impl<'a> TriggerRequest<'a> {
    /// Returns the trigger to set or to remove; `None` for a histogram.
    pub fn trigger(&self) -> Option<Trigger<'a>> {
        match *self {
            TriggerRequest::Set { trigger, .. } | TriggerRequest::Remove(trigger) => Some(trigger),
            TriggerRequest::Histogram { .. } => None,
        }
    }
}

/// What a trigger does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger<'a> {
    /// Switches recording on or off.
    Trace {
        /// Whether recording is switched on.
        on: bool,
    },
    /// Takes a snapshot.
    Snapshot,
    /// Records the stack of the kernel.
    Stack,
    /// Enables or disables an event.
    Event {
        /// Whether the event is enabled.
        on: bool,
        /// The event.
        event: EventName<'a>,
    },
    /// Continues or pauses the histograms of an event.
    Histograms {
        /// Whether they continue.
        on: bool,
        /// The event.
        event: EventName<'a>,
    },
}

/// The names of an event, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventName<'a> {
    /// The group.
    pub group: Span<'a>,
    /// The event.
    pub event: Span<'a>,
}

/// How often a trigger may act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Without a limit.
    Unlimited,
    /// At most that many times.
    Times(u64),
}

/// Parses `text`, written to `trigger`.
///
/// # Errors
///
/// The kinds of [`Subject::Trigger`](crate::engine::refusal::error::Subject::Trigger), with the
/// caret in the text without surrounding white space.
pub fn parse(text: &[u8]) -> Result<TriggerRequest<'_>, Error> {
    let text = Span {
        bytes: text.trim_ascii(),
        at: 0,
    };
    if text.bytes.len() > MAX_LEN {
        return Err(Error::new(Kind::TriggerTooLong, MAX_LEN));
    }
    let (removes, text) = match text.strip(b"!") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (name, rest) = split(text, |b| b == b':' || is_blank(b));
    let rest = skip_blanks(rest);
    if name.bytes == b"hist" {
        let text = rest;
        return Ok(TriggerRequest::Histogram { text, removes });
    }
    let (trigger, has_count, rest) = trigger(name, rest)?;
    if removes {
        return Ok(TriggerRequest::Remove(trigger));
    }
    let (count, rest) = match has_count {
        true => count(rest)?,
        false => (Count::Unlimited, rest),
    };
    let filter = filter(rest)?;
    Ok(TriggerRequest::Set {
        trigger,
        count,
        filter,
    })
}

/// The trigger, whether a count may follow, and the rest.
type Parsed<'a> = (Trigger<'a>, bool, Span<'a>);

/// Parses the arguments of trigger `name`.
fn trigger<'a>(name: Span<'a>, rest: Span<'a>) -> Result<Parsed<'a>, Error> {
    let trigger = match name.bytes {
        b"traceon" => Trigger::Trace { on: true },
        b"traceoff" => Trigger::Trace { on: false },
        b"snapshot" => Trigger::Snapshot,
        b"stacktrace" => Trigger::Stack,
        b"enable_event" => return event(rest, |event| Trigger::Event { on: true, event }),
        b"disable_event" => return event(rest, |event| Trigger::Event { on: false, event }),
        b"enable_hist" => return event(rest, |event| Trigger::Histograms { on: true, event }),
        b"disable_hist" => return event(rest, |event| Trigger::Histograms { on: false, event }),
        _ => return Err(unknown(name)),
    };
    let has_count = rest.first().is_some_and(|b| !b.is_ascii_alphabetic());
    Ok((trigger, has_count, rest))
}

/// Returns the refusal of the unknown trigger `name`.
#[cold]
#[inline(never)]
fn unknown(name: Span<'_>) -> Error {
    let error = name.error(Kind::NoSuchTrigger);
    if name.bytes.is_empty() {
        return error.with_detail(format_args!(
            "it is empty: write ! before a trigger to remove it; > has removed the histograms"
        ));
    }
    if name.bytes.starts_with(b"@") {
        return error.with_detail(format_args!(
            "write hist:keys=common_comm, or another field"
        ));
    }
    // A function of bpftrace: hist(FIELD), count().
    if let Some(open) = name.find(b'(') {
        let (function, behind) = name.around(open);
        let end = behind.find(b')').unwrap_or(behind.bytes.len());
        let field = behind.take(end).bytes;
        match function.bytes {
            b"hist" | b"lhist" | b"count" | b"sum" | b"avg" | b"min" | b"max" => {
                let field = if field.is_empty() {
                    b"common_comm"
                } else {
                    field
                };
                return error.with_detail(format_args!("write hist:keys={}", Plain(field)));
            }
            _ => {}
        }
    }
    match foreign::trigger(name.bytes) {
        Some(meant) => error.with_detail(format_args!("did you mean {meant}?")),
        None => suggest(error, name.bytes, |each| {
            ROWS.iter().map(|row| row.name.as_bytes()).for_each(each);
        }),
    }
}

/// Parses `GROUP:EVENT`, and makes the trigger with `make`.
fn event<'a>(
    rest: Span<'a>,
    make: impl FnOnce(EventName<'a>) -> Trigger<'a>,
) -> Result<Parsed<'a>, Error> {
    let names = rest.find_by(is_blank).unwrap_or(rest.bytes.len());
    let (names, behind) = (rest.take(names), rest.skip(names));
    let Some(colon) = names.find(b':') else {
        return Err(rest.error(Kind::TriggerNoEvent));
    };
    let (group, names) = (names.take(colon), names.skip(colon.saturating_add(1)));
    let event = names.take(names.find(b':').unwrap_or(names.bytes.len()));
    if group.bytes.is_empty() || event.bytes.is_empty() {
        return Err(rest.error(Kind::TriggerNoEvent));
    }
    let trigger = make(EventName { group, event });
    Ok(match names.skip(event.bytes.len()).strip(b":") {
        Some(count) => {
            let rest = rest.skip(count.at.saturating_sub(rest.at));
            (trigger, true, rest)
        }
        None => (trigger, false, skip_blanks(behind)),
    })
}

/// Parses a count; returns the rest.
fn count(text: Span<'_>) -> Result<(Count, Span<'_>), Error> {
    let (number, rest) = split(text, is_blank);
    let times = lex::unsigned(number.bytes).filter(|_| number.first().is_some_and(is_digit));
    // ftrace treats the greatest number as no limit.
    let count = match times {
        None => return Err(number.error(Kind::TriggerBadCount)),
        Some(u64::MAX) => Count::Unlimited,
        Some(times) => Count::Times(times),
    };
    Ok((count, skip_blanks(rest)))
}

/// Parses `if FILTER`, if there is one.
fn filter(text: Span<'_>) -> Result<Option<Span<'_>>, Error> {
    if text.bytes.is_empty() {
        return Ok(None);
    }
    let (word, rest) = split(text, is_blank);
    if word.bytes != b"if" {
        return Err(word.error(Kind::TriggerExpectIf));
    }
    let rest = skip_blanks(rest);
    if rest.bytes.is_empty() {
        return Err(rest.error(Kind::FiltNoFilter));
    }
    Ok(Some(rest))
}

/// Splits `text` at the first byte that satisfies `is`; neither part contains it.
fn split(text: Span<'_>, is: impl Fn(u8) -> bool) -> (Span<'_>, Span<'_>) {
    let end = text.find_by(is).unwrap_or(text.bytes.len());
    (text.take(end), text.skip(end.saturating_add(1)))
}

fn skip_blanks(text: Span<'_>) -> Span<'_> {
    text.skip(text.find_by(|b| !is_blank(b)).unwrap_or(text.bytes.len()))
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}
