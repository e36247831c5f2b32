// SPDX-License-Identifier: GPL-2.0

//! Sends the hits of events to the armed event probes that are attached to them, and to no others.

use super::Registry;
use crate::events::{attachment::Attachment, event_file::InstanceId};
use core::ptr;
use kernel::prelude::*;

impl Registry {
    /// Adds the actions that send hits to event probes which have been armed, and removes those of
    /// event probes which are not armed any more.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of arming the other event; then some are not added.
    ///
    /// Context: process, may sleep.
    pub(super) fn link_receivers(&mut self) -> Result {
        while let Some(probe) = self.definitions.unlinked() {
            let is_armed = probe.is_armed();
            let is_sent_to = probe.attachments().iter().any(Attachment::is_linked);
            if let Some(pair) = probe.pair().filter(|_| is_armed && !is_sent_to) {
                // The actions that sent to it have been gone for a grace period.
                pair.open().beginnings().clear();
            }
            for attachment in probe.attachments() {
                if attachment.is_linked() != is_armed {
                    self.link(attachment, is_armed)?;
                }
            }
        }
        Ok(())
    }

    fn link(&mut self, attachment: &Attachment, is_armed: bool) -> Result {
        // The other event may be one of an event probe, too: then `link_receivers` is called again.
        attachment.set_linked(is_armed);
        let (to, action) = (attachment.to(), attachment.action());
        let result = match is_armed {
            true => self.add_trigger(InstanceId::TOP, to, action.clone(), None),
            false => {
                let is_it = |other: &_| ptr::eq(&**action, other);
                self.remove_trigger(InstanceId::TOP, to, is_it, None)
            }
        };
        result.inspect_err(|_| attachment.set_linked(!is_armed))
    }
}
