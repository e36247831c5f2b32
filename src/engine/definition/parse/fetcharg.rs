// SPDX-License-Identifier: GPL-2.0

//! The expression of a fetch argument.
//!
//! Nested forms are peeled off from the outside in, without recursion, onto a list that
//! [`MAX_NESTING`] bounds; the rest is the origin.

use super::misread::is_no_name;
use super::postfix;
use crate::engine::code::arch::Machine;
use crate::engine::definition::ast::{Cast, Expression, Origin, Step, StepKind, MAX_NESTING};
use crate::engine::definition::kind::ProbeKind;
use crate::engine::definition::task::TaskNumber;
use crate::engine::language::lex::{self, Span};
use crate::engine::language::types::Type;
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::refusal::foreign;
use crate::engine::refusal::remedy::remedy;
use crate::engine::refusal::suggest::distance::Nearest;
use crate::engine::refusal::suggest::suggest;
use crate::engine::util::text::Plain;
use crate::sys::Vec;

const THIS_CPU_PTR: &[u8] = b"this_cpu_ptr(";
const THIS_CPU_READ: &[u8] = b"this_cpu_read(";
const DURATION: &[u8] = b"$duration";
const NSECS: &[u8] = b"$nsecs";

/// Prefix of a field of the event that begins a pair.
pub const BEGIN: &[u8] = b"begin.";

/// Returns whether `text` is a constant string, which is recorded without an address.
pub(super) fn is_constant_text(text: &[u8]) -> bool {
    matches!(text, b"$comm" | b"$COMM") || text.starts_with(b"\\\"")
}

/// Returns the type of `text`, in a definition of `kind`, if the definition gives none.
pub(super) fn default_type(text: &[u8], kind: ProbeKind) -> Type {
    if let Some((_, own)) = kind.own_variable(text) {
        return own.base;
    }
    match text {
        DURATION => Type::NANOSECONDS,
        NSECS => Type::U64,
        _ if is_constant_text(text) => Type::STRING,
        _ => TaskNumber::of_variable(text).map_or(Type::DEFAULT, TaskNumber::base),
    }
}

/// One nested form that was peeled off.
enum Layer<'a> {
    /// `+|-[u]OFFSET(inner)`.
    Dereference {
        offset: i64,
        user: bool,
        inner_at: usize,
    },
    /// `this_cpu_ptr(inner)` or `this_cpu_read(inner)`.
    ThisCpu { read: bool, inner_at: usize },
    /// `(STRUCT[,FIELD])inner->MEMBERS`.
    Cast { cast: Span<'a>, members: Span<'a> },
    /// `(inner)->MEMBERS`.
    Members(Span<'a>),
}

/// Parses an expression, the text before the type. `is_whole` if it is recorded as a whole
/// structure.
pub(super) fn expression(
    text: Span<'_>,
    kind: ProbeKind,
    machine: Machine,
    is_whole: bool,
) -> Result<Expression, Error> {
    let mut layers = Vec::new();
    let mut inner = text;
    loop {
        let peel = match inner.first() {
            Some(b'+' | b'-') => dereference,
            Some(b'(') => parentheses,
            _ if is_this_cpu(inner) && kind.is_user => {
                let error = inner.error(Kind::NosupPercpu);
                return Err(error.with_detail(format_args!("a program has no kernel memory")));
            }
            _ if is_this_cpu(inner) && is_of_event(kind) => {
                return Err(inner.error(Kind::NosupPercpu));
            }
            _ if is_this_cpu(inner) => this_cpu,
            _ => break,
        };
        if layers.len() >= MAX_NESTING {
            return Err(inner.error(Kind::TooManyNested));
        }
        let (layer, next) = peel(inner)?;
        let is_bare = matches!(layer, Layer::Cast { members, .. } if members.bytes.is_empty());
        if is_bare && inner.bytes.ends_with(b"->") {
            // As in ftrace, which looks up the member with an empty name.
            return Err(Error::new(Kind::NoBtfField, inner.end()));
        }
        let is_fit = match layers.last() {
            None => is_whole,
            Some(above) => matches!(above, Layer::Members(_)),
        };
        if is_bare && !is_fit {
            return Err(Error::new(Kind::TypecastReqField, inner.end()));
        }
        layers.push(layer)?;
        inner = next;
    }
    let mut expression = origin(inner, kind, machine)?;
    while let Some(layer) = layers.pop() {
        wrap(&mut expression, layer, inner)?;
    }
    Ok(expression)
}

