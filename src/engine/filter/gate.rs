// SPDX-License-Identifier: GPL-2.0

//! What can be said of a filter in a few instructions.

use super::terms::{Filter, Single};
use crate::engine::program::exec::{self, Env};
use crate::engine::program::fetch::Program;

/// The part of a filter's verdict that takes a few instructions.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// All hits pass.
    is_open: bool,
    /// Hits pass whose register satisfies the comparison. `None` if the filter must be
    /// evaluated.
    single: Option<Single>,
}

impl Gate {
    /// The gate that does not decide.
    pub const UNKNOWN: Self = Self {
        is_open: false,
        single: None,
    };

    /// Returns the gate of `filter`; all hits pass without one.
    pub fn of(filter: Option<&Filter>) -> Self {
        Self {
            is_open: filter.is_none(),
            single: filter.and_then(|filter| filter.single),
        }
    }

    /// Returns whether it compares a register, so that it can reject a hit.
    pub fn can_reject(&self) -> bool {
        self.single.is_some()
    }

    /// Returns whether a hit of the probe with this `program` passes; `None` if the filter
    /// must be evaluated.
    ///
    /// `program` must be a program of the event for which the filter was compiled.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn passes<E: Env>(&self, program: &Program, env: &E) -> Option<bool> {
        if self.is_open {
            return Some(true);
        }
        let single = self.single.as_ref()?;
        let value = exec::register(program, single.index, env)?;
        Some(single.accepts(value))
    }
}
