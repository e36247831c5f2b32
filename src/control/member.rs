// SPDX-License-Identifier: GPL-2.0

//! The events and groups that files belong to.
//!
//! A ready-made event may not exist yet when its files do. A task that enters the directory holds a
//! lock that is taken after the registry lock, so the event is only made when one of the files is
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

/// The event of a file.
#[pin_data]
pub(crate) struct EventMember {
    /// The instance of the event.
    pub(crate) instance: Arc<Instance>,
    /// The table row of a ready-made event.
    ready: Option<(&'static ReadyGroup, &'static ReadyRow)>,
    /// `None` for a ready-made event before its first use.
    #[pin]
    event: Mutex<Option<Arc<Event>>>,
}

impl EventMember {
    /// Makes the member for `event`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(instance: &Arc<Instance>, event: &Arc<Event>) -> Result<Arc<Self>> {
        Self::with(instance, None, Some(event.clone()))
    }

    /// Makes the member for a ready-made event, which is not made yet.
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

    /// Returns the event; `None` for a ready-made one before its first use. Without the registry
    /// lock, it may be removed or redefined at any time.
    pub(crate) fn event(&self) -> Option<Arc<Event>> {
        self.event.lock().clone()
    }

    /// Returns the event; makes a ready-made one on first use.
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

    /// Replaces the event by another one of the same name; by `None` for a ready-made one that is
    /// removed.
    pub(super) fn set_event(&self, event: Option<Arc<Event>>) {
        let before = core::mem::replace(&mut *self.event.lock(), event);
        // Drop without the spin lock.
        drop(before);
    }
}

/// The group of a file.
#[pin_data]
pub(crate) struct Members {
    /// The instance of the events.
    pub(crate) instance: Arc<Instance>,
    group: CString,
    /// The text of `filter`.
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

    /// Makes the ready-made events of the group.
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

    /// Returns whether `event` belongs to the group.
    pub(crate) fn has(&self, event: &Event) -> bool {
        *event.format.group == *self.group
    }
}
