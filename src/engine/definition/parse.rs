// SPDX-License-Identifier: GPL-2.0

//! Parses the words of a line to a [`Request`].
//!
//! Parsing looks nothing up: whether a symbol exists, a location can be probed or a
//! parameter is known is decided later. Parsing allocates; no input makes it panic.
//!
//! Context: process, may sleep.

mod condition;
mod fetcharg;
mod location;
mod misread;
mod naming;
mod pair;
mod postfix;
mod synthetic;
mod unknown_letter;

use crate::engine::code::arch::Machine;
use crate::engine::definition::ast::{
    Argument, Definition, Deletion, Expression, Origin, Place, Request, MAX_ARGS, MAX_ARG_LEN,
    MAX_ARG_NAME_LEN, MAX_NAME_LEN,
};
use crate::engine::definition::file_place::FilePlace;
use crate::engine::definition::kind::{Location, ProbeKind};
use crate::engine::definition::period::Period;
use crate::engine::definition::watched::Watched;
use crate::engine::language::functions;
use crate::engine::language::lex::{self, Command, Span};
use crate::engine::language::types::{self, TypeSpec};
use crate::engine::refusal::error::{Error, Kind};
use crate::sys::Vec;
use location::{attached, function, generated_name, is_file, one_symbol, place, tracepoint};
use misread::{a_filter, misread};
use unknown_letter::unknown_letter;

pub use fetcharg::BEGIN;
pub use naming::RESERVED_NAMES;
pub(in crate::engine) use naming::{generated_arg_name, make_unique};
pub use synthetic::{synthetic, SYNTHETIC_GROUP, SYNTHETIC_STACK};

/// The language of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// Any definition, starting with its letter.
    Letters,
    /// Definitions as in [`Grammar::Letters`], except those of programs' probes.
    OfKernel,
    /// Definitions of programs' probes.
    OfPrograms,
    /// Synthetic events only, without a letter; `!` deletes.
    Synthetic,
}

impl Grammar {
    /// Parses one command, which must not be empty.
    ///
    /// # Errors
    ///
    /// Any kind that concerns the text alone.
    pub fn request(self, command: &Command, machine: Machine) -> Result<Request, Error> {
        match self {
            Self::Letters => request(command, machine),
            Self::OfKernel | Self::OfPrograms => {
                let request = request(command, machine)?;
                match &request {
                    Request::Create(definition)
                        if definition.kind.is_user != (self == Self::OfPrograms) =>
                    {
                        Err(other_file(definition))
                    }
                    _ => Ok(request),
                }
            }
            Self::Synthetic => synthetic::request(command),
        }
    }
}

/// Returns the refusal of `definition`, which belongs to another file.
#[cold]
#[inline(never)]
fn other_file(definition: &Definition) -> Error {
    let error = Error::new(Kind::OtherFile, definition.place_at);
    match definition.kind.is_user {
        true => error.with_detail(format_args!("write it to uprobe_events or dynamic_events")),
        // No other letter has a location in a file.
        false => error.with_detail(format_args!(
            "write it to kprobe_events; here it is {} PATH:OFFSET or PATH:SYMBOL",
            if definition.kind.is_return { 'r' } else { 'p' }
        )),
    }
}

/// Parses one command, which must not be empty.
///
/// # Errors
///
/// Any kind that concerns the text alone.
#[inline(never)]
pub fn request(command: &Command, machine: Machine) -> Result<Request, Error> {
    let head = command.word(0).unwrap_or(Span { bytes: &[], at: 0 });
    if let Some(b'-' | b'!') = head.first() {
        return deletion(command, head).map(Request::Delete);
    }
    if head.bytes.starts_with(b"s:") {
        return synthetic::prefixed(command).map(Request::Create);
    }
    match head.first().and_then(ProbeKind::by_letter) {
        Some(written) => definition(command, head, written, machine).map(Request::Create),
        None => Err(unknown_letter(
            head.error(Kind::BadProbeType),
            command,
            head,
        )),
    }
}

