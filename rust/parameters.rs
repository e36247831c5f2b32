// SPDX-License-Identifier: GPL-2.0

//! Module parameters that are strings, which the `module!` macro does not support, and the kernel's
//! release.
//!
//! C header: [`include/linux/moduleparam.h`](srctree/include/linux/moduleparam.h)

use super::{bindings, calls};

/// Returns the bytes of the name of the kernel's release.
pub fn release() -> impl Iterator<Item = u8> {
    // `__NEW_UTS_LEN`.
    let bytes = (0..64).map(calls::ferroprobe_release);
    bytes.map_while(|byte| u8::try_from(byte).ok())
}

/// A module parameter that is text.
#[derive(Clone, Copy)]
pub enum Text {
    /// Definitions.
    Define,
    /// Names of events to enable.
    Enable,
    /// Events with filters.
    Filter,
    /// Events with triggers.
    Trigger,
}

impl Text {
    /// Returns the name of the parameter.
    pub fn name(self) -> &'static str {
        match self {
            Self::Define => "define",
            Self::Enable => "enable",
            Self::Filter => "filter",
            Self::Trigger => "trigger",
        }
    }

    /// Returns its bytes; none if it was not given.
    pub fn bytes(self) -> impl Iterator<Item = u8> {
        let which = match self {
            Self::Define => bindings::FERROPROBE_PARAMETER_DEFINE,
            Self::Enable => bindings::FERROPROBE_PARAMETER_ENABLE,
            Self::Filter => bindings::FERROPROBE_PARAMETER_FILTER,
            Self::Trigger => bindings::FERROPROBE_PARAMETER_TRIGGER,
        };
        // The kernel takes at most 1023.
        let bytes = (0..1024).map(move |at| calls::ferroprobe_parameter(which, at));
        bytes.map_while(|byte| u8::try_from(byte).ok())
    }
}
