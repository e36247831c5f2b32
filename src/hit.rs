// SPDX-License-Identifier: GPL-2.0

//! How hits are served: steps for those about which nothing is unusual, each for a shape of
//! records, and one for all others.

mod acting;
pub(crate) mod action;
pub(crate) mod calls;
pub(crate) mod counters;
pub(crate) mod histograms;
pub(crate) mod linked;
pub(crate) mod marks;
pub(crate) mod nesting;
pub(crate) mod open_pairs;
pub(crate) mod pair;
pub(crate) mod plan;
pub(crate) mod receiver;
pub(crate) mod receives;
pub(crate) mod recorder;
pub(crate) mod recorder_builder;
mod sample;
mod several;
mod shape;
mod slow;
pub(crate) mod snapshots;
mod source;
mod stacks;
mod stage;
mod stages;
mod step;
pub(crate) mod tasks;
mod tier;
