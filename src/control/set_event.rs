// SPDX-License-Identifier: GPL-2.0

//! `set_event` and `available_events`: events by their names.

use super::text::{self, Show, Store};
use crate::{engine::text::Plain, events::event::Event, instance::Instance};
use core::fmt;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// `available_events`: all of them.
pub(crate) struct AvailableEvents;

impl Show for AvailableEvents {
    type Data = Instance;

    fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
        write_names(instance, out, |_| true)
    }
}

/// `set_event`: those that are enabled. Opening it for writing without
/// appending disables all.
pub(crate) struct SetEvent;

impl Show for SetEvent {
    type Data = Instance;

    fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
        write_names(instance, out, |event| event.file.is_enabled())
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

impl Store for SetEvent {
    fn store(instance: &Arc<Instance>, from: UserSliceReader) -> Result {
        let text = text::written(from)?;
        let registry = instance.tracer.registry.lock();
        let words = text.split(u8::is_ascii_whitespace);
        for word in words.filter(|word| !word.is_empty()) {
            let (on, named) = match word.strip_prefix(b"!") {
                Some(named) => (false, Named::new(named)),
                None => (true, Named::new(word)),
            };
            if !registry.events().any(|event| named.is(event)) {
                return Err(EINVAL);
            }
            registry.set_enabled(|event| named.is(event), on)?;
        }
        Ok(())
    }

    fn truncate(instance: &Arc<Instance>) -> Result {
        instance.tracer.registry.lock().set_enabled(|_| true, false)
    }
}

/// The events that a word means: `GROUP:EVENT`, where `*` and nothing stand
/// for any, or one name of either.
enum Named<'a> {
    Either(&'a [u8]),
    Both(Option<&'a [u8]>, Option<&'a [u8]>),
}

impl<'a> Named<'a> {
    fn new(word: &'a [u8]) -> Self {
        let given = |name: &'a [u8]| Some(name).filter(|name| !matches!(*name, b"" | b"*"));
        let mut parts = word.splitn(2, |&byte| byte == b':');
        match (parts.next().unwrap_or_default(), parts.next()) {
            (group, Some(event)) => Self::Both(given(group), given(event)),
            (b"*", None) => Self::Both(None, None),
            (name, None) => Self::Either(name),
        }
    }

    fn is(&self, event: &Event) -> bool {
        let (group, name) = (event.format.group.to_bytes(), event.format.name.to_bytes());
        match *self {
            Self::Either(either) => either == group || either == name,
            Self::Both(of, event) => {
                of.is_none_or(|of| of == group) && event.is_none_or(|event| event == name)
            }
        }
    }
}