fn is_this_cpu(text: Span<'_>) -> bool {
    text.bytes.starts_with(THIS_CPU_PTR) || text.bytes.starts_with(THIS_CPU_READ)
}

/// Appends the steps of `layer`; `origin` is the text of the innermost part.
fn wrap(expression: &mut Expression, layer: Layer<'_>, origin: Span<'_>) -> Result<(), Error> {
    let constant = matches!(expression.origin, Origin::Comm | Origin::Text(_));
    let why = match expression.origin {
        Origin::Duration | Origin::Nanoseconds => Some("a time is no address"),
        Origin::Task(which) => Some(which.no_address()),
        _ => None,
    };
    if let Some(why) = why {
        return Err(origin
            .error(Kind::BadVar)
            .with_detail(format_args!("{why}")));
    }
    match layer {
        Layer::Dereference { inner_at, .. } | Layer::ThisCpu { inner_at, .. } if constant => {
            return Err(Error::new(Kind::CommCantDeref, inner_at));
        }
        Layer::Dereference {
            offset,
            user,
            inner_at,
        } => {
            let action = StepKind::Dereference { offset, user };
            expression.steps.push(Step {
                action,
                at: inner_at,
            })?;
        }
        Layer::ThisCpu { read, inner_at } => {
            // `this_cpu_ptr(@SYM)` means the variable, not its contents.
            if inner_at == origin.at && origin.first() == Some(b'@') {
                expression.steps.pop();
            }
            expression.steps.push(Step {
                action: StepKind::ThisCpu,
                at: inner_at,
            })?;
            if read {
                let action = StepKind::Dereference {
                    offset: 0,
                    user: false,
                };
                expression.steps.push(Step {
                    action,
                    at: inner_at,
                })?;
            }
        }
        Layer::Cast { cast, .. } if constant => {
            return Err(Error::new(Kind::CommCantDeref, cast.at));
        }
        Layer::Members(members) if constant => {
            return Err(Error::new(Kind::CommCantDeref, members.at));
        }
        Layer::Members(members) => postfix::push(members, &mut expression.steps)?,
        Layer::Cast { cast, members } => {
            let (structure, field) = match cast.find(b',') {
                Some(comma) => {
                    let (structure, field) = cast.around(comma);
                    (structure, Some(field))
                }
                None => (postfix::cast_name(cast)?, None),
            };
            let is_memory = origin.first() == Some(b'@') && expression.steps.len() == 1;
            let members = match members.strip(b".") {
                // Without a dereference: the variable itself is the structure.
                Some(members) if is_memory => {
                    expression.steps.pop();
                    members
                }
                _ => members,
            };
            let action = StepKind::Cast(Cast {
                structure: structure.to_vec()?,
                structure_at: structure.at,
                field: field.map(|f| f.to_vec()).transpose()?,
                field_at: field.map_or(structure.end(), |f| f.at),
                members: members.to_vec()?,
            });
            expression.steps.push(Step {
                action,
                at: members.at,
            })?;
        }
    }
    Ok(())
}

/// Peels off `+|-[u]OFFSET(` and the last `)`.
fn dereference(text: Span<'_>) -> Result<(Layer<'_>, Span<'_>), Error> {
    let Some(open) = text.find(b'(') else {
        return Err(text.error(Kind::DerefNeedBrace));
    };
    let (number, inside) = text.around(open);
    let negative = number.first() == Some(b'-');
    let digits = number.skip(1);
    let (user, digits) = match digits.strip(b"u") {
        Some(digits) => (true, digits),
        None => (false, digits),
    };
    let plain = digits.first().is_some_and(|b| b.is_ascii_digit());
    let magnitude = lex::unsigned(digits.bytes).filter(|_| plain);
    let offset = match (magnitude, negative) {
        (Some(n), true) => 0i64.checked_sub_unsigned(n),
        (Some(n), false) => i64::try_from(n).ok(),
        (None, _) => None,
    };
    let Some(offset) = offset else {
        return Err(text.error(Kind::BadDerefOffs));
    };
    let inner = parenthesised(inside).map_err(|error| untyped(text, error))?;
    Ok((
        Layer::Dereference {
            offset,
            user,
            inner_at: inner.at,
        },
        inner,
    ))
}

