// SPDX-License-Identifier: GPL-2.0

//! Reasons why reading ends early.

use crate::sys::{self, AllocError};

/// The reason why a histogram cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Out of memory.
    NoMemory,
    /// The task is being killed.
    Killed,
}

impl From<AllocError> for Stop {
    fn from(_: AllocError) -> Self {
        Self::NoMemory
    }
}

impl Stop {
    /// Reschedules if needed. Long loops call this from time to time.
    ///
    /// # Errors
    ///
    /// [`Stop::Killed`].
    ///
    /// Context: process, may sleep.
    pub(super) fn check() -> Result<(), Self> {
        sys::cond_resched();
        if sys::is_being_killed() {
            return Err(Self::Killed);
        }
        Ok(())
    }
}
