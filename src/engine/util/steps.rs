// SPDX-License-Identifier: GPL-2.0

//! The step budget of a hit.

/// The remaining steps, of similar duration.
///
/// Context: any.
#[derive(Debug)]
pub struct StepBudget(u32);

impl StepBudget {
    /// Returns an unlimited budget.
    pub const fn plenty() -> Self {
        Self(u32::MAX)
    }

    /// Returns a budget of `count` steps.
    #[inline(always)]
    pub const fn new(count: u32) -> Self {
        Self(count)
    }

    /// Takes `count` steps, or all that are left.
    #[inline(always)]
    pub fn take(&mut self, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.0 = self.0.saturating_sub(count);
    }

    /// Returns whether the budget is exhausted.
    #[inline(always)]
    pub fn are_over(&self) -> bool {
        self.0 == 0
    }
}
