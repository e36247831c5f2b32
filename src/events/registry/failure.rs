// SPDX-License-Identifier: GPL-2.0

//! Why a write has changed nothing.

use crate::{
    engine::refusal::error::{Error as Refusal, Kind},
    sys::Vec,
};

/// The reason why a write has changed nothing.
pub(crate) enum Failure {
    /// The command was refused.
    Refused {
        /// The refusal.
        refusal: Refusal,
        /// The command.
        command: Vec<u8>,
    },
    /// The task is being killed.
    Interrupted,
}

impl Failure {
    /// Makes the refusal of `command`.
    pub(super) fn refused(refusal: Refusal, command: &[u8]) -> Self {
        Self::Refused {
            refusal,
            command: Vec::from_slice(command).unwrap_or_default(),
        }
    }

    /// Returns whether the refusal is that no event id is free.
    pub(crate) fn is_for_numbers(&self) -> bool {
        matches!(self, Self::Refused { refusal, .. } if refusal.kind == Kind::NoNumber)
    }
}
