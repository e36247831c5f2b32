// SPDX-License-Identifier: GPL-2.0

//! Compares a new trigger with the event's existing ones.

use super::parse::{HistRequest, Verb};
use super::spec::Spec;
use crate::engine::refusal::error::{Error, Kind};

/// An existing histogram.
#[derive(Clone, Copy, Debug)]
pub struct Existing<'a> {
    /// The compiled trigger.
    pub spec: &'a Spec,
    /// The filter; without one all hits are counted.
    pub filter: Option<&'a [u8]>,
    /// Whether the trigger belongs to the event whose `trigger` was written. Triggers of other
    /// events matter only if they have the same name.
    pub is_here: bool,
}

/// What to do with a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Set a histogram with tables of its own.
    Set {
        /// Whether the new trigger begins paused.
        is_paused: bool,
    },
    /// Set a histogram that shares the tables of existing histogram `with`, which has its name.
    Share {
        /// Index of the existing histogram.
        with: usize,
        /// Whether the new trigger begins paused.
        is_paused: bool,
    },
    /// Pause or continue existing histogram `index`.
    SetPaused {
        /// Index of the existing histogram.
        index: usize,
        /// The new state.
        is_paused: bool,
    },
    /// Clear existing histogram `index`.
    Clear {
        /// Index of the existing histogram.
        index: usize,
    },
}

/// Returns the index of the histogram of this event that `request`, written as `!hist:...`,
/// removes.
pub fn find(request: &HistRequest<'_>, existing: &[Existing<'_>]) -> Option<usize> {
    let filter = request.filter.map(|filter| filter.bytes);
    existing
        .iter()
        .position(|it| it.is_same(&request.spec, filter))
}

/// Decides what to do with `request`, given the `existing` histograms.
///
/// # Errors
///
/// `NAMED_MISMATCH`, `TRIGGER_EEXIST` and `TRIGGER_ENOENT_CLEAR`, with the caret at column
/// `at`.
pub fn decide(
    request: &HistRequest<'_>,
    existing: &[Existing<'_>],
    at: usize,
) -> Result<Decision, Error> {
    let spec = &request.spec;
    let named = spec.name.as_ref().and_then(|name| {
        let has_name = |it: &Existing<'_>| it.spec.name.as_ref() == Some(name);
        existing.iter().position(has_name)
    });
    if let Some(named) = named.and_then(|index| existing.get(index)) {
        if !named.spec.is_like(spec) {
            return Err(Error::new(Kind::NamedMismatch, at));
        }
    }
    let same = find(request, existing);
    let is_paused = request.verb == Verb::Pause;
    match (same, request.verb) {
        (Some(index), Verb::Pause | Verb::Continue) => {
            return Ok(Decision::SetPaused { index, is_paused });
        }
        (Some(index), Verb::Clear) => return Ok(Decision::Clear { index }),
        (Some(_), Verb::Set) => return Err(Error::new(Kind::TriggerEexist, at)),
        (None, Verb::Continue | Verb::Clear) => {
            return Err(Error::new(Kind::TriggerEnoentClear, at));
        }
        (None, Verb::Set | Verb::Pause) => {}
    }
    Ok(match named {
        Some(with) => Decision::Share { with, is_paused },
        None => Decision::Set { is_paused },
    })
}

impl Existing<'_> {
    /// Returns whether it belongs to this event and counts the same hits by the same keys.
    fn is_same(&self, spec: &Spec, filter: Option<&[u8]>) -> bool {
        self.is_here
            && self.spec.name == spec.name
            && self.filter == filter
            && self.spec.is_like(spec)
    }
}
