// SPDX-License-Identifier: GPL-2.0

//! The histograms of an event, for triggers of any event that pause and continue them.
//!
//! Such a trigger cannot take the lock of the other event's plan, so the list of the histograms is
//! published under RCU, separately from the plan. A trigger holds the cell of the list, never a
//! plan: events whose triggers name each other are no circle of references.

use crate::{
    engine::hist::Histogram,
    kapi::{
        context::OnCpu,
        rcu::{RcuCell, Replaced},
    },
    sys::Vec,
};
use kernel::{prelude::*, sync::Arc};

/// Histograms in the order of an event's actions.
pub(crate) type List = Vec<Arc<Histogram>>;

/// Lists that were replaced; see [`Replaced`].
pub(crate) type ReplacedLists = Replaced<List>;

/// The histograms of an event, which triggers of any event pause and continue.
pub(crate) struct Histograms {
    list: RcuCell<List>,
    none: Arc<List>,
}

impl Histograms {
    /// Makes an empty list.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let none = Arc::new(List::new(), GFP_KERNEL)?;
        let list = RcuCell::new(none.clone());
        Ok(Arc::new(Self { list, none }, GFP_KERNEL)?)
    }

    /// Replaces the list by `list`; `None` is the empty list. `replaced` gets the former list, if
    /// it was another.
    ///
    /// Context: process, may sleep.
    pub(crate) fn replace(&self, list: Option<&Arc<List>>, replaced: &mut ReplacedLists) {
        let list = list.unwrap_or(&self.none);
        let former = self.list.load();
        let mut pairs = former.iter().zip(list.iter());
        if former.len() != list.len() || pairs.any(|(a, b)| !Arc::ptr_eq(a, b)) {
            self.list.replace_among(list.clone(), replaced);
        }
    }

    /// Ends or begins counting in all of them.
    ///
    /// Context: any, with preemption disabled.
    pub(super) fn set_paused(&self, is_paused: bool, here: &OnCpu) {
        for histogram in self.list.get(here).iter() {
            // Most hits change nothing, and write nothing.
            if histogram.is_paused() != is_paused {
                histogram.set_paused(is_paused);
            }
        }
    }
}
