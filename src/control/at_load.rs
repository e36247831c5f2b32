// SPDX-License-Identifier: GPL-2.0

//! What module parameters ask for when the module is loaded: `define`, `filter`, `trigger` and
//! `enable`, in this order, so that an event has its filter and its triggers before its first hit.
//!
//! They take what the files take. If one is refused, the module is not loaded, and the kernel's log
//! says why.

use super::{
    filter,
    member::EventMember,
    rejected::Rejected,
    set_event::{self, no_event},
    trigger,
};
use crate::{
    engine::{
        definition::{
            parse::Grammar,
            ready::{ReadyGroup, ReadyRow},
        },
        language::lex::Span,
        record::Head,
        refusal::error::{Error as Refusal, Kind},
        util::text::Appender,
    },
    events::{event::Event, event_file::InstanceId},
    instance::Instance,
    kapi::parameters::Text,
    source::machine::error_of,
    sys::Vec,
};
use core::ptr;
use kernel::{prelude::*, sync::Arc};

/// Does what the parameters ask for, in the top directory.
///
/// # Errors
///
/// The errno of the refusal.
///
/// Context: process, may sleep, before anybody can open a file.
pub(crate) fn apply(top: &Arc<Instance>) -> Result {
    let defined = define(top)?;
    set(top, Text::Filter, filter::store)?;
    set(top, Text::Trigger, trigger::store)?;
    if defined {
        enable_defined(top)?;
    }
    enable_named(top)
}

/// Returns the parameter `of`, with `to` in place of each of `separators`.
#[inline(never)]
fn text(of: Text, separators: &[u8], to: u8) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    for byte in of.bytes() {
        text.push(if separators.contains(&byte) { to } else { byte })?;
    }
    Ok(text)
}

/// Makes the definitions of `define`: all of them or, if one is refused, none. Returns whether it has
/// any.
#[inline(never)]
fn define(top: &Instance) -> Result<bool> {
    let lines = text(Text::Define, b";", b'\n')?;
    if lines.trim_ascii().is_empty() {
        return Ok(false);
    }
    match top.tracer.define((&lines, Grammar::Letters), None) {
        Ok(()) => Ok(true),
        Err(failure) => Err(report(Text::Define, &lines, failure.into())),
    }
}

/// Enables the events that were defined.
#[inline(never)]
fn enable_defined(top: &Instance) -> Result {
    let mut registry = top.tracer.registry.lock();
    let mut defined = Vec::new();
    for probe in registry.definitions.probes() {
        // Ready-made events only exist because something else uses them.
        if !matches!(probe.event.format.layout.class.head, Head::Ready(_)) {
            defined.push(probe.event.clone())?;
        }
    }
    let count = defined.len();
    let is_defined = |event: &Event| defined.iter().any(|one| ptr::eq(&**one, event));
    let enabled = registry.set_enabled(InstanceId::TOP, is_defined, true);
    drop(registry);
    match enabled {
        Ok(()) => pr_info!("define: probes that are defined and enabled: {count}\n"),
        Err(error) => pr_err!("define: the events cannot be enabled: {error:?}\n"),
    }
    enabled
}

/// Enables the events of `enable`.
#[inline(never)]
fn enable_named(top: &Arc<Instance>) -> Result {
    let words = text(Text::Enable, b",;", b' ')?;
    if words.trim_ascii().is_empty() {
        return Ok(());
    }
    set_event::store(top, &words).map_err(|rejected| report(Text::Enable, &words, rejected))?;
    let mut count = 0_usize;
    let registry = top.tracer.registry.lock();
    for event in registry.events() {
        count = count.saturating_add(usize::from(event.is_enabled_in(top.id)));
    }
    drop(registry);
    pr_info!("enable: events that are enabled: {count}\n");
    Ok(())
}

/// Passes each part of the parameter `of`, which begins with the name of an event, to `store`.
#[inline(never)]
fn set(
    top: &Arc<Instance>,
    of: Text,
    store: fn(&Arc<EventMember>, &[u8]) -> Result<(), Rejected>,
) -> Result {
    let text = text(of, b"", 0)?;
    let mut count = 0_usize;
    for part in text.split(|&byte| byte == b';') {
        let part = part.trim_ascii();
        if part.is_empty() {
            continue;
        }
        let result = set_one(top, Span { bytes: part, at: 0 }, store);
        result.map_err(|rejected| report(of, part, rejected))?;
        count = count.saturating_add(1);
    }
    if count != 0 {
        pr_info!("{}: set on events: {count}\n", of.name());
    }
    Ok(())
}