/// Peels off `this_cpu_ptr(` or `this_cpu_read(` and the last `)`.
fn this_cpu(text: Span<'_>) -> Result<(Layer<'_>, Span<'_>), Error> {
    let read = text.bytes.starts_with(THIS_CPU_READ);
    let prefix = if read { THIS_CPU_READ } else { THIS_CPU_PTR };
    if let Some(close) = closing(text, prefix.len().saturating_sub(1)) {
        let length = close.saturating_add(1);
        if let Some(members) = postfix::of(text.skip(length)) {
            return Ok((Layer::Members(members), text.take(length)));
        }
    }
    let inner = parenthesised(text.skip(prefix.len()))?;
    Ok((
        Layer::ThisCpu {
            read,
            inner_at: inner.at,
        },
        inner,
    ))
}

/// Returns the part before the last `)`, which must be the end of the text.
fn parenthesised(inside: Span<'_>) -> Result<Span<'_>, Error> {
    let Some(close) = inside.rfind(b')') else {
        return Err(Error::new(Kind::DerefOpenBrace, inside.end()));
    };
    let (inner, behind) = inside.around(close);
    match behind.bytes {
        [] => Ok(inner),
        _ => Err(behind.error(Kind::BadFetchArg)),
    }
}

/// Returns the refusal of members behind a dereference, whose result has no type.
#[cold]
#[inline(never)]
fn untyped(text: Span<'_>, error: Error) -> Error {
    let close = text.find(b'(').and_then(|open| closing(text, open));
    let length = close.map_or(text.bytes.len(), |close| close.saturating_add(1));
    match postfix::of(text.skip(length)) {
        Some(_) => error.with_detail(format_args!(
            "it has no type: write (struct NAME *){}",
            Plain(text.bytes)
        )),
        None => error,
    }
}

/// Peels off the parentheses around a value with members behind them, or a cast.
fn parentheses(text: Span<'_>) -> Result<(Layer<'_>, Span<'_>), Error> {
    if let Some(close) = closing(text, 0) {
        let (with_open, behind) = text.around(close);
        if let Some(members) = postfix::of(behind) {
            return Ok((Layer::Members(members), with_open.skip(1)));
        }
    }
    typecast(text)
}

/// Peels off the leading `(STRUCT[,FIELD])` and the trailing `->MEMBERS`.
fn typecast(text: Span<'_>) -> Result<(Layer<'_>, Span<'_>), Error> {
    let Some(close) = text.find(b')') else {
        return Err(Error::new(Kind::DerefOpenBrace, text.end()));
    };
    let (open_and_cast, operand) = text.around(close);
    let cast = open_and_cast.skip(1);
    let (inner, behind) = match operand.first() {
        Some(b'(') => {
            let close = closing(operand, 0).ok_or(operand.error(Kind::DerefOpenBrace))?;
            let (with_open, behind) = operand.around(close);
            (with_open.skip(1), behind)
        }
        Some(b'+' | b'-') => whole_call(operand)?,
        _ if operand.bytes.starts_with(THIS_CPU_PTR) => whole_call(operand)?,
        _ if operand.bytes.starts_with(THIS_CPU_READ) => whole_call(operand)?,
        first => {
            let sign = operand.find_by(|b| b == b'+' || b == b'-');
            let digit = sign.and_then(|s| operand.get(s.saturating_add(1)));
            if first == Some(b'@') && digit.is_some_and(|b| b.is_ascii_digit()) {
                return Err(operand.error(Kind::TypecastSymOffset));
            }
            let end = match first {
                Some(b'@') => postfix::end_of_variable(operand),
                _ => operand.find_by(|b| matches!(b, b'-' | b'[' | b'.')),
            };
            let end = end.unwrap_or(operand.bytes.len());
            (operand.take(end), operand.skip(end))
        }
    };
    if behind.first() == Some(b'.') && !inner.bytes.starts_with(b"@") {
        return Err(behind.error(Kind::NosupDatArg).with_detail(format_args!(
            "the value is an address: write ->{}",
            Plain(behind.skip(1).bytes)
        )));
    }
    let Some(members) = postfix::of(behind).or(behind.bytes.is_empty().then_some(behind)) else {
        // A lone hyphen behind a name is reported at the end, as in ftrace.
        let at = if behind.first() == Some(b'-') {
            text.end()
        } else {
            behind.at
        };
        return Err(Error::new(Kind::TypecastReqField, at));
    };
    Ok((Layer::Cast { cast, members }, inner))
}

/// Splits off a call such as `+8(...)` at the start of `text`; returns it and the rest.
fn whole_call(text: Span<'_>) -> Result<(Span<'_>, Span<'_>), Error> {
    let open = text.find(b'(').ok_or(text.error(Kind::DerefNeedBrace))?;
    let close = closing(text, open).ok_or(Error::new(Kind::DerefOpenBrace, text.end()))?;
    let length = close.saturating_add(1);
    Ok((text.take(length), text.skip(length)))
}

/// Returns the offset of the `)` that closes the `(` at `open`.
fn closing(text: Span<'_>, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    let close = text.skip(open).bytes.iter().position(|byte| {
        match byte {
            b'(' => depth = depth.saturating_add(1),
            b')' => depth = depth.saturating_sub(1),
            _ => return false,
        }
        depth == 0
    });
    close.map(|close| close.saturating_add(open))
}

