// SPDX-License-Identifier: GPL-2.0

//! What events send each other: hits to event probes, and values to synthetic events.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`](super::recorder::Recorder).

use crate::{engine::hist::EmittedValues, hit::sample::SentHit, kapi::context::OnCpu};

/// Serves the hits that another event sends.
pub(crate) trait HitSink: Send + Sync {
    /// Serves a hit of the event to which it is attached.
    fn receive_hit(&self, hit: &SentHit<'_>, here: &OnCpu);
}

/// Serves the values that the action of a trigger sends.
pub(crate) trait ValueSink: Send + Sync {
    /// Increments or decrements the number of actions that send values.
    fn count_use(&self, more: bool);

    /// Serves the values that an action makes of `hit`, one for each field of a synthetic event.
    fn receive_values(&self, values: EmittedValues<'_>, hit: &SentHit<'_>, here: &OnCpu);
}
