// SPDX-License-Identifier: GPL-2.0

//! `events/GROUP/filter`: a filter for those events of a group that have its fields.
//!
//! If no event has them, all filters stay unchanged.

use super::{member::Members, rejected::Rejected, text::TextOps};
use crate::{
    engine::{
        filter::{self, Filter},
        refusal::error::{Error as Refusal, Kind},
        util::text::{Appender, Plain},
    },
    kapi::context,
    sys::Vec,
};
use core::fmt;
use kernel::{prelude::*, sync::Arc};

pub(super) const FILE: TextOps<Members> = TextOps::writable(show, store);

const UNUSED: &str = "\
### global filter ###
# A filter that is written here is set for each event of this group that has
# its fields; 0 removes the filters of all.
";

fn show(members: &Arc<Members>, out: &mut dyn fmt::Write) -> fmt::Result {
    match &*members.filter.lock() {
        Some(text) => write!(out, "{}", Plain(text)),
        None => out.write_str(UNUSED),
    }
}

fn store(members: &Arc<Members>, text: &[u8]) -> Result<(), Rejected> {
    // As in tracefs.
    if text.is_empty() {
        return Ok(());
    }
    members.make_ready()?;
    let mut registry = members.instance.tracer.registry.lock();
    let mut shown = Vec::new();
    let mut filters = Vec::new();
    let of_group = registry.events().filter(|event| members.has(event));
    if Filter::is_removal(text) {
        for event in of_group {
            filters.push((event.clone(), None))?;
        }
        registry.set_filters(members.instance.id, filters)?;
        *members.filter.lock() = None;
        return Ok(());
    }
    let mut events = Vec::new();
    for event in of_group {
        events.push(event.clone())?;
    }
    let mut functions = registry.definitions.functions();
    for event in events {
        // A group may have many events, and a filter many terms.
        if context::is_being_killed() {
            return Err(EINTR.into());
        }
        let layout = &event.format.layout;
        match Filter::compile(text, layout, &mut functions) {
            Ok(filter) => filters.push((event, Some(filter)))?,
            // This does not mean that the event lacks the fields.
            Err(refusal) if refusal.kind == Kind::NoMemory => return Err(ENOMEM.into()),
            Err(_) => {}
        }
    }
    if filters.is_empty() {
        let refusal = Refusal::new(Kind::FiltBadSubsysFilter, 0);
        filter::write_refusal(&mut Appender(&mut shown), text, &refusal).map_err(|_| ENOMEM)?;
        *members.filter.lock() = Some(shown);
        return Err(refusal.into());
    }
    shown.extend_from_slice(text.trim_ascii())?;
    shown.push(b'\n')?;
    registry.set_filters(members.instance.id, filters)?;
    *members.filter.lock() = Some(shown);
    Ok(())
}
