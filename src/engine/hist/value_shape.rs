// SPDX-License-Identifier: GPL-2.0

//! What is known of a value when a trigger is parsed: kind, size and sign.

/// A field of a synthetic event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynthField {
    /// What it holds.
    pub sort: ValueSort,
    /// Size of the number, in bytes.
    pub size: u8,
    /// Whether a number has a sign.
    pub signed: bool,
}

/// What a variable or a field of a synthetic event holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSort {
    /// A number.
    Number,
    /// A string.
    Text,
    /// The frames of a stack.
    Stack,
}

/// Kind, size and sign of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueShape {
    pub sort: ValueSort,
    /// Size of the number, in bytes.
    pub size: u8,
    /// Whether a number has a sign.
    pub signed: bool,
    /// Whether it is a time, or a difference of times, in microseconds.
    pub in_usecs: bool,
}

impl ValueShape {
    /// A constant, or a time in units of the clock.
    pub(super) const WORD: Self = Self {
        sort: ValueSort::Number,
        size: 8,
        signed: false,
        in_usecs: false,
    };
}
