// SPDX-License-Identifier: GPL-2.0

//! `set_event` and `available_events`: events by their names.

use super::{
    rejected::Rejected,
    text::{Show, TakesText},
};
use crate::{
    engine::{
        error::{Error as Refusal, Kind},
        lex::Span,
        ready::{ReadyGroup, ReadyRow},
        text::Plain,
    },
    events::{event::Event, registry::Registry, similar::suggest_event},
    instance::Instance,
};
use core::fmt;
use kernel::sync::Arc;

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
        })
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
            let named = NamedEvents::new(name.bytes);
            if on && !named.are_all() {
                let is_it = |group: &ReadyGroup, row: &ReadyRow| {
                    named.are_named(group.name.as_bytes(), row.name.as_bytes())
                };
                instance.tracer.make_ready(&is_it)?;
            }
            let mut registry = instance.tracer.registry.lock();
            if !on && named.are_unmade(&registry) {
                continue;
            }
            if !registry.events().any(|event| named.is(event)) {
                return Err(no_event(&registry, name).into());
            }
            registry.set_enabled(instance.id, |event| named.is(event), on)?;
        }
        Ok(())
    }

    fn truncate(instance: &Arc<Instance>) -> Result<(), Rejected> {
        let mut registry = instance.tracer.registry.lock();
        Ok(registry.set_enabled(instance.id, |_| true, false)?)
    }
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
    if registry.events().next().is_none() {
        return refusal.with_detail(format_args!("there is none: define one in kprobe_events"));
    }
    suggest_event(refusal, name.bytes, b':', || registry.events())
}

/// The events that a word means: `GROUP:EVENT`, where `*` and nothing stand
/// for any, or one name of either.
enum NamedEvents<'a> {
    Either(&'a [u8]),
    Both(Option<&'a [u8]>, Option<&'a [u8]>),
}

impl<'a> NamedEvents<'a> {
    fn new(word: &'a [u8]) -> Self {
        let given = |name: &'a [u8]| Some(name).filter(|name| !matches!(*name, b"" | b"*"));
        let mut parts = word.splitn(2, |&byte| byte == b':');
        match (parts.next().unwrap_or_default(), parts.next()) {
            (group, Some(event)) => Self::Both(given(group), given(event)),
            (b"*", None) => Self::Both(None, None),
            (name, None) => Self::Either(name),
        }
    }

    /// Returns whether it means all events, whatever their names: only those that somebody has
    /// used, of the ready-made ones.
    fn are_all(&self) -> bool {
        matches!(self, Self::Both(None, None))
    }

    /// Returns whether it means ready-made events that nobody has used, and no other one.
    fn are_unmade(&self, registry: &Registry) -> bool {
        let mut any = false;
        registry.each_unmade(&mut |group, row| {
            any = self.are_named(group.name.as_bytes(), row.name.as_bytes());
            !any
        });
        any && !registry.events().any(|event| self.is(event))
    }

    fn is(&self, event: &Event) -> bool {
        self.are_named(event.format.group.to_bytes(), event.format.name.to_bytes())
    }

    fn are_named(&self, group: &[u8], name: &[u8]) -> bool {
        match *self {
            Self::Either(either) => either == group || either == name,
            Self::Both(of, event) => {
                of.is_none_or(|of| of == group) && event.is_none_or(|event| event == name)
            }
        }
    }
}
