// SPDX-License-Identifier: GPL-2.0

//! What is known of a value when a trigger is parsed.

/// A field of a synthetic event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynthField {
    /// What it holds.
    pub sort: ValueSort,
    /// Bytes of a number.
    pub size: u8,
    /// Whether a number has a sign.
    pub signed: bool,
}

/// What a variable or a field of a synthetic event holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSort {
    /// A number.
    Number,
    /// A text.
    Text,
    /// The frames of a stack.
    Stack,
}

/// What is known of a value when the trigger is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueShape {
    /// What it is.
    pub sort: ValueSort,
    /// Bytes of a number.
    pub size: u8,
    /// Whether a number has a sign.
    pub signed: bool,
    /// Whether it is a time in microseconds, or the difference of such.
    pub in_usecs: bool,
}

impl ValueShape {
    /// A constant, or a time as the clock counts.
    pub(super) const WORD: Self = Self {
        sort: ValueSort::Number,
        size: 8,
        signed: false,
        in_usecs: false,
    };
}
