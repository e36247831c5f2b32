// SPDX-License-Identifier: GPL-2.0

//! What happens when a probe is hit.

pub(crate) mod calls;
mod context;
pub(crate) mod counters;
pub(crate) mod plan;
pub(crate) mod recorder;
mod stages;
pub(crate) mod whole_calls;