/// Parses the innermost part.
fn origin(text: Span<'_>, kind: ProbeKind, machine: Machine) -> Result<Expression, Error> {
    let mut steps = Vec::new();
    let origin = match text.first() {
        Some(b'$') if is_of_event(kind) => field(text, kind)?,
        Some(b'$') => variable(text, kind, machine, &mut steps)?,
        Some(b'%') => {
            if let Some(why) = kind.no_registers {
                return Err(text.error(Kind::BadVar).with_detail(format_args!("{why}")));
            }
            match machine.arch.isa().register(text.skip(1).bytes) {
                Some(register) => Origin::Register(register),
                None => return Err(no_register(text, machine)),
            }
        }
        Some(b'@') if kind.is_user && text.get(1).is_some_and(is_first_of_symbol) => {
            return Err(text.error(Kind::SymOnUprobe));
        }
        Some(b'@') if postfix::end_of_variable(text).is_some() => postfix::variable(text)?,
        Some(b'@') => {
            let (origin, offset) = memory(text, kind)?;
            let action = StepKind::Dereference {
                offset,
                user: false,
            };
            steps.push(Step {
                action,
                at: text.at,
            })?;
            origin
        }
        Some(b'\\') => immediate(text)?,
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') if is_of_event(kind) => {
            return Err(no_field(text));
        }
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') if is_no_name(text) => {
            return Err(text.error(Kind::NoBtfarg));
        }
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
            Origin::Name(members(text, &mut steps)?.to_vec()?)
        }
        None => return Err(shell_took(text.error(Kind::BadFetchArg))),
        Some(_) => return Err(text.error(Kind::BadFetchArg)),
    };
    Ok(Expression {
        origin,
        source_at: text.at,
        steps,
    })
}

/// Returns whether a symbol may begin with `byte`.
fn is_first_of_symbol(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.')
}

/// Returns whether the probe's arguments are fields of other events.
fn is_of_event(kind: ProbeKind) -> bool {
    matches!(kind, ProbeKind::Event | ProbeKind::Pair)
}

/// Parses `$FIELD`, a field of the event that the probe is attached to, or `$begin.FIELD`, a field
/// of the event that begins a pair.
fn field(text: Span<'_>, kind: ProbeKind) -> Result<Origin, Error> {
    let name = text.skip(1);
    let begun = name.strip(BEGIN).filter(|_| kind == ProbeKind::Pair);
    match lex::is_identifier(begun.unwrap_or(name).bytes) {
        true => Ok(Origin::Field(name.to_vec()?)),
        false => Err(text.error(Kind::BadAttachArg)),
    }
}

/// Returns the refusal of a field name without `$`.
#[cold]
#[inline(never)]
fn no_field(text: Span<'_>) -> Error {
    let end = text.find_by(|byte| !byte.is_ascii_alphanumeric() && byte != b'_');
    let name = text.take(end.unwrap_or(text.bytes.len()));
    text.error(Kind::NoEventField)
        .with_detail(format_args!("a field is written ${}", Plain(name.bytes)))
}

