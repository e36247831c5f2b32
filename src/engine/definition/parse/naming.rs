// SPDX-License-Identifier: GPL-2.0

//! Names of arguments that are written without one.

use core::fmt::Write;

use crate::engine::definition::ast::{
    Argument, Expression, Origin, Step, StepKind, MAX_ARG_NAME_LEN,
};
use crate::engine::language::lex;
use crate::engine::util::text::Appender;
use crate::sys::{AllocError, Vec};

/// Names that arguments cannot have: they are fields of the record.
pub const RESERVED_NAMES: [&[u8]; 9] = [
    b"common_type",
    b"common_flags",
    b"common_preempt_count",
    b"common_pid",
    b"common_tgid",
    b"__probe_ip",
    b"__probe_ret_ip",
    b"__probe_func",
    b"__probe_faults",
];

/// Returns the name of an argument without one: its text if that is a valid name, otherwise what
/// `expression` fetches, or `argN` where clients of ftrace expect it.
///
/// ftrace has `argN` for whatever is no name itself. Its tests expect `argN` for registers, the
/// stack, memory and `$retval`.
pub(in crate::engine) fn generated_arg_name(
    text: &[u8],
    expression: &Expression,
    index: usize,
) -> Result<Vec<u8>, AllocError> {
    if is_name(text) {
        return Vec::from_slice(text);
    }
    match fetched(text, expression) {
        Some(name) if is_free(name) => Vec::from_slice(name),
        _ => numbered(b"arg", index),
    }
}

/// Returns whether `text` can be the name of an argument.
pub(super) fn is_name(text: &[u8]) -> bool {
    lex::is_identifier(text) && text.len() <= MAX_ARG_NAME_LEN
}

/// Returns whether a name can be generated.
fn is_free(name: &[u8]) -> bool {
    is_name(name) && !RESERVED_NAMES.contains(&name)
}

/// Returns `BASE` and the number of `index`, which is counted from zero.
fn numbered(base: &[u8], index: usize) -> Result<Vec<u8>, AllocError> {
    let mut name = Vec::from_slice(base)?;
    let written = write!(Appender(&mut name), "{}", index.saturating_add(1));
    written.map(|()| name).map_err(|_| AllocError)
}

/// Returns a word for what the expression fetches: its variable, or its last member.
fn fetched<'a>(text: &'a [u8], expression: &'a Expression) -> Option<&'a [u8]> {
    let members: &[u8] = match (&expression.origin, expression.steps.last()) {
        (Origin::Comm, None) => return Some(b"comm"),
        (Origin::Duration | Origin::Nanoseconds | Origin::Own(_) | Origin::Task(_), None) => {
            return text.strip_prefix(b"$");
        }
        (Origin::Field(name), None) => match &**name {
            b"begin.common_pid" => return Some(b"begin_pid"),
            b"begin.common_tgid" => return Some(b"begin_tgid"),
            b"begin.common_comm" => return Some(b"begin_comm"),
            name => name,
        },
        (Origin::Variable { path, .. }, None) => path,
        (_, Some(Step { action, .. })) => match action {
            StepKind::Members(path) => path,
            StepKind::Cast(cast) => &cast.members,
            _ => return None,
        },
        _ => return None,
    };
    last_member(members)
}

/// Returns the last name in `members`, without the subscripts behind it.
fn last_member(members: &[u8]) -> Option<&[u8]> {
    let mut rest = members;
    while let Some(inner) = rest.strip_suffix(b"]") {
        rest = inner.get(..inner.iter().rposition(|&b| b == b'[')?)?;
    }
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let begin = rest.iter().rposition(|b| !is_part(b));
    rest.get(begin.map_or(0, |at| at.saturating_add(1))..)
}

/// Returns whether the argument is written without a name, and its name can be changed. Its own
/// text cannot, nor can `argN`: ftrace refuses another argument of that name.
pub(super) fn is_generated(arg: &Argument) -> bool {
    let text = arg.text.split(|&b| b == b':').next();
    let number = arg.name.strip_prefix(b"arg");
    arg.at == arg.text_at
        && text != Some(&*arg.name)
        && !number.is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
}

/// Returns whether one of `args` has a name that cannot be changed and is this one, or no argument
/// can have it.
pub(super) fn is_used(args: &[Argument], name: &[u8]) -> bool {
    let mut others = args.iter().filter(|other| !is_generated(other));
    others.any(|other| *other.name == *name) || RESERVED_NAMES.contains(&name)
}

/// Returns whether `args[index]` cannot have the name, as another argument has it first.
fn is_taken(args: &[Argument], index: usize, name: &[u8]) -> bool {
    let mut others = args.iter().enumerate().filter(|&(n, _)| n != index);
    others.any(|(n, other)| *other.name == *name && (n < index || !is_generated(other)))
}

/// Gives each argument that is written without a name a unique one: `NAME_2` and so on, if another
/// argument is written with the name, or has it first.
pub(in crate::engine) fn make_unique(args: &mut [Argument]) -> Result<(), AllocError> {
    for index in 0..args.len() {
        let Some(arg) = args.get(index).filter(|arg| is_generated(arg)) else {
            continue;
        };
        if !is_taken(args, index, &arg.name) {
            continue;
        }
        let mut base = Vec::from_slice(&arg.name)?;
        base.push(b'_')?;
        let mut unique = numbered(b"arg", index)?;
        for again in 1..=args.len() {
            let name = numbered(&base, again)?;
            if is_free(&name) && !is_taken(args, index, &name) {
                unique = name;
                break;
            }
        }
        if let Some(arg) = args.get_mut(index) {
            arg.name = unique;
        }
    }
    Ok(())
}
