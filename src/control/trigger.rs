// SPDX-License-Identifier: GPL-2.0

//! `events/GROUP/EVENT/trigger`: the triggers of an event.
//!
//! Opening it with `O_TRUNC` (the shell's `>`) removes histograms and nothing else, like in the
//! kernel.

use super::{member::EventMember, rejected::Rejected, text::TextOps};
use crate::engine::definition::ready::{ReadyGroup, ReadyRow};
use crate::engine::hist;
use crate::engine::language::trigger::{self, Trigger, TriggerRequest};
use core::fmt;
use kernel::{prelude::*, sync::Arc};

pub(super) const FILE: TextOps<EventMember> = TextOps {
    store: Some(store),
    truncate: Some(truncate),
    ..TextOps::shows(show)
};

fn show(member: &Arc<EventMember>, out: &mut dyn fmt::Write) -> fmt::Result {
    let event = member.event();
    if let Some(file) = event.and_then(|event| event.file(member.instance.id)) {
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

fn truncate(member: &Arc<EventMember>) -> Result<(), Rejected> {
    // Opening a file makes no event.
    let Some(event) = member.event() else {
        return Ok(());
    };
    let mut registry = member.instance.tracer.registry.lock();
    if !registry.instances.has(&event) {
        return Err(ENODEV.into());
    }
    Ok(registry.remove_histograms(member.instance.id, &event)?)
}

/// Sets or removes the trigger `text`.
pub(super) fn store(member: &Arc<EventMember>, text: &[u8]) -> Result<(), Rejected> {
    // As in tracefs.
    if text.is_empty() {
        return Ok(());
    }
    let request = trigger::parse(text)?;
    let takes_snapshots = match request {
        TriggerRequest::Set { trigger, .. } => trigger == Trigger::Snapshot,
        TriggerRequest::Histogram { text, removes } => !removes && hist::may_snapshot(text.bytes),
        TriggerRequest::Remove(_) => false,
    };
    // This takes the readers' lock, which precedes the registry lock.
    let buffer = &member.instance.buffer;
    let empty = match takes_snapshots {
        true => buffer.allocate_snapshot()?,
        false => None,
    };
    let result = change(member, &request);
    if let (Err(_), Some(empty)) = (&result, empty) {
        buffer.give_back_snapshot(empty);
    }
    result
}

/// Sets or removes a trigger.
fn change(member: &EventMember, request: &TriggerRequest<'_>) -> Result<(), Rejected> {
    let event = member.made()?;
    if let Some(Trigger::Event { event, .. } | Trigger::Histograms { event, .. }) =
        request.trigger()
    {
        let is_it = |group: &ReadyGroup, row: &ReadyRow| {
            *group.name.as_bytes() == *event.group.bytes
                && *row.name.as_bytes() == *event.event.bytes
        };
        member.instance.tracer.make_ready(&is_it)?;
    }
    if let TriggerRequest::Histogram {
        text,
        removes: false,
    } = *request
    {
        make_matched(member, text.bytes)?;
    }
    let mut registry = member.instance.tracer.registry.lock();
    if !registry.instances.has(&event) {
        return Err(ENODEV.into());
    }
    Ok(registry.change_triggers(member.instance.id, &event, request)?)
}

/// Makes the ready-made events that actions of the histogram `text` match.
fn make_matched(member: &EventMember, text: &[u8]) -> Result<(), Rejected> {
    let mut result = Ok(());
    hist::each_matched(text, &mut |group, event| {
        let is_it = |of: &ReadyGroup, row: &ReadyRow| {
            *of.name.as_bytes() == *group && *row.name.as_bytes() == *event
        };
        if result.is_ok() {
            result = member.instance.tracer.make_ready(&is_it);
        }
    });
    Ok(result?)
}
