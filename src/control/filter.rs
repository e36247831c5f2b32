// SPDX-License-Identifier: GPL-2.0

//! `events/GROUP/EVENT/filter`: which hits of an event are recorded.
//!
//! A refused filter leaves the current one active; the file then shows the refused text and the
//! reason, until a filter is accepted.

use super::{member::EventMember, rejected::Rejected, text::TextOps};
use crate::{
    engine::{
        filter::{self, Filter},
        language::lex::Span,
        util::text::{Appender, Plain},
    },
    events::event::Event,
    sys::Vec,
};
use core::fmt;
use kernel::{prelude::*, sync::Arc};

pub(super) const FILE: TextOps<EventMember> = TextOps::writable(show, store);

fn show(member: &Arc<EventMember>, out: &mut dyn fmt::Write) -> fmt::Result {
    let Some(event) = member.event() else {
        return out.write_str("none\n");
    };
    let Some(file) = event.file(member.instance.id) else {
        return Ok(());
    };
    file.with_filters(|filter, refused| {
        let Some(refused) = refused else {
            return match filter {
                Some(filter) => writeln!(out, "{}", Plain(filter.text())),
                None => out.write_str("none\n"),
            };
        };
        write!(out, "{}", Plain(refused))?;
        match filter {
            Some(filter) => writeln!(out, "in force: {}", Plain(filter.text())),
            None => Ok(()),
        }
    })
}

/// Sets the filter `text`.
pub(super) fn store(member: &Arc<EventMember>, text: &[u8]) -> Result<(), Rejected> {
    let event = member.made()?;
    let mut registry = member.instance.tracer.registry.lock();
    if !registry.instances.has(&event) {
        return Err(ENODEV.into());
    }
    let instance = member.instance.id;
    if Filter::is_removal(text) {
        return Ok(registry.set_filters(instance, one(event, None)?)?);
    }
    let layout = &event.format.layout;
    match registry
        .definitions
        .compile_filter(Span { bytes: text, at: 0 }, layout)
    {
        Ok(filter) => Ok(registry.set_filters(instance, one(event, Some(filter))?)?),
        Err(refusal) => {
            let mut shown = Vec::new();
            filter::write_refusal(&mut Appender(&mut shown), text, &refusal).map_err(|_| ENOMEM)?;
            event.in_instance(instance)?.set_refused_filter(Some(shown));
            Err(refusal.into())
        }
    }
}

/// Returns a list of one event and its filter.
fn one(event: Arc<Event>, filter: Option<Filter>) -> Result<Vec<(Arc<Event>, Option<Filter>)>> {
    let mut list = Vec::new();
    list.push((event, filter))?;
    Ok(list)
}
