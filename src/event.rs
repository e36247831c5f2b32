// SPDX-License-Identifier: GPL-2.0

//! A defined event: what its probes have in common.

use crate::{
    engine::{
        ast::Definition,
        error::{Error as Refusal, Kind},
        fetch::Program,
        filter::Filter,
    },
    sys::Vec,
};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use kernel::{
    new_mutex,
    prelude::*,
    str::CString,
    sync::{Arc, Mutex},
};

/// What is needed to make and to read the records of a probe. It outlives its
/// event for as long as records of it may be in the buffer.
pub(crate) struct Format {
    /// The number of the event, in each record.
    pub(crate) id: u16,
    /// Name of the group.
    pub(crate) group: CString,
    /// Name of the event.
    pub(crate) name: CString,
    /// Fetches the arguments and knows their layout. The programs of the probes
    /// of one event may differ, their layouts do not.
    pub(crate) program: Program,
}

impl Format {
    /// Whether `definition` is of the event with these names.
    pub(crate) fn is_of(&self, definition: &Definition) -> bool {
        // Most have the same group.
        *self.name.to_bytes() == *definition.event && *self.group.to_bytes() == *definition.group
    }

    /// The event's name.
    pub(crate) fn name(&self) -> &str {
        // Names are identifiers.
        self.name.to_str().unwrap_or("?")
    }
}

/// A defined event. All of it but the format is changed only by who holds the
/// registry.
#[pin_data]
pub(crate) struct Event {
    /// How its records are read: the format of its first probe.
    pub(crate) format: Arc<Format>,
    enabled: AtomicBool,
    /// The last set that it was noted to be in.
    set: AtomicU64,
    #[pin]
    filter: Mutex<Filtering>,
}

/// The filter of an event.
struct Filtering {
    in_force: Arc<Option<Filter>>,
    /// What to show of the last filter, if it was refused.
    refused: Option<Vec<u8>>,
}

impl Event {
    /// A disabled event without probes.
    ///
    /// # Errors
    ///
    /// `NO_MEMORY`.
    pub(crate) fn new(format: Arc<Format>) -> Result<Arc<Self>, Refusal> {
        let no_memory = |_| Refusal::new(Kind::NoMemory, 0);
        let none = Arc::new(None, GFP_KERNEL).map_err(no_memory)?;
        let event = pin_init!(Self {
            format,
            enabled: AtomicBool::new(false),
            set: AtomicU64::new(0),
            filter <- new_mutex!(Filtering { in_force: none, refused: None }),
        });
        Arc::pin_init(event, GFP_KERNEL).map_err(|_| Refusal::new(Kind::NoMemory, 0))
    }

    /// Its number.
    pub(crate) fn id(&self) -> u16 {
        self.format.id
    }

    /// Whether its probes are armed.
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    /// Notes whether its probes are armed.
    pub(crate) fn set_enabled(&self, enabled: bool) {
        self.enabled.store(enabled, Ordering::Relaxed);
    }

    /// Notes that it is in the set with the number `set`, from 1 on.
    pub(crate) fn put_in(&self, set: u64) {
        self.set.store(set, Ordering::Relaxed);
    }

    /// Whether it is in the set with the number `set`, and was in no later one.
    pub(crate) fn is_in(&self, set: u64) -> bool {
        self.set.load(Ordering::Relaxed) == set
    }

    /// The filter in force.
    pub(crate) fn filter(&self) -> Arc<Option<Filter>> {
        self.filter.lock().in_force.clone()
    }

    /// Notes the filter in force.
    pub(crate) fn set_filter(&self, filter: Arc<Option<Filter>>) {
        let mut filtering = self.filter.lock();
        filtering.in_force = filter;
        filtering.refused = None;
    }

    /// Notes what to show of a filter that was refused.
    pub(crate) fn set_refused_filter(&self, shown: Vec<u8>) {
        self.filter.lock().refused = Some(shown);
    }

    /// Calls `show` with the filter in force and what is to be shown of one that
    /// was refused after it.
    pub(crate) fn with_filters<R>(
        &self,
        show: impl FnOnce(Option<&Filter>, Option<&[u8]>) -> R,
    ) -> R {
        let filtering = self.filter.lock();
        show(
            filtering.in_force.as_ref().as_ref(),
            filtering.refused.as_deref(),
        )
    }
}