/// Returns the refusal of the register `text`, which does not exist.
#[cold]
#[inline(never)]
fn no_register(text: Span<'_>, machine: Machine) -> Error {
    let error = text.error(Kind::BadRegName);
    if let Some((value, member)) = around_arrow(text) {
        return error.with_detail(format_args!(
            "a register has no type: write (struct NAME *){value}->{member}"
        ));
    }
    let (isa, name) = (machine.arch.isa(), text.skip(1).bytes);
    match isa.register_alias(name) {
        Some(known) => {
            let is_half = matches!(name, [b'e', ..] | [b'w', ..]);
            let low = if is_half {
                " (:u32 for its low half)"
            } else {
                ""
            };
            error.with_detail(format_args!("write %{}{low}", Plain(known)))
        }
        None => suggest(error, name, |each| {
            isa.registers().iter().for_each(|register| each(register));
        }),
    }
}

/// Splits `text` at its first `->`.
fn around_arrow(text: Span<'_>) -> Option<(Plain<'_>, Plain<'_>)> {
    let (value, behind) = text.around(text.find(b'-')?);
    Some((Plain(value.bytes), Plain(behind.strip(b">")?.bytes)))
}

/// Returns the refusal of the variable `text`, which does not exist for `kind`.
#[cold]
#[inline(never)]
fn no_variable(text: Span<'_>, kind: ProbeKind) -> Error {
    let error = text.error(Kind::BadVar);
    if let Some((value, member)) = around_arrow(text) {
        return error.with_detail(format_args!(
            "{value} has no type: write (struct NAME *){value}->{member}"
        ));
    }
    let name = text.skip(1).bytes;
    if let Some(meant) = foreign::variable(name) {
        return error.with_detail(format_args!("did you mean {meant}?"));
    }
    let end = name.iter().position(|byte| !byte.is_ascii_alphabetic());
    let (word, number) = name
        .split_at_checked(end.unwrap_or(name.len()))
        .unwrap_or((name, b""));
    let known: &[&[u8]] = match lex::decimal(number) {
        Some(_) => &[b"arg", b"stack"],
        None if number.is_empty() => &[
            b"retval",
            b"duration",
            b"nsecs",
            b"stack",
            b"comm",
            b"current",
        ],
        None => &[],
    };
    let mut nearest = Nearest::to_wrong(word);
    known.iter().for_each(|known| nearest.consider(known));
    if number.is_empty() {
        TaskNumber::names().for_each(|known| nearest.consider(known));
        let own = kind.own.iter().map(|own| own.name.as_bytes());
        own.for_each(|known| nearest.consider(known));
    }
    match nearest.is_none() {
        true if lex::is_identifier(name) => error.with_detail(format_args!(
            "{}; a parameter has no $: {}",
            remedy(Kind::BadVar),
            Plain(name)
        )),
        true => error,
        false => error.with_detail(format_args!("did you mean ${nearest}{}?", Plain(number))),
    }
}

/// Adds the likely cause to `error`, the refusal of an empty expression: the shell expanded a
/// variable.
#[cold]
#[inline(never)]
pub(super) fn shell_took(error: Error) -> Error {
    error.with_detail(format_args!(
        "it is empty: in a shell, quote the line with ' so that $ stays"
    ))
}

/// Splits off `->MEMBERS` as a step and returns the part before it.
fn members<'a>(text: Span<'a>, steps: &mut Vec<Step>) -> Result<Span<'a>, Error> {
    let Some(end) = text.find_by(|b| matches!(b, b'.' | b'-' | b'[')) else {
        return Ok(text);
    };
    let (name, rest) = (text.take(end), text.skip(end));
    let Some(path) = postfix::of(rest) else {
        return Err(rest.error(Kind::BadHyphen));
    };
    postfix::push(path, steps)?;
    Ok(name)
}

