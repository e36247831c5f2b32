// SPDX-License-Identifier: GPL-2.0

//! What becomes of a trigger, among those that are set.

use super::parse::{HistRequest, Verb};
use super::spec::Spec;
use crate::engine::refusal::error::{Error, Kind};

/// A histogram that is set.
#[derive(Clone, Copy, Debug)]
pub struct Existing<'a> {
    /// What it counts.
    pub spec: &'a Spec,
    /// Its filter.
    pub filter: Option<&'a [u8]>,
    /// Whether it is of the event whose `trigger` was written; otherwise it matters only by
    /// its name.
    pub is_here: bool,
}

/// What is to be done with a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Set it with tables of its own.
    Set {
        /// Whether it does not count yet.
        is_paused: bool,
    },
    /// Set it with the tables of the existing one with this index, which has its name.
    Share {
        /// The index.
        with: usize,
        /// Whether it does not count yet.
        is_paused: bool,
    },
    /// Pause or continue the one with this index.
    SetPaused {
        /// The index.
        index: usize,
        /// Whether it is paused.
        is_paused: bool,
    },
    /// Clear the one with this index.
    Clear {
        /// The index.
        index: usize,
    },
}

/// Returns the index of the histogram of this event that `request`, which is written behind
/// `!`, removes.
pub fn find(request: &HistRequest<'_>, existing: &[Existing<'_>]) -> Option<usize> {
    let filter = request.filter.map(|filter| filter.bytes);
    existing
        .iter()
        .position(|it| it.is_same(&request.spec, filter))
}

/// Decides what becomes of `request` among the `existing` histograms.
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
    /// Returns whether it is of this event, and counts the same hits by the same keys.
    fn is_same(&self, spec: &Spec, filter: Option<&[u8]>) -> bool {
        self.is_here
            && self.spec.name == spec.name
            && self.filter == filter
            && self.spec.is_like(spec)
    }
}
