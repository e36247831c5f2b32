// SPDX-License-Identifier: GPL-2.0

//! Events and groups, for their files.
//!
//! A ready-made event may not exist yet when its files do. A task that enters the directory holds
//! a lock that the registry takes behind its own, so the event is made when one of the files is
//! used.

use crate::{
    engine::definition::ready::{ReadyGroup, ReadyRow},
    events::event::Event,
    instance::Instance,
    sys::Vec,
};
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
    /// What makes the event, if it is ready-made.
    ready: Option<(&'static ReadyGroup, &'static ReadyRow)>,
    /// `None` of a ready-made event that nobody has used.
    #[pin]
    event: Mutex<Option<Arc<Event>>>,
}

impl EventMember {
    /// That of `event`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(instance: &Arc<Instance>, event: &Arc<Event>) -> Result<Arc<Self>> {
        Self::with(instance, None, Some(event.clone()))
    }

    /// That of a ready-made event, which is not made yet.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn ready(
        instance: &Arc<Instance>,
        group: &'static ReadyGroup,
        row: &'static ReadyRow,
    ) -> Result<Arc<Self>> {
        Self::with(instance, Some((group, row)), None)
    }

    fn with(
        instance: &Arc<Instance>,
        ready: Option<(&'static ReadyGroup, &'static ReadyRow)>,
        event: Option<Arc<Event>>,
    ) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                instance: instance.clone(),
                ready,
                event <- new_mutex!(event),
            }),
            GFP_KERNEL,
        )
    }

    /// Returns the name of a ready-made event.
    pub(super) fn ready_name(&self) -> Option<&'static str> {
        self.ready.map(|(_, row)| row.name)
    }

    /// The event; `None` of a ready-made one that nobody has used. It may be defined no more, or
    /// anew a moment later, unless the registry is held.
    pub(crate) fn event(&self) -> Option<Arc<Event>> {
        self.event.lock().clone()
    }

    /// The event, which is made if it is ready-made and nobody has used it.
    ///
    /// # Errors
    ///
    /// As for [`Tracer::make_ready`](crate::tracer::Tracer::make_ready); `ENODEV` if this kernel
    /// cannot have it.
    ///
    /// Context: process, may sleep, without the lock of the definitions and what follows it.
    pub(crate) fn made(&self) -> Result<Arc<Event>> {
        if let (None, Some((group, row))) = (self.event(), self.ready) {
            let is_it =
                |other: &ReadyGroup, of: &ReadyRow| other.name == group.name && of.name == row.name;
            self.instance.tracer.make_ready(&is_it)?;
        }
        self.event().ok_or(ENODEV)
    }

    /// Makes it another event, of the same name, or a ready-made one that nobody has used.
    pub(super) fn set_event(&self, event: Option<Arc<Event>>) {
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

    /// Makes those that are ready-made.
    ///
    /// # Errors
    ///
    /// As for [`Tracer::make_ready`](crate::tracer::Tracer::make_ready).
    ///
    /// Context: as there.
    pub(crate) fn make_ready(&self) -> Result {
        match self.ready() {
            Some(group) => self
                .instance
                .tracer
                .make_ready(&|of, _| of.name == group.name),
            None => Ok(()),
        }
    }

    /// Returns the ready-made events of the group.
    pub(crate) fn ready(&self) -> Option<&'static ReadyGroup> {
        ReadyGroup::named(self.group.to_bytes())
    }

    /// Whether `event` is one of them.
    pub(crate) fn has(&self, event: &Event) -> bool {
        *event.format.group == *self.group
    }
}
