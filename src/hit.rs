// SPDX-License-Identifier: GPL-2.0

//! Serves hits. A fast stage handles the common case of one shape of records; the slow stage
//! handles everything.

pub(crate) mod action;
pub(crate) mod calls;
pub(crate) mod caused_event;
pub(crate) mod counters;
pub(crate) mod histograms;
pub(crate) mod inter_event;
pub(crate) mod marks;
pub(crate) mod nesting;
pub(crate) mod open_pairs;
pub(crate) mod pair;
mod per_instance;
pub(crate) mod plan;
pub(crate) mod recorder;
pub(crate) mod recorder_builder;
mod sample;
mod shape;
pub(crate) mod sinks;
mod slow;
pub(crate) mod snapshots;
mod source;
mod stacks;
mod stage;
mod stages;
mod step;
pub(crate) mod tasks;
mod triggers;