/// Parses `-:[GROUP/][EVENT] [PLACE [NAME=ARG...]]`, or the same with `!` and the start of
/// a definition in place of `-`, as `dynamic_events` does.
fn deletion(command: &Command, head: Span<'_>) -> Result<Deletion, Error> {
    let names = match head.find(b':') {
        Some(1) => head.skip(2),
        Some(colon) if head.first() == Some(b'!') => head.around(colon).1,
        _ => {
            let refusal = head.skip(1).error(Kind::BadProbeType);
            return Err(
                refusal.with_detail(format_args!("write -:EVENT or -:GROUP/EVENT to delete"))
            );
        }
    };
    let (group, event) = match names.find(b'/') {
        Some(slash) => {
            let (group, event) = names.around(slash);
            (Some(group), event)
        }
        None => (None, names),
    };
    if group.is_none() && event.bytes.is_empty() {
        return Err(event.error(Kind::NoEventName));
    }
    let first_arg = first_argument(command);
    let mut args = Vec::new();
    for n in first_arg..condition::start(command) {
        if let Some(word) = command.word(n) {
            args.push(word.to_vec()?)?;
        }
    }
    let place = (1..first_arg.min(condition::start(command))).filter_map(|n| command.word(n));
    let place = functions::joined(place.map(|word| word.bytes))?;
    Ok(Deletion {
        group: group.map(|group| group.to_vec()).transpose()?,
        event: Some(event)
            .filter(|e| !e.bytes.is_empty())
            .map(|e| e.to_vec())
            .transpose()?,
        place: Some(place).filter(|place| !place.is_empty()),
        args,
    })
}

/// Replaces the location of `definition`, which had several places, by `place`.
///
/// # Errors
///
/// `NO_MEMORY`.
pub fn set_place(definition: &mut Definition, place: Place) -> Result<(), Error> {
    if definition.event.is_empty() {
        definition.event = generated_name(definition.kind, &place)?;
    }
    definition.place = place;
    Ok(())
}

/// Parses a definition whose letter stands for this kind and this grammar of the location.
fn definition(
    command: &Command,
    head: Span<'_>,
    (kind, location): (ProbeKind, Location),
    machine: Machine,
) -> Result<Definition, Error> {
    let (before, names) = match head.find(b':') {
        Some(colon) => {
            let (before, names) = head.around(colon);
            (before, Some(names))
        }
        None => (head, None),
    };
    let in_file = command.word(1).zip(kind.in_file);
    let (kind, location) = match in_file.filter(|(word, _)| is_file(*word)) {
        Some((_, in_file)) => (in_file, Location::File),
        None => (kind, location),
    };
    let maxactive = maxactive(before.skip(1), kind).map_err(|error| match error.kind {
        Kind::BadProbeType => unknown_letter(error, command, head),
        _ => error,
    })?;
    let Some(place_word) = command.word(1) else {
        return Err(no_place(command.column(1), (kind, location), names));
    };
    let (place, returns) = match location {
        Location::Tracepoint => (tracepoint(place_word)?, false),
        Location::Function => {
            let more = (2..first_argument(command)).filter_map(|n| command.word(n));
            function(place_word, more)?
        }
        Location::Event => (attached(place_word, kind)?, false),
        Location::Pair => (pair::place(command, place_word, head)?, false),
        Location::File => {
            let (place, returns) = FilePlace::parse(place_word)?;
            if kind.is_return && place.point.is_some() {
                return Err(place_word
                    .error(Kind::BadRetprobe)
                    .with_detail(format_args!("a static point has no return")));
            }
            (Place::File(place), returns)
        }
        Location::Period => (Place::Every(Period::parse(place_word)?), false),
        Location::Watched => (Place::Data(Watched::parse(place_word)?), false),
        Location::Text => place(one_symbol(place_word, kind)?)?,
    };
    let returning = match place {
        Place::Functions(_) => kind.returning_many,
        _ => kind.returning,
    };
    let kind = match (returns, returning) {
        (false, _) => kind,
        (true, Some(kind)) => kind,
        (true, None) => {
            let suffix = place_word.find(b'%').unwrap_or(0);
            return Err(place_word.skip(suffix).error(Kind::BadAddrSuffix));
        }
    };
    let (group, event) = match names {
        Some(names) => event_name(names)?,
        None => (None, None),
    };
    let event = match event {
        Some(event) => event.to_vec()?,
        // Each of the tracepoints has its own name.
        None if location == Location::Tracepoint && place.is_each() => Vec::new(),
        None => generated_name(kind, &place)?,
    };
    let group = match group {
        Some(group) => group.to_vec()?,
        None => Vec::from_slice(kind.default_group.as_bytes())?,
    };
    let mut definition = Definition {
        kind,
        maxactive,
        group,
        event,
        place,
        place_at: place_word.at,
        args: Vec::new(),
        condition: None,
    };
    let end = match location {
        Location::Event | Location::Pair => condition::start(command),
        _ => command.len(),
    };
    if end > MAX_ARGS.saturating_add(2) {
        return Err(Error::new(Kind::TooManyArgs, command.column(2)));
    }
    let first_arg = match definition.place {
        Place::Functions(_) => first_argument(command),
        Place::Pair(_) => 3,
        _ => 2,
    };
    let mut words = (first_arg..end).filter_map(|n| command.word(n));
    if let Some(word) = words.find(|word| *word.bytes == *b"if") {
        return Err(a_filter(word.error(Kind::NoBtfarg), &definition));
    }
    // As in the kernel, the filter is parsed before the arguments.
    definition.condition = condition::parse(command, end)?;
    for n in first_arg..end {
        if let Some(word) = command.word(n) {
            let argument = argument(word, &definition, machine);
            let argument = argument.map_err(|error| misread(error, word, &definition))?;
            definition.args.push(argument)?;
        }
    }
    make_unique(&mut definition.args)?;
    Ok(definition)
}

