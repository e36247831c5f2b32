// SPDX-License-Identifier: GPL-2.0

//! What happens when a probe is hit.

mod acting;
pub(crate) mod action;
pub(crate) mod calls;
mod context;
pub(crate) mod counters;
pub(crate) mod histograms;
pub(crate) mod marks;
pub(crate) mod plan;
pub(crate) mod prepared;
pub(crate) mod recorder;
mod several;
pub(crate) mod snapshots;
mod stacks;
mod stages;
pub(crate) mod tasks;
mod texts;
mod tier;
pub(crate) mod whole_calls;
