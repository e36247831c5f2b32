// SPDX-License-Identifier: GPL-2.0

//! `events/GROUP/EVENT/trigger`: what is done on a hit of an event besides recording it.
//!
//! As in the kernel, opening it as the shell's `>` does removes histograms, and nothing else.

use super::{
    member::EventMember,
    rejected::Rejected,
    text::{Show, TakesText},
};
use crate::engine::trigger::{self, Trigger, TriggerRequest};
use core::fmt;
use kernel::{prelude::*, sync::Arc};

/// The file.
pub(crate) struct TriggerFile;

impl Show for TriggerFile {
    type Data = EventMember;

    fn show(member: &Arc<EventMember>, out: &mut dyn fmt::Write) -> fmt::Result {
        if let Some(file) = member.event().file(member.instance.id) {
            if file.write_triggers(out)? {
                return Ok(());
            }
        }
        out.write_str("# Available triggers:\n#")?;
        for row in trigger::ROWS {
            write!(out, " {}", row.name)?;
        }
        out.write_str("\n")
    }
}

impl TakesText for TriggerFile {
    fn truncate(member: &Arc<EventMember>) -> Result<(), Rejected> {
        let mut registry = member.instance.tracer.registry.lock();
        let event = member.event();
        if !registry.has(&event) {
            return Err(ENODEV.into());
        }
        Ok(registry.remove_histograms(member.instance.id, &event)?)
    }

    fn store(member: &Arc<EventMember>, text: &[u8]) -> Result<(), Rejected> {
        let request = trigger::parse(text)?;
        if let TriggerRequest::Set {
            trigger: Trigger::Snapshot,
            ..
        } = request
        {
            // Takes the readers' lock, which precedes the registry's.
            member.instance.buffer.allocate_snapshot()?;
        }
        let mut registry = member.instance.tracer.registry.lock();
        let event = member.event();
        if !registry.has(&event) {
            return Err(ENODEV.into());
        }
        Ok(registry.change_triggers(member.instance.id, &event, &request)?)
    }
}
