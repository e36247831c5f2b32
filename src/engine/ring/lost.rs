// SPDX-License-Identifier: GPL-2.0

//! The reasons why events are lost.

/// The reason why an event was not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Recording is off. The ring does not count these events.
    Disabled,
    /// The ring was [closed](super::Ring::close) and another one takes over. The ring does not
    /// count these events.
    Closed,
    /// The ring is full of unread events and does not overwrite; counted as dropped.
    Full,
    /// Interrupts filled the whole ring while they interrupted a writer; counted as commit
    /// overrun.
    Nested,
    /// The event is larger than a sub-buffer; counted separately.
    TooLarge,
}
