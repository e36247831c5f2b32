// SPDX-License-Identifier: GPL-2.0

//! Resolves the name of a variable.
//!
//! As in the kernel: a name with an event means the first histogram of that event that has the
//! variable. A name alone is looked up on the events that `onmatch()` names, then on all events,
//! where it must be unique.

use super::scope::{HistScope, KnownHistogram};
use super::variable::{VarRef, VarRole, Variable};
use crate::engine::language::lex::Span;
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::refusal::suggest::suggest;

/// Group and name of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OnEvent<'a> {
    pub group: &'a [u8],
    pub event: &'a [u8],
}

impl<'a> OnEvent<'a> {
    pub(super) fn named((group, event): (&'a [u8], &'a [u8])) -> Self {
        Self { group, event }
    }

    pub(super) fn is_same(&self, other: &OnEvent<'_>) -> bool {
        *self.group == *other.group && *self.event == *other.event
    }
}

/// Returns a reference to variable `name` of `event`. Without an event, looks on the `matched`
/// events, then on all events but `except`.
///
/// # Errors
///
/// `VAR_NOT_FOUND`, `VAR_NOT_UNIQUE`.
pub(super) fn find_variable(
    scope: &dyn HistScope,
    event: Option<OnEvent<'_>>,
    (matched, except): (&[OnEvent<'_>], Option<OnEvent<'_>>),
    name: Span<'_>,
) -> Result<VarRef, Error> {
    let found = match event {
        Some(event) => on_event(scope, event, name.bytes),
        None => {
            let mut first: Option<(OnEvent<'_>, _)> = None;
            for &event in matched {
                let Some(found) = on_event(scope, event, name.bytes) else {
                    continue;
                };
                if first
                    .as_ref()
                    .is_some_and(|(other, _)| !other.is_same(&event))
                {
                    return Err(name.error(Kind::VarNotUnique));
                }
                first = Some((event, found));
            }
            match first {
                Some((_, found)) => Some(found),
                None => on_any(scope, except, name)?,
            }
        }
    };
    found.ok_or_else(|| unknown(scope, name, Kind::VarNotFound))
}

/// Returns the refusal of an unknown variable, with similar names.
#[cold]
pub(super) fn unknown(scope: &dyn HistScope, name: Span<'_>, kind: Kind) -> Error {
    suggest(name.error(kind), name.bytes, |each| {
        let all = scope.histograms().iter();
        let all = all.flat_map(|known| known.histogram.spec().variables());
        all.filter(|var| var.role == VarRole::Named)
            .for_each(|var| each(&var.name));
    })
}

/// Returns a reference to the variable `name` of the first histogram of `event` that has it.
pub(super) fn on_event(scope: &dyn HistScope, event: OnEvent<'_>, name: &[u8]) -> Option<VarRef> {
    let mut all = scope.histograms().iter();
    all.find_map(|known| match known.is_of(event.group, event.event) {
        true => refer(known, name),
        false => None,
    })
}

fn on_any(
    scope: &dyn HistScope,
    except: Option<OnEvent<'_>>,
    name: Span<'_>,
) -> Result<Option<VarRef>, Error> {
    let mut first: Option<(&KnownHistogram<'_>, VarRef)> = None;
    let is_excepted =
        |known: &KnownHistogram<'_>| except.is_some_and(|it| known.is_of(it.group, it.event));
    let all = scope.histograms().iter();
    for known in all.filter(|known| !is_excepted(known)) {
        let Some(found) = refer(known, name.bytes) else {
            continue;
        };
        match &first {
            None => first = Some((known, found)),
            // Several events may share one histogram.
            Some((other, _)) if other.is_beside(known) || other.shares(known) => {}
            Some((other, _)) => {
                let (one, two) = (
                    OnEvent::named((other.group, other.event)),
                    OnEvent::named((known.group, known.event)),
                );
                return Err(name
                    .error(Kind::VarNotUnique)
                    .with_detail(format_args!("it is of {one} and {two}: write {one}.$NAME")));
            }
        }
    }
    Ok(first.map(|(_, found)| found))
}

fn refer(known: &KnownHistogram<'_>, name: &[u8]) -> Option<VarRef> {
    let owner = known.histogram.var_table()?;
    let mut all = known.histogram.spec().variables().iter();
    let found = all.find(|var| is_named(var, name))?;
    Some(VarRef {
        owner: Some(owner.clone()),
        at: found.at,
        shape: found.shape,
        once: false,
        constant: found.constant(),
    })
}

/// Returns whether `name` can refer to `variable`.
pub(super) fn is_named(variable: &Variable, name: &[u8]) -> bool {
    variable.role == VarRole::Named && *variable.name == *name
}
