// SPDX-License-Identifier: GPL-2.0

//! A compiled histogram trigger.

use super::column::{Key, KeySource, Modifier, Sort, Value};
use super::expr::HistExpr;
use super::inter::{HistAction, InterEvent};
use super::variable::{VarSource, VarTable, Variable};
use crate::engine::definition::task::is_of_task;
use crate::engine::record::Layout;
use crate::sys::{Box, Vec};

/// A compiled histogram trigger: keys, values, and how they are shown.
///
/// # Invariants
///
/// There are 1 to [`MAX_KEYS`](super::MAX_KEYS) keys, at most [`MAX_VALUES`](super::MAX_VALUES)
/// values, and 1 to [`MAX_SORTS`](super::MAX_SORTS) sort keys, which are indices of keys and
/// values. The keys have at most [`MAX_KEY_WORDS`](super::MAX_KEY_WORDS) words.
#[derive(Debug, PartialEq, Eq)]
pub struct Spec {
    /// The name by which several events share the histogram.
    pub name: Option<Vec<u8>>,
    /// The keys.
    pub keys: Vec<Key>,
    /// The values besides `hitcount`.
    pub values: Vec<Value>,
    /// The sort keys.
    pub sorts: Vec<Sort>,
    /// Number of entries of each CPU: a power of two.
    pub size: usize,
    /// The clock of `common_timestamp`, if the trigger names it.
    pub clock: Option<Vec<u8>>,
    /// Whether `hitcount` is hidden.
    pub hides_hits: bool,
    /// The inter-event part.
    // Boxed: few histograms have one, and specs are passed by value.
    pub(super) inter: Option<Box<InterEvent>>,
}

impl Spec {
    /// Returns the number of words of all keys.
    pub fn key_words(&self) -> usize {
        let words = self.keys.iter().map(Key::words);
        words.fold(0, usize::saturating_add)
    }

    /// Returns whether an entry keeps the comm of the task that made it.
    pub fn keeps_comm(&self) -> bool {
        let is_name = |key: &Key| key.modifier == Modifier::Execname;
        self.keys.iter().any(is_name)
    }

    /// Returns whether a hit needs the time.
    pub fn has_time(&self) -> bool {
        let mut sources = Iterator::chain(
            self.keys.iter().map(|key| key.source),
            self.values.iter().map(|value| value.source),
        );
        sources.any(|source| source == KeySource::Time) || self.computes(|it| it.has_time())
    }

    /// Returns whether `is` accepts an expression of a key, a value or a variable.
    fn computes(&self, is: impl Fn(&HistExpr) -> bool) -> bool {
        let Some(inter) = &self.inter else {
            return false;
        };
        let variables = inter.variables.iter().map(|var| &var.source);
        let variables = variables.filter_map(|source| match source {
            VarSource::Computed(expression) => Some(expression),
            _ => None,
        });
        let mut all = Iterator::chain(inter.computed.iter(), variables);
        all.any(is)
    }

    /// Returns whether times are in microseconds, which requires a clock in nanoseconds.
    pub fn is_in_usecs(&self) -> bool {
        let mut modifiers = Iterator::chain(
            self.keys.iter().map(|key| (key.source, key.modifier)),
            self.values
                .iter()
                .map(|value| (value.source, value.modifier)),
        );
        modifiers.any(|it| it == (KeySource::Time, Modifier::Usecs))
            || self.computes(|it| it.has_time() && it.shape.in_usecs)
    }

    /// Returns whether `other` is the same histogram, apart from the size, which the kernel
    /// ignores, too. [`decide`] compares names and filters.
    ///
    /// [`decide`]: super::decide
    pub fn is_like(&self, other: &Spec) -> bool {
        self.keys == other.keys
            && self.values == other.values
            && self.sorts == other.sorts
            && self.hides_hits == other.hides_hits
            && match (&self.inter, &other.inter) {
                (Some(own), Some(other)) => own.is_like(other),
                (own, other) => own.is_none() && other.is_none(),
            }
    }

    /// Returns whether both layouts have the fields that the variables hold, at the same offsets.
    pub fn has_same_fields(&self, one: &Layout, other: &Layout) -> bool {
        let is_alike = |number: u8| {
            let index = usize::from(number);
            match (one.fields.get(index), other.fields.get(index)) {
                (Some(one), Some(other)) => {
                    *one.name == *other.name && one.base == other.base && one.count == other.count
                }
                _ => is_of_task(number),
            }
        };
        let mut all = self.variables().iter();
        all.all(|variable| variable.source.needs_only(&is_alike))
    }

    /// Returns the variables; empty for a histogram that is not an inter-event one.
    pub fn variables(&self) -> &[Variable] {
        self.inter.as_ref().map_or(&[], |inter| &inter.variables)
    }

    /// Returns whether a hit needs the kernel's stack.
    pub fn takes_stack(&self) -> bool {
        let mut keys = self.keys.iter();
        keys.any(|key| key.source == KeySource::Stack)
            || self
                .variables()
                .iter()
                .any(|var| var.source == VarSource::Stack)
    }

    /// Returns whether a hit needs nothing but the kernel's stack.
    pub fn is_by_stack(&self) -> bool {
        let is_stack = |key: &Key| key.source == KeySource::Stack;
        matches!(&*self.keys, [key] if is_stack(key))
            && self.values.is_empty()
            && !self.is_inter_event()
    }

    /// Returns whether it is an inter-event histogram: it has variables, references or actions.
    pub fn is_inter_event(&self) -> bool {
        self.inter.is_some()
    }

    /// Returns the actions.
    pub fn actions(&self) -> &[HistAction] {
        self.inter.as_ref().map_or(&[], |inter| &inter.actions)
    }

    /// Returns whether it refers to a variable of `table`.
    pub fn refers_to(&self, table: &VarTable) -> bool {
        let inter = self.inter.as_ref();
        let mut refs = inter.iter().flat_map(|inter| &inter.refs.0);
        refs.any(|reference| reference.is_of(table))
    }
}
