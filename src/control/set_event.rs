// SPDX-License-Identifier: GPL-2.0

//! `set_event` and `available_events`: events by their names.

use super::{
    rejected::Rejected,
    text::{Show, TakesText},
};
use crate::{
    engine::{
        error::{Error as Refusal, Kind},
        event_names::{EventNames, ModuleName},
        lex::Span,
        ready::{ReadyGroup, ReadyRow},
        text::{Appender, Plain},
    },
    events::{event::Event, registry::Registry, similar::suggest_event},
    instance::Instance,
    kapi::module,
    sys::Vec,
};
use core::fmt::{self, Write};
use kernel::{prelude::*, sync::Arc};

/// `available_events`: all of them.
pub(crate) struct AvailableEvents;

impl Show for AvailableEvents {
    type Data = Instance;

    fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
        write_names(instance, out, |_| true)?;
        let mut result = Ok(());
        let registry = instance.tracer.registry.lock();
        registry.each_unmade(&mut |group, row| {
            result = writeln!(out, "{}:{}", group.name, row.name);
            result.is_ok()
        });
        result
    }
}

/// `set_event`: those that are enabled. Opening it for writing without
/// appending disables all.
pub(crate) struct SetEvent;

impl Show for SetEvent {
    type Data = Instance;

    fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
        write_names(instance, out, |event| {
            let file = event.file(instance.id);
            file.is_some_and(|file| file.is_enabled())
        })?;
        let registry = instance.tracer.registry.lock();
        registry.write_awaited(instance.id, out)
    }
}

fn write_names(
    instance: &Instance,
    out: &mut dyn fmt::Write,
    which: impl Fn(&Event) -> bool,
) -> fmt::Result {
    let registry = instance.tracer.registry.lock();
    for event in registry.events().filter(|event| which(event)) {
        let group = Plain(event.format.group.to_bytes());
        writeln!(out, "{group}:{}", event.format.name())?;
    }
    Ok(())
}

impl TakesText for SetEvent {
    /// It ends a word.
    const ENDS_AT_NUL: bool = false;

    fn store(instance: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
        let mut rest = Span {
            bytes: text.trim_ascii(),
            at: 0,
        };
        while let Some(word) = next_word(&mut rest) {
            let (on, name) = match word.strip(b"!") {
                Some(name) => (false, name),
                None => (true, word),
            };
            let named = EventNames::new(name.bytes);
            match named.module() {
                Some(module) => set_in_module(instance, (name, module), &named, on)?,
                None => set(instance, name, &named, on)?,
            }
        }
        Ok(())
    }

    fn truncate(instance: &Arc<Instance>) -> Result<(), Rejected> {
        let mut registry = instance.tracer.registry.lock();
        registry.set_enabled(instance.id, |_| true, false)?;
        Ok(registry.clear_awaited(instance.id)?)
    }
}

/// Enables or disables the events that the word `name` means, wherever they are.
fn set(
    instance: &Instance,
    name: Span<'_>,
    named: &EventNames<'_>,
    on: bool,
) -> Result<(), Rejected> {
    // All, whatever their names: only those that somebody has used, of the ready-made ones.
    if on && !named.are_all() {
        let is_it = |group: &ReadyGroup, row: &ReadyRow| {
            named.are_named(group.name.as_bytes(), row.name.as_bytes())
        };
        instance.tracer.make_ready(&is_it)?;
    }
    let mut registry = instance.tracer.registry.lock();
    if !on && are_unmade(named, &registry) {
        return Ok(());
    }
    if !registry.events().any(|event| is(named, event)) {
        return Err(no_event(&registry, name).into());
    }
    let is_meant = |event: &Event| is(named, event) && (event.is_used() || !named.are_all());
    Ok(registry.set_enabled(instance.id, is_meant, on)?)
}

/// Enables or disables the events that the word `name` means in `module`; if that is not loaded,
/// once it is, or no longer.
#[inline(never)]
fn set_in_module(
    instance: &Instance,
    (name, module): (Span<'_>, ModuleName<'_>),
    named: &EventNames<'_>,
    on: bool,
) -> Result<(), Rejected> {
    let refused = |why: fmt::Arguments<'_>| {
        let refusal = name.error(Kind::FileNoEvent).with_detail(why);
        Err(Rejected::from(refusal))
    };
    if !module.is_possible() {
        return refused(format_args!("write the name of one module behind :mod:"));
    }
    let mut registry = instance.tracer.registry.lock();
    if registry.set_enabled_in_module(instance.id, named, on)? {
        return Ok(());
    }
    let mut as_loaded = Vec::new();
    write!(Appender(&mut as_loaded), "{module}").map_err(|_| ENOMEM)?;
    if module::is_loaded(&as_loaded)? {
        return refused(format_args!(
            "module {module} is loaded, and no such event has a probe in it"
        ));
    }
    if on {
        return Ok(registry.await_events(instance.id, named)?);
    }
    match registry.forget_awaited(instance.id, named)? {
        true => Ok(()),
        false => refused(format_args!(
            "none is awaited with module {module}, which is not loaded"
        )),
    }
}

/// Returns whether `named` means the event.
fn is(named: &EventNames<'_>, event: &Event) -> bool {
    named.are_named(event.format.group.to_bytes(), event.format.name.to_bytes())
}

/// Returns whether `named` means ready-made events that nobody has used, and no other one.
fn are_unmade(named: &EventNames<'_>, registry: &Registry) -> bool {
    let mut any = false;
    registry.each_unmade(&mut |group, row| {
        any = named.are_named(group.name.as_bytes(), row.name.as_bytes());
        !any
    });
    any && !registry.events().any(|event| is(named, event))
}

/// Takes the next word of `rest`; `None` if there is none. White space and NULs are between
/// words.
fn next_word<'a>(rest: &mut Span<'a>) -> Option<Span<'a>> {
    let is_between = |byte: u8| byte.is_ascii_whitespace() || byte == 0;
    let start = rest.find_by(|byte| !is_between(byte))?;
    let behind = rest.skip(start);
    let end = behind.find_by(is_between);
    let end = end.unwrap_or(behind.bytes.len());
    *rest = behind.skip(end);
    Some(behind.take(end))
}

/// Returns the refusal of the event `name`, which does not exist.
#[cold]
#[inline(never)]
fn no_event(registry: &Registry, name: Span<'_>) -> Refusal {
    let refusal = name.error(Kind::FileNoEvent);
    let mut is_any = false;
    registry.each_name(&mut |_, _| is_any = true);
    if !is_any {
        return refusal.with_detail(format_args!("there is none: define one in kprobe_events"));
    }
    suggest_event(refusal, name.bytes, b':', &|each| registry.each_name(each))
}
