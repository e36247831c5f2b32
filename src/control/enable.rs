// SPDX-License-Identifier: GPL-2.0

//! The files `enable` of an event, of a group, and of all events. They show one character: `0`,
//! `1`, `X` if events differ, or `?` if there are none.

use super::{
    member::{EventMember, Members},
    rejected::Rejected,
    text::TextOps,
};
use crate::{engine::language::setting, events::event::Event, instance::Instance};
use core::{fmt, iter};
use kernel::{prelude::*, sync::Arc};

/// `events/GROUP/EVENT/enable`.
pub(super) const OF_EVENT: TextOps<EventMember> = TextOps::writable(show_event, store_event);

fn show_event(member: &Arc<EventMember>, out: &mut dyn fmt::Write) -> fmt::Result {
    let event = member.event();
    let state = match &event {
        Some(event) => state(&member.instance, iter::once(event)),
        None => '0',
    };
    let event = event.filter(|event| !event.is_limited());
    let file = event.and_then(|event| event.file(member.instance.id));
    match file.is_some_and(|file| file.is_held()) {
        true => writeln!(out, "{state}*"),
        false => writeln!(out, "{state}"),
    }
}

fn store_event(member: &Arc<EventMember>, text: &[u8]) -> Result<(), Rejected> {
    let on = setting::switch(text)?;
    let event = member.made()?;
    let mut registry = member.instance.tracer.registry.lock();
    if !registry.instances.has(&event) {
        return Err(ENODEV.into());
    }
    let of = member.instance.id;
    Ok(registry.set_enabled(of, |other| other.id() == event.id(), on)?)
}

/// `events/GROUP/enable`.
pub(super) const OF_GROUP: TextOps<Members> = TextOps::writable(show_group, store_group);

fn show_group(members: &Arc<Members>, out: &mut dyn fmt::Write) -> fmt::Result {
    let registry = members.instance.tracer.registry.lock();
    let events = registry.events().filter(|event| members.has(event));
    let state = state(&members.instance, events);
    // Ready-made events that were never used count as disabled.
    let mut is_any_unmade = false;
    if let Some(group) = members.ready() {
        registry.each_unmade(&mut |of, _| {
            is_any_unmade = of.name == group.name;
            !is_any_unmade
        });
    }
    drop(registry);
    let state = match (state, is_any_unmade) {
        ('1', true) => 'X',
        ('?', true) => '0',
        (state, _) => state,
    };
    writeln!(out, "{state}")
}

fn store_group(members: &Arc<Members>, text: &[u8]) -> Result<(), Rejected> {
    let on = setting::switch(text)?;
    if on {
        members.make_ready()?;
    }
    let mut registry = members.instance.tracer.registry.lock();
    Ok(registry.set_enabled(members.instance.id, |event| members.has(event), on)?)
}

/// `events/enable`.
pub(super) const OF_ALL: TextOps<Instance> = TextOps::writable(show_all, store_all);

fn show_all(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    let state = {
        let registry = instance.tracer.registry.lock();
        state(instance, registry.events().filter(|event| event.is_used()))
    };
    writeln!(out, "{state}")
}

fn store_all(instance: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
    let on = setting::switch(text)?;
    let mut registry = instance.tracer.registry.lock();
    // Ready-made events that were merely looked at stay disabled.
    Ok(registry.set_enabled(instance.id, |event| !on || event.is_used(), on)?)
}

/// Returns the character for the state of `events` in `instance`.
fn state<'a>(instance: &Instance, events: impl Iterator<Item = &'a Arc<Event>>) -> char {
    let (mut on, mut off) = (false, false);
    for event in events {
        if event.is_enabled_in(instance.id) {
            on = true;
        } else {
            off = true;
        }
    }
    match (on, off) {
        (true, true) => 'X',
        (true, false) => '1',
        (false, true) => '0',
        (false, false) => '?',
    }
}
