// SPDX-License-Identifier: GPL-2.0

//! Triggers: what is done on a hit of an event besides recording it.
//!
//! The language is ftrace's: `TRIGGER[:COUNT] [if FILTER]` sets a trigger, and `!TRIGGER`
//! removes it.

mod parse;

pub use parse::{parse, Count, EventName, Request, Trigger};

/// The names of the triggers, in the order in which `trigger` shows them.
pub const NAMES: &[&str] = &[
    "traceon",
    "traceoff",
    "snapshot",
    "stacktrace",
    "enable_event",
    "disable_event",
    "enable_hist",
    "disable_hist",
    "hist",
];
