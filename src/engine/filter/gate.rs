// SPDX-License-Identifier: GPL-2.0

//! The gate: the part of a filter that takes few instructions.

use super::terms::{Filter, Single};
use crate::engine::program::exec::{self, Env};
use crate::engine::program::fetch::Program;

/// The part of a filter's verdict that takes few instructions.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// All hits pass.
    is_open: bool,
    /// The filter as one comparison of a register; `None` if the filter must be evaluated.
    single: Option<Single>,
}

impl Gate {
    /// A gate that decides nothing.
    pub const UNKNOWN: Self = Self {
        is_open: false,
        single: None,
    };

    /// Returns the gate of `filter`; without a filter, all hits pass.
    pub fn of(filter: Option<&Filter>) -> Self {
        Self {
            is_open: filter.is_none(),
            single: filter.and_then(|filter| filter.single),
        }
    }

    /// Returns whether the gate can reject a hit: it compares a register.
    pub fn can_reject(&self) -> bool {
        self.single.is_some()
    }

    /// Returns whether a hit of the probe with `program` passes; `None` if the filter must be
    /// evaluated.
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
