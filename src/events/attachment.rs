// SPDX-License-Identifier: GPL-2.0

//! Attaches an event probe to the event whose hits it gets.
//!
//! While the event probe is armed, the plan of the other event, in the top directory's instance,
//! has an action that sends the hits.

use crate::{events::event::Event, hit::action::Action};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use kernel::{prelude::*, sync::Arc};

/// The number of attachments.
pub(crate) struct AttachmentCount(AtomicUsize);

impl AttachmentCount {
    /// Makes a count of 0.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new() -> Result<Arc<Self>> {
        Ok(Arc::new(Self(AtomicUsize::new(0)), GFP_KERNEL)?)
    }

    /// Returns whether there are any attachments.
    pub(super) fn is_any(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
}

/// The attachment of a probe to an event. The event cannot be deleted before the probe.
pub(crate) struct Attachment {
    to: Arc<Event>,
    /// Sends the hits.
    action: Arc<Action>,
    /// Whether the event's plan has the action. Changes with the registry lock held.
    is_linked: AtomicBool,
    count: Arc<AttachmentCount>,
}

impl Attachment {
    /// Attaches a probe to the event `to`, whose hits `action` sends.
    pub(super) fn new(to: Arc<Event>, action: Arc<Action>, count: Arc<AttachmentCount>) -> Self {
        to.count_attached(true);
        count.0.fetch_add(1, Ordering::Relaxed);
        Self {
            to,
            action,
            is_linked: AtomicBool::new(false),
            count,
        }
    }

    /// Returns the event that sends the hits.
    pub(super) fn to(&self) -> &Arc<Event> {
        &self.to
    }

    /// Returns the action that sends the hits.
    pub(super) fn action(&self) -> &Arc<Action> {
        &self.action
    }

    /// Returns whether the event's plan has the action.
    pub(super) fn is_linked(&self) -> bool {
        self.is_linked.load(Ordering::Relaxed)
    }

    /// Notes whether the event's plan has the action.
    pub(super) fn set_linked(&self, linked: bool) {
        self.is_linked.store(linked, Ordering::Relaxed);
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.to.count_attached(false);
        self.count.0.fetch_sub(1, Ordering::Relaxed);
    }
}
