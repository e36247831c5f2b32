// SPDX-License-Identifier: GPL-2.0

//! Definitions of events: what kinds there are, and how a line is parsed to one.

pub mod ast;
pub mod event_names;
pub mod file_place;
pub mod kind;
pub mod parse;
pub mod period;
pub mod ready;
pub mod task;
pub mod watched;
