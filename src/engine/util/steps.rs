// SPDX-License-Identifier: GPL-2.0

//! What a hit may take at most.

/// The steps that are left, each of which takes about as long as any other.
///
/// Context: any.
#[derive(Debug)]
pub struct StepBudget(u32);

impl StepBudget {
    /// As many as are needed.
    pub const fn plenty() -> Self {
        Self(u32::MAX)
    }

    /// Returns `count` steps.
    #[inline(always)]
    pub const fn new(count: u32) -> Self {
        Self(count)
    }

    /// Takes `count` of them, or all that are left.
    #[inline(always)]
    pub fn take(&mut self, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.0 = self.0.saturating_sub(count);
    }

    /// Returns whether none is left.
    #[inline(always)]
    pub fn are_over(&self) -> bool {
        self.0 == 0
    }
}
