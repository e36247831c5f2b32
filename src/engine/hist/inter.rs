// SPDX-License-Identifier: GPL-2.0

//! What makes a histogram an inter-event one: variables, references, expressions and actions.

use super::expr::HistExpr;
use super::value_shape::ValueShape;
use super::variable::{VarRefs, VarRole, VarSource, Variable, VAR_WORDS};
use crate::sys::{AllocError, Vec};

/// Most actions of a histogram, as in the kernel.
pub(super) const MAX_ACTIONS: usize = 8;

/// Most parameters of an action, and most variables for fields, as in the kernel.
pub(super) const MAX_PARAMS: usize = 64;

/// The part of a histogram that others need, or that needs others.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct InterEvent {
    /// The expressions of keys and values.
    pub(super) computed: Vec<HistExpr>,
    /// The variables: those that the trigger names come first.
    pub(super) variables: Vec<Variable>,
    /// The variables that it refers to.
    pub(super) refs: VarRefs,
    /// What it does on a hit.
    pub(super) actions: Vec<HistAction>,
    /// Words of an entry for variables.
    pub(super) words: usize,
}

/// When an action acts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HistHandler {
    /// On each hit whose variables are set, for those of this event.
    Match {
        /// Its group.
        group: Vec<u8>,
        /// Its name.
        event: Vec<u8>,
    },
    /// When a variable is greater than ever before in the entry.
    Max(Tracked),
    /// When a variable has changed.
    Change(Tracked),
}

/// The variable that `onmax` or `onchange` looks at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tracked {
    /// It, as written.
    pub(super) text: Vec<u8>,
    /// The number of the reference to it.
    pub(super) value: u8,
    /// Where the value is kept among the words of an entry, in [order](Tracked::ordered).
    pub(super) at: usize,
    /// Whether it has a sign.
    pub(super) signed: bool,
}

impl Tracked {
    /// Maps the order of values to that of numbers without a sign, and back. What is least is 0,
    /// which is also what a word is before a value is kept.
    #[inline(always)]
    pub(super) fn ordered(&self, value: u64) -> u64 {
        value ^ if self.signed { 1 << 63 } else { 0 }
    }
}

/// What an action does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionSort {
    /// Keeps fields of the hit.
    Save,
    /// Takes a snapshot.
    Snapshot,
    /// Emits a synthetic event.
    Trace,
}

/// An action.
#[derive(Debug, PartialEq, Eq)]
pub struct HistAction {
    /// When it acts.
    pub(super) handler: HistHandler,
    /// What it does.
    pub sort: ActionSort,
    /// The word before the parenthesis.
    pub(super) word: Vec<u8>,
    /// The synthetic event; empty unless it emits one.
    pub event: Vec<u8>,
    /// The parameters, as written, separated by commas; without the synthetic event.
    pub(super) params: Vec<u8>,
    /// What the synthetic event gets: numbers of references.
    pub(super) args: Vec<u8>,
}

impl HistAction {
    /// Returns the group and the name of the event that it matches, if it matches one.
    pub fn matched(&self) -> Option<(&[u8], &[u8])> {
        match &self.handler {
            HistHandler::Match { group, event } => Some((group, event)),
            HistHandler::Max(_) | HistHandler::Change(_) => None,
        }
    }
}

impl HistHandler {
    /// Returns what it tracks.
    pub(super) fn tracked(&self) -> Option<&Tracked> {
        match self {
            Self::Match { .. } => None,
            Self::Max(tracked) | Self::Change(tracked) => Some(tracked),
        }
    }

    /// Returns whether there is no value before the first hit; otherwise it is 0.
    #[inline(always)]
    pub(super) fn begins_with_none(&self) -> bool {
        matches!(self, Self::Max(tracked) if tracked.signed)
    }

    /// Returns the value that is kept as `word`.
    pub(super) fn kept(&self, word: u64) -> u64 {
        match self {
            Self::Max(tracked) => tracked.ordered(word),
            _ => word,
        }
    }

    /// Returns whether both are written alike.
    fn is_like(&self, other: &HistHandler) -> bool {
        match (self, other) {
            (Self::Match { .. }, Self::Match { .. }) => self == other,
            (Self::Max(a), Self::Max(b)) | (Self::Change(a), Self::Change(b)) => a.text == b.text,
            _ => false,
        }
    }
}

impl InterEvent {
    /// Returns whether it is of no use.
    pub(super) fn is_empty(&self) -> bool {
        self.computed.is_empty() && self.variables.is_empty() && self.actions.is_empty()
    }

    /// Adds a variable, and returns where its words begin.
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

    /// Takes words for a value that is tracked, and returns where they begin.
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