/// Returns the refusal of a definition without a location; `names` stands behind the colon.
#[cold]
fn no_place(at: usize, (kind, location): (ProbeKind, Location), names: Option<Span<'_>>) -> Error {
    let (letter, place) = (kind.letter, location.example());
    let refusal = Error::new(Kind::NoPlace, at);
    if names.is_none() {
        return refusal.with_detail(format_args!("write {letter}:EVENT {place}"));
    }
    refusal.with_detail(format_args!(
        "a name follows the colon, a location the name: write {letter}:EVENT {place}, or {letter} {place}"
    ))
}

/// Parses the number between letter and colon; returns 0 if there is none.
fn maxactive(text: Span<'_>, kind: ProbeKind) -> Result<u32, Error> {
    match text.first() {
        None => return Ok(0),
        Some(b'0'..=b'9') => {}
        Some(_) => return Err(text.error(Kind::BadProbeType)),
    }
    let Some(most) = kind.most_followed else {
        return Err(text.error(Kind::BadMaxactType));
    };
    let refused = |reason| match kind {
        ProbeKind::Pair => text.error(reason).with_detail(format_args!(
            "write b and for how many beginnings there is room, at most {most}, or only b"
        )),
        _ => text.error(reason),
    };
    match lex::unsigned(text.bytes).filter(|_| text.bytes.len() <= MAX_NAME_LEN) {
        None | Some(0) => Err(refused(Kind::BadMaxact)),
        Some(n) if n > u64::from(u32::MAX) => Err(refused(Kind::BadMaxact)),
        Some(n) => {
            let small = u32::try_from(n).ok().filter(|n| *n <= most);
            small.ok_or_else(|| refused(Kind::MaxactTooBig))
        }
    }
}

/// Returns the index of the first word behind the location and its exclusions.
fn first_argument(command: &Command) -> usize {
    let excludes = |n: &usize| {
        command
            .word(*n)
            .is_some_and(|word| word.first() == Some(b'!'))
    };
    let first = (2..command.len()).find(|n| !excludes(n));
    first.unwrap_or(command.len().max(2))
}

/// Parses `[GROUP/][EVENT]`; `.` is also a separator if there is no slash.
fn event_name(names: Span<'_>) -> Result<(Option<Span<'_>>, Option<Span<'_>>), Error> {
    let separator = names.find(b'/').or_else(|| names.find(b'.'));
    let (group, event) = match separator {
        None => (None, names),
        Some(at) => {
            let (group, event) = names.around(at);
            if group.bytes.is_empty() {
                return Err(group.error(Kind::NoGroupName));
            }
            if group.bytes.len() > MAX_NAME_LEN {
                return Err(group.error(Kind::GroupTooLong));
            }
            if !lex::is_group_name(group.bytes) {
                return Err(group.error(Kind::BadGroupName));
            }
            (Some(group), event)
        }
    };
    if event.bytes.is_empty() {
        return match group {
            Some(_) => Ok((group, None)),
            None => Err(event.error(Kind::NoEventName)),
        };
    }
    if event.bytes.len() > MAX_NAME_LEN {
        return Err(event.error(Kind::EventTooLong));
    }
    if !lex::is_identifier(event.bytes) {
        return Err(event.error(Kind::BadEventName));
    }
    Ok((group, Some(event)))
}