/// Passes what stands behind the name of an event to `store`. As in the kernel's `trace_trigger=`,
/// the name may also end at a dot.
fn set_one(
    top: &Arc<Instance>,
    part: Span<'_>,
    store: fn(&Arc<EventMember>, &[u8]) -> Result<(), Rejected>,
) -> Result<(), Rejected> {
    let end = part.find_by(|byte| byte.is_ascii_whitespace() || byte == b'.');
    let end = end.unwrap_or(part.bytes.len());
    let name = part.take(end);
    let behind = part.skip(end.saturating_add(1));
    let start = behind.find_by(|byte| !byte.is_ascii_whitespace());
    let Some(start) = start else {
        let refusal = part.error(Kind::FileNoEvent);
        return Err(refusal
            .with_detail(format_args!("write GROUP:EVENT, a blank, and what to set"))
            .into());
    };
    let value = behind.skip(start);
    let event = find(top, name)?;
    let member = EventMember::new(top, &event)?;
    store(&member, value.bytes).map_err(|rejected| match rejected {
        // The caret counts from the name on.
        Rejected::Refused(mut refusal) => {
            refusal.at = refusal.at.saturating_add(value.at);
            Rejected::Refused(refusal)
        }
        other => other,
    })
}

/// Finds the event `name`, `GROUP:EVENT` or `EVENT`; makes a ready-made one.
fn find(top: &Instance, name: Span<'_>) -> Result<Arc<Event>, Rejected> {
    let (group, event) = match name.find(b':') {
        Some(colon) => name.around(colon),
        None => (name.take(0), name),
    };
    let is_it = |names: (&[u8], &[u8])| {
        (group.bytes.is_empty() || *names.0 == *group.bytes) && *names.1 == *event.bytes
    };
    if !event.bytes.is_empty() {
        let is_ready = |group: &ReadyGroup, row: &ReadyRow| {
            is_it((group.name.as_bytes(), row.name.as_bytes()))
        };
        top.tracer.make_ready(&is_ready)?;
    }
    let registry = top.tracer.registry.lock();
    let mut found = registry.events().filter(|event| is_it(event.names()));
    match found.next() {
        Some(event) => Ok(event.clone()),
        None => Err(no_event(&registry, name).into()),
    }
}

/// Logs why the parameter `of` is refused. Returns the errno.
#[cold]
#[inline(never)]
fn report(of: Text, text: &[u8], rejected: Rejected) -> Error {
    let name = of.name();
    let (refusal, command) = match rejected {
        Rejected::Failed(error) => {
            pr_err!("{name}: {error:?}, and the module is not loaded\n");
            return error;
        }
        Rejected::Line(refusal, command) => (refusal, command),
        Rejected::Refused(refusal) => match Vec::from_slice(text) {
            Ok(command) => (refusal, command),
            Err(_) => return ENOMEM,
        },
    };
    match write(of, &refusal, &command) {
        Ok(()) => error_of(&refusal),
        Err(error) => error,
    }
}

/// Logs the entry that `error_log` would have.
fn write(of: Text, refusal: &Refusal, command: &[u8]) -> Result {
    let mut entry = Vec::new();
    let written = refusal.write_entry(&mut Appender(&mut entry), 0, command);
    match of {
        Text::Define => pr_err!("define: a definition is refused, and the module is not loaded:\n"),
        _ => pr_err!("{}: refused, and the module is not loaded:\n", of.name()),
    }
    for line in entry.split(|&byte| byte == b'\n') {
        // The log adds the time itself.
        let text = match line.strip_prefix(b"[    0.000000] ") {
            Some(text) => text,
            None => line,
        };
        if let (Ok(text), false) = (core::str::from_utf8(text), text.is_empty()) {
            pr_err!("{text}\n");
        }
    }
    written.map_err(|_| ENOMEM)
}
