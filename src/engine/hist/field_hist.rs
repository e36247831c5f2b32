// SPDX-License-Identifier: GPL-2.0

//! Histograms that are set implicitly, to save a field of another event.
//!
//! A parameter of an action may be a field of the event that `onmatch()` names. As in the kernel, a
//! histogram is then set on that event: it has the keys and the filter of an existing one, and a
//! variable `synthetic_FIELD`.

use core::fmt::Write;

use super::column::Key;
use super::find_var::OnEvent;
use super::scope::{HistScope, KnownHistogram};
use super::spec::Spec;
use super::variable::VarRef;
use super::write::write_key;
use crate::engine::language::lex::Span;
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::util::text::{Appender, Plain};
use crate::sys::{AllocError, Vec};

/// Prefix of the variable's name; the field's name follows.
pub(super) const PREFIX: &[u8] = b"synthetic_";

/// A histogram that must be set before another one.
#[derive(Debug, PartialEq, Eq)]
pub struct FieldHistogram {
    /// The group of its event.
    pub group: Vec<u8>,
    /// The name of its event.
    pub event: Vec<u8>,
    /// What follows `hist:` in its trigger.
    pub text: Vec<u8>,
    /// Column of the field in the other trigger.
    at: usize,
}

impl FieldHistogram {
    /// Returns the refusal of the other trigger, if this histogram is refused for `reason`.
    pub fn refused(&self, reason: &Error) -> Error {
        let error = Error::new(Kind::HistCreateFail, self.at);
        match reason.has_detail() {
            true => error.with_detail(format_args!("{}", Plain(reason.detail()))),
            false => error,
        }
    }
}

/// Returns a reference to the variable that holds field `name` of `event`, for a histogram with the
/// keys of `spec`; or the histogram that must be set first.
///
/// # Errors
///
/// `EVENT_FILE_NOT_FOUND`, `HIST_NOT_FOUND`.
pub(super) fn find_or_need(
    scope: &dyn HistScope,
    spec: &Spec,
    event: OnEvent<'_>,
    name: Span<'_>,
) -> Result<Result<VarRef, FieldHistogram>, Error> {
    if !scope.has_event(event.group, event.event) {
        return Err(name.error(Kind::EventFileNotFound));
    }
    let all = scope.histograms().iter();
    let mut fitting = all.filter(|known| {
        known.is_of(event.group, event.event) && have_like_keys(known.histogram.spec(), spec)
    });
    let Some(first) = fitting.next() else {
        return Err(name.error(Kind::HistNotFound));
    };
    let variable = |known: &KnownHistogram<'_>| {
        let mut variables = known.histogram.spec().variables().iter();
        let found = variables.find(|var| var.name.strip_prefix(PREFIX) == Some(name.bytes))?;
        Some(VarRef {
            owner: Some(known.histogram.var_table()?.clone()),
            at: found.at,
            shape: found.shape,
            once: false,
            constant: None,
        })
    };
    let mut all = Iterator::chain(core::iter::once(first), fitting);
    match all.find_map(variable) {
        Some(found) => Ok(Ok(found)),
        None => Ok(Err(need(first, name)?)),
    }
}

fn need(like: &KnownHistogram<'_>, field: Span<'_>) -> Result<FieldHistogram, AllocError> {
    let mut text = Vec::new();
    let mut out = Appender(&mut text);
    write(&mut out, like, field.bytes).map_err(|_| AllocError)?;
    Ok(FieldHistogram {
        group: Vec::from_slice(like.group)?,
        event: Vec::from_slice(like.event)?,
        text,
        at: field.at,
    })
}

fn write(out: &mut dyn Write, like: &KnownHistogram<'_>, field: &[u8]) -> core::fmt::Result {
    for (n, key) in like.histogram.spec().keys.iter().enumerate() {
        out.write_str(if n == 0 { "keys=" } else { "," })?;
        write_key(out, key)?;
    }
    let field = Plain(field);
    write!(out, ":{}{field}={field}", Plain(PREFIX))?;
    match like.filter {
        Some(filter) => write!(out, " if {}", Plain(filter)),
        None => Ok(()),
    }
}

/// Returns whether the keys of `a` and `b` agree, so that entries of one are found by keys of the
/// other.
fn have_like_keys(a: &Spec, b: &Spec) -> bool {
    let like = |key: &Key| (key.words(), key.source.is_number(), key.source.shape());
    a.keys.iter().map(like).eq(b.keys.iter().map(like))
}