/// Parses `[NAME=]FETCHARG[:TYPE]`, the next argument of `definition`.
fn argument(word: Span<'_>, definition: &Definition, machine: Machine) -> Result<Argument, Error> {
    let is_string = word.bytes.starts_with(b"\\\"");
    let (given, body) = match word.find(b'=').filter(|_| !is_string) {
        Some(equals) => {
            let (name, body) = word.around(equals);
            if name.bytes.len() > MAX_ARG_NAME_LEN {
                return Err(word.error(Kind::ArgNameTooLong));
            }
            if name.bytes.is_empty() {
                return Err(word.error(Kind::NoArgName));
            }
            (Some(name), body)
        }
        None => (None, word),
    };
    let (text, type_text) = split_type(body);
    let written = given
        .map(|name| name.bytes)
        .or_else(|| naming::is_name(text.bytes).then_some(text.bytes));
    if let Some(name) = written {
        if !lex::is_identifier(name) {
            return Err(word.error(Kind::BadArgName));
        }
        if naming::is_used(&definition.args, name) {
            return Err(word.error(Kind::UsedArgName));
        }
    }
    if body.bytes.len() > MAX_ARG_LEN {
        return Err(body.error(Kind::ArgTooLong));
    }
    if body.bytes.is_empty() {
        return Err(fetcharg::shell_took(body.error(Kind::NoArgBody)));
    }
    let (expression, spec) =
        typed_expression(text, type_text, given.is_none(), definition, machine)?;
    let name = match written {
        Some(name) => Vec::from_slice(name)?,
        None => generated_arg_name(text.bytes, &expression, definition.args.len())?,
    };
    let argument = Argument {
        name,
        text: body.to_vec()?,
        at: word.at,
        text_at: body.at,
        type_at: type_text.map_or(body.at, |t| t.at),
        expression,
        spec,
    };
    let is_fixed = written.is_none() && !naming::is_generated(&argument);
    if is_fixed && naming::is_used(&definition.args, &argument.name) {
        return Err(word.error(Kind::UsedArgName));
    }
    Ok(argument)
}

/// Parses expression and type, and checks that they fit.
fn typed_expression(
    text: Span<'_>,
    type_text: Option<Span<'_>>,
    unnamed: bool,
    definition: &Definition,
    machine: Machine,
) -> Result<(Expression, TypeSpec), Error> {
    let type_at = type_text.unwrap_or(text);
    let is_constant = fetcharg::is_constant_text(text.bytes);
    if is_constant && type_text.is_some_and(|t| t.bytes != b"string") {
        return Err(type_at.error(Kind::NeedStringType));
    }
    // A malformed bitfield is reported after the errors of the expression.
    let (spec, deferred) = match type_text.map(types::parse) {
        None => (
            TypeSpec::of(fetcharg::default_type(text.bytes, definition.kind)),
            None,
        ),
        Some(Ok(spec)) => (spec, None),
        Some(Err(error)) if error.kind == Kind::BadBitfield => (TypeSpec::DEFAULT, Some(error)),
        Some(Err(error)) => return Err(error),
    };
    if definition.kind.is_user && (spec.path.is_some() || spec.base.is_symbol()) {
        return Err(type_at.error(Kind::BadType).with_detail(format_args!(
            "programs have no symbols and paths of the kernel"
        )));
    }
    let expression = if unnamed && text.bytes == b"$arg*" {
        if type_text.is_some() {
            return Err(type_at
                .error(Kind::BadType)
                .with_detail(format_args!("$arg* takes none, each parameter has its own")));
        }
        let seen = definition
            .args
            .iter()
            .any(|a| a.expression.origin == Origin::AllArguments);
        if seen {
            return Err(text.error(Kind::DoubleArgs));
        }
        Expression {
            origin: Origin::AllArguments,
            source_at: text.at,
            steps: Vec::new(),
        }
    } else {
        let is_whole = spec.is_of_structure();
        fetcharg::expression(text, definition.kind, machine, is_whole)?
    };
    match deferred {
        Some(error) => Err(error),
        None => Ok((expression, spec)),
    }
}

/// Splits off the type behind the first colon outside an immediate string.
fn split_type(body: Span<'_>) -> (Span<'_>, Option<Span<'_>>) {
    let quoted = match body.strip(b"\\\"") {
        Some(rest) => match rest.rfind(b'"') {
            Some(close) => close.saturating_add(3),
            None => 0,
        },
        None => 0,
    };
    match body.skip(quoted).find(b':') {
        Some(colon) => {
            let (text, type_text) = body.around(quoted.saturating_add(colon));
            (text, Some(type_text))
        }
        None => (body, None),
    }
}