/// Parses an expression that starts with `$`.
fn variable(
    text: Span<'_>,
    kind: ProbeKind,
    machine: Machine,
    steps: &mut Vec<Step>,
) -> Result<Origin, Error> {
    let bad = || no_variable(text, kind);
    if let Some(rest) = text.strip(b"$stack") {
        return match rest.first() {
            None => Ok(Origin::StackPointer),
            Some(b'0'..=b'9') => {
                let n = lex::decimal(rest.bytes).ok_or_else(bad)?;
                let n = u16::try_from(n).ok().filter(|_| n <= machine.stack_words);
                n.map(Origin::Stack).ok_or(text.error(Kind::BadStackNum))
            }
            Some(_) => Err(bad()),
        };
    }
    if let Some(number) = text.strip(b"$arg") {
        if !number.first().is_some_and(|b| b.is_ascii_digit()) {
            return Err(bad());
        }
        let text = members(text, steps)?;
        let rest = text.skip(b"$arg".len());
        let n = lex::decimal(rest.bytes).ok_or_else(bad)?;
        if n == 0 {
            return Err(text
                .error(Kind::BadArgNum)
                .with_detail(format_args!("arguments count from $arg1")));
        }
        let n = u16::try_from(n).ok().filter(|_| n <= machine.stack_words);
        let n = n.ok_or(text.error(Kind::BadArgNum))?;
        return Ok(Origin::Argument(n.saturating_sub(1)));
    }
    if matches!(text.bytes, b"$comm" | b"$COMM") {
        return Ok(Origin::Comm);
    }
    if text.bytes == NSECS {
        return Ok(Origin::Nanoseconds);
    }
    if let Some((index, _)) = kind.own_variable(text.bytes) {
        return Ok(Origin::Own(index));
    }
    if let Some(which) = TaskNumber::of_variable(text.bytes) {
        return match which.why_missing() {
            None => Ok(Origin::Task(which)),
            Some(why) => Err(text.error(Kind::BadVar).with_detail(format_args!("{why}"))),
        };
    }
    if text.bytes == DURATION {
        return match kind.is_return {
            true if kind.is_user => Err(bad().with_detail(format_args!(
                "the return of a program's function has none: write a pair of its entry and its return"
            ))),
            true => Ok(Origin::Duration),
            false => Err(bad().with_detail(format_args!("only a return has a duration"))),
        };
    }
    if text.bytes.starts_with(b"$retval") && !kind.is_return {
        return Err(text.error(Kind::RetvalOnProbe));
    }
    let behind = text.strip(b"$current").map(|rest| rest.first());
    let is_current = matches!(behind, Some(None | Some(b'-')));
    if is_current && kind.is_user {
        return Err(bad().with_detail(format_args!("a program has no kernel memory")));
    }
    if !text.bytes.starts_with(b"$retval") && !is_current {
        return Err(bad());
    }
    match members(text, steps)?.bytes {
        b"$retval" => Ok(Origin::ReturnValue),
        b"$current" => Ok(Origin::Current),
        _ => Err(bad()),
    }
}

/// Parses `@ADDRESS`, `@SYMBOL[+|-OFFSET]` or `@+OFFSET`. Returns an address, and the offset from
/// there at which the value is.
fn memory(text: Span<'_>, kind: ProbeKind) -> Result<(Origin, i64), Error> {
    let bad = || text.error(Kind::BadMemAddr);
    let place = text.skip(1);
    match place.first() {
        Some(b'0'..=b'9') => lex::unsigned(place.bytes)
            .map(|address| (Origin::Immediate(address), 0))
            .ok_or_else(bad),
        Some(b'+') if kind.is_user => lex::unsigned(place.skip(1).bytes)
            .and_then(|offset| i64::try_from(offset).ok())
            .map(|offset| (Origin::FileStart, offset))
            .ok_or(text.error(Kind::BadFileOffs)),
        Some(b'+') => Err(text.error(Kind::FileOnKprobe)),
        None => Err(bad()),
        Some(_) => {
            let (name, offset) = super::location::split_offset(place).ok_or_else(bad)?;
            if name.bytes.is_empty() {
                return Err(bad());
            }
            let name = name.to_vec()?;
            Ok((Origin::Symbol { name, offset }, 0))
        }
    }
}

/// Parses an expression that starts with `\`.
fn immediate(text: Span<'_>) -> Result<Origin, Error> {
    if let Some(rest) = text.strip(b"\\\"") {
        return match rest.bytes.split_last() {
            Some((b'"', content)) => Ok(Origin::Text(Vec::from_slice(content)?)),
            _ => Err(Error::new(Kind::ImmstrNoClose, rest.end())),
        };
    }
    let number = text.skip(1);
    let value = match number.first() {
        Some(b'0'..=b'9') => lex::unsigned(number.bytes),
        // CAST: the value is the two's complement of the written number.
        Some(b'-') => lex::signed(number.bytes).map(|n| n as u64),
        Some(b'+') => lex::signed(number.skip(1).bytes).map(|n| n as u64),
        _ => None,
    };
    value
        .map(Origin::Immediate)
        .ok_or(number.error(Kind::BadImm))
}
