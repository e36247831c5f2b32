// SPDX-License-Identifier: GPL-2.0

//! The stages of a hit.

use crate::kapi::handler;

/// The stages of a hit, see [`Handler`](handler::Handler).
pub(super) struct Stage;

impl Stage {
    /// Serves the tier `BARE`.
    pub(super) const BARE: u8 = handler::NOTHING;
    /// Serves the tier `REGISTER`.
    pub(super) const REGISTER: u8 = handler::WORD;
    /// Runs the only trigger of a disabled event.
    pub(super) const ACT: u8 = 2;
    /// Serves the tier `DURATION`.
    pub(super) const DURATION: u8 = handler::TIMED;
    /// Serves the tier `REGISTER_AND_DURATION`.
    pub(super) const REGISTER_AND_DURATION: u8 = handler::WORD_TIMED;
    /// Looks whether the hits of the task count.
    pub(super) const TASK: u8 = 5;
    /// Serves the tier `SEVERAL_BARE`.
    pub(super) const SEVERAL_BARE: u8 = handler::SHARED;
    /// Serves the tier `SEVERAL_REGISTER`.
    pub(super) const SEVERAL_REGISTER: u8 = handler::SHARED + handler::WORD;
    /// Serves the tier `SEVERAL`.
    pub(super) const SEVERAL: u8 = handler::SHARED_ANY;
    /// Serves the tier `SEVERAL_TEXT`.
    pub(super) const SEVERAL_TEXT: u8 = 9;
    /// Counts in a histogram that has to do with others, by the only trigger of a disabled event.
    pub(super) const LINK: u8 = 10;
    /// Serves those of [`Self::LINK`] and [`Self::STAMP`] too, and sends to event probes.
    pub(super) const SEND: u8 = 11;
    /// Sets a variable to the time, by the only trigger of a disabled event.
    pub(super) const STAMP: u8 = 12;
    /// Sends to the only event probe of a disabled event.
    pub(super) const RELAY: u8 = 13;
    /// Begins a pair, by the only trigger of a disabled event.
    pub(super) const BEGIN: u8 = 14;
    /// Evaluates a filter that compares a register.
    pub(super) const FILTER: u8 = handler::CHECK;
    /// Serves any hit.
    pub(super) const SERVE: u8 = handler::LAST;
    /// Serves the tier `SHORT`, and those that fetch less.
    pub(super) const SHORT: u8 = handler::USUAL;
    /// Serves any hit, without an attempt to do that in few instructions.
    pub(super) const SLOW: u8 = handler::REST;
    /// As [`Self::SHORT`], of a program that is quiet.
    pub(super) const QUIET: u8 = handler::QUIETLY;
    /// As [`Self::SEVERAL`], of a program that is quiet.
    pub(super) const SEVERAL_QUIET: u8 = handler::SHARED_QUIETLY;
}

/// Who records a hit.
pub(super) struct To;

impl To {
    /// The only instance.
    pub(super) const ONE: bool = false;
    /// Each of the instances that record all hits.
    pub(super) const EACH: bool = true;
}
