// SPDX-License-Identifier: GPL-2.0

//! The inter-event part of a histogram: variables, references, expressions and actions.

use super::expr::HistExpr;
use super::value_shape::ValueShape;
use super::variable::{VarRefs, VarRole, VarSource, Variable, VAR_WORDS};
use crate::sys::{AllocError, Vec};

/// Maximum number of actions of a histogram, as in the kernel.
pub(super) const MAX_ACTIONS: usize = 8;

/// Maximum number of parameters of an action, and of variables for fields, as in the kernel.
pub(super) const MAX_PARAMS: usize = 64;

/// The inter-event part of a histogram.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct InterEvent {
    pub(super) computed: Vec<HistExpr>,
    /// The variables: those that the trigger names come first.
    pub(super) variables: Vec<Variable>,
    /// References to variables.
    pub(super) refs: VarRefs,
    /// What a hit does.
    pub(super) actions: Vec<HistAction>,
    /// Number of words of variables in an entry.
    pub(super) words: usize,
}

/// When an action runs: ftrace's handlers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HistHandler {
    /// `onmatch`: each hit of this event whose variables are set.
    Match { group: Vec<u8>, event: Vec<u8> },
    /// `onmax`: a variable exceeds its maximum in the entry.
    Max(Tracked),
    /// `onchange`: a variable differs from its last value in the entry.
    Change(Tracked),
}

/// The variable that `onmax` or `onchange` tracks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tracked {
    /// The variable as written.
    pub(super) text: Vec<u8>,
    /// The number of the reference to it.
    pub(super) value: u8,
    /// Index of the kept value among the variable words of an entry. It is kept in
    /// [order](Tracked::ordered).
    pub(super) at: usize,
    pub(super) signed: bool,
}

impl Tracked {
    /// Maps a value so that unsigned comparison orders it, and back. The least value maps to 0, the
    /// initial content of a word.
    #[inline(always)]
    pub(super) fn ordered(&self, value: u64) -> u64 {
        value ^ if self.signed { 1 << 63 } else { 0 }
    }
}

/// What an action does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionSort {
    /// `save`: keeps fields of the hit.
    Save,
    /// `snapshot`: takes a snapshot of the buffer.
    Snapshot,
    /// `trace`: emits a synthetic event.
    Trace,
}

/// An action.
#[derive(Debug, PartialEq, Eq)]
pub struct HistAction {
    pub(super) handler: HistHandler,
    /// The effect.
    pub sort: ActionSort,
    /// The word before the parenthesis.
    pub(super) word: Vec<u8>,
    /// The synthetic event to emit, or empty.
    pub event: Vec<u8>,
    /// The parameters as written, separated by commas, without the synthetic event.
    pub(super) params: Vec<u8>,
    /// The arguments of the synthetic event: numbers of references.
    pub(super) args: Vec<u8>,
}

impl HistAction {
    /// Returns group and name of the event that `onmatch()` names.
    pub fn matched(&self) -> Option<(&[u8], &[u8])> {
        match &self.handler {
            HistHandler::Match { group, event } => Some((group, event)),
            HistHandler::Max(_) | HistHandler::Change(_) => None,
        }
    }
}

impl HistHandler {
    /// Returns the variable that the handler tracks.
    pub(super) fn tracked(&self) -> Option<&Tracked> {
        match self {
            Self::Match { .. } => None,
            Self::Max(tracked) | Self::Change(tracked) => Some(tracked),
        }
    }

    /// Returns whether the tracked value is unset before the first hit. Otherwise it begins as 0.
    #[inline(always)]
    pub(super) fn begins_with_none(&self) -> bool {
        matches!(self, Self::Max(tracked) if tracked.signed)
    }

    /// Decodes the kept `word`.
    pub(super) fn kept(&self, word: u64) -> u64 {
        match self {
            Self::Max(tracked) => tracked.ordered(word),
            _ => word,
        }
    }

    /// Returns whether both handlers are written alike.
    fn is_like(&self, other: &HistHandler) -> bool {
        match (self, other) {
            (Self::Match { .. }, Self::Match { .. }) => self == other,
            (Self::Max(a), Self::Max(b)) | (Self::Change(a), Self::Change(b)) => a.text == b.text,
            _ => false,
        }
    }
}

impl InterEvent {
    /// Returns whether there is no inter-event part.
    pub(super) fn is_empty(&self) -> bool {
        self.computed.is_empty() && self.variables.is_empty() && self.actions.is_empty()
    }

    /// Adds a variable; returns the index of its first word.
    pub(super) fn add(
        &mut self,
        role: VarRole,
        (name, text): (&[u8], Vec<u8>),
        (source, shape): (VarSource, ValueShape),
    ) -> Result<usize, AllocError> {
        let at = self.words;
        let variable = Variable {
            name: Vec::from_slice(name)?,
            text,
            role,
            source,
            shape,
            at,
        };
        self.words = variable.end();
        self.variables.push(variable)?;
        Ok(at)
    }

    /// Reserves words for a tracked value; returns the index of the first.
    pub(super) fn track(&mut self) -> usize {
        let at = self.words;
        self.words = at.saturating_add(VAR_WORDS);
        at
    }

    /// Returns whether both are written alike.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        fn named(all: &[Variable]) -> impl Iterator<Item = (&[u8], &[u8])> {
            let named = all.iter().filter(|var| var.role == VarRole::Named);
            named.map(|var| (&*var.name, &*var.text))
        }
        let is_like = |(a, b): (&HistAction, &HistAction)| {
            a.handler.is_like(&b.handler)
                && (a.sort, &a.event, &a.params) == (b.sort, &b.event, &b.params)
        };
        named(&self.variables).eq(named(&other.variables))
            && self.actions.len() == other.actions.len()
            && self.actions.iter().zip(&other.actions).all(is_like)
    }
}
