// SPDX-License-Identifier: GPL-2.0

//! An event in an instance: whether it is enabled there, and what its hits do.

use crate::{engine::filter::Filter, hit::plan::Plan, sys::Vec};
use core::sync::atomic::{AtomicBool, Ordering};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// An event in an instance: ftrace's `struct trace_event_file`. Changes with the registry
/// lock held.
#[pin_data]
pub(crate) struct EventFile {
    enabled: AtomicBool,
    #[pin]
    state: Mutex<State>,
}

struct State {
    plan: Arc<Plan>,
    /// The text to show for the last filter, if it was refused.
    refused: Option<Vec<u8>>,
}

impl EventFile {
    /// Makes a disabled event with `plan`.
    pub(super) fn new(plan: Arc<Plan>) -> impl PinInit<Self> {
        pin_init!(Self {
            enabled: AtomicBool::new(false),
            state <- new_mutex!(State { plan, refused: None }),
        })
    }

    /// Returns whether the event is enabled.
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    /// Sets whether the event is enabled.
    pub(super) fn set_enabled(&self, enabled: bool) {
        self.enabled.store(enabled, Ordering::Relaxed);
    }

    /// Returns what its hits do.
    pub(super) fn plan(&self) -> Arc<Plan> {
        self.state.lock().plan.clone()
    }

    /// Sets what its hits do.
    pub(super) fn set_plan(&self, plan: Arc<Plan>) {
        let mut state = self.state.lock();
        state.plan = plan;
        state.refused = None;
    }

    /// Sets the text to show for a filter that was refused.
    pub(crate) fn set_refused_filter(&self, shown: Vec<u8>) {
        self.state.lock().refused = Some(shown);
    }

    /// Calls `show` with the filter in force, and with the text for a filter that was
    /// refused after it.
    pub(crate) fn with_filters<R>(
        &self,
        show: impl FnOnce(Option<&Filter>, Option<&[u8]>) -> R,
    ) -> R {
        let state = self.state.lock();
        show(state.plan.filter.as_ref(), state.refused.as_deref())
    }
}
