// SPDX-License-Identifier: GPL-2.0

//! Events and groups, for their files.

use crate::{events::event::Event, instance::Instance, sys::Vec};
use kernel::{
    new_mutex,
    prelude::*,
    str::CString,
    sync::{Arc, Mutex},
};

/// An event, for its files.
#[pin_data]
pub(crate) struct EventMember {
    /// Whose event it is.
    pub(crate) instance: Arc<Instance>,
    #[pin]
    event: Mutex<Arc<Event>>,
}

impl EventMember {
    /// That of `event`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(instance: &Arc<Instance>, event: &Arc<Event>) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                instance: instance.clone(),
                event <- new_mutex!(event.clone()),
            }),
            GFP_KERNEL,
        )
    }

    /// The event. It may be defined no more, or anew a moment later, unless the
    /// registry is held.
    pub(crate) fn event(&self) -> Arc<Event> {
        self.event.lock().clone()
    }

    /// Makes it another event, of the same name.
    pub(super) fn set_event(&self, event: Arc<Event>) {
        let before = core::mem::replace(&mut *self.event.lock(), event);
        // Dropped with the lock released.
        drop(before);
    }
}

/// A group, for its files.
#[pin_data]
pub(crate) struct Members {
    /// Whose events they are.
    pub(crate) instance: Arc<Instance>,
    group: CString,
    /// What `filter` shows.
    #[pin]
    pub(crate) filter: Mutex<Option<Vec<u8>>>,
}

impl Members {
    /// Returns the members of the group `group`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(instance: &Arc<Instance>, group: &CStr) -> Result<Arc<Self>> {
        let group = CString::try_from(group)?;
        Arc::pin_init(
            pin_init!(Self {
                instance: instance.clone(),
                group,
                filter <- new_mutex!(None),
            }),
            GFP_KERNEL,
        )
    }

    /// Whether `event` is one of them.
    pub(crate) fn has(&self, event: &Event) -> bool {
        *event.format.group == *self.group
    }
}
