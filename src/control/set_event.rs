// SPDX-License-Identifier: GPL-2.0

//! `set_event` and `available_events`: events by their names.

use super::text::{self, Show, Text};
use crate::{
    engine::text::Plain,
    event::Event,
    kapi::debugfs::{File, OpenFile},
    tracer::Tracer,
};
use core::{fmt, pin::Pin};
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// `available_events`: all of them.
pub(crate) struct AvailableEvents;

impl Show for AvailableEvents {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        write_names(tracer, out, |_| true)
    }
}

/// `set_event`: those that are enabled. Opening it for writing without
/// appending disables all.
pub(crate) struct SetEvent;

impl Show for SetEvent {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        write_names(tracer, out, Event::is_enabled)
    }
}

fn write_names(
    tracer: &Tracer,
    out: &mut dyn fmt::Write,
    which: impl Fn(&Event) -> bool,
) -> fmt::Result {
    let registry = tracer.registry.lock();
    for event in registry.events().filter(|event| which(event)) {
        let group = Plain(event.format.group.to_bytes());
        writeln!(out, "{group}:{}", event.format.name())?;
    }
    Ok(())
}

impl File for SetEvent {
    type Data = Tracer;
    type Open = Text<Self>;

    fn open(tracer: ArcBorrow<'_, Tracer>, file: &OpenFile) -> Result<Pin<KBox<Text<Self>>>> {
        let tracer: Arc<Tracer> = tracer.into();
        // What can fail for want of memory comes first.
        let open = Text::open(tracer.clone())?;
        if file.truncates() {
            tracer.registry.lock().set_enabled(|_| true, false)?;
        }
        Ok(open)
    }

    fn read(
        open: &Text<Self>,
        _file: &OpenFile,
        to: &mut UserSliceWriter,
        offset: &mut i64,
    ) -> Result<usize> {
        open.read(to, offset)
    }

    fn write(open: &Text<Self>, _file: &OpenFile, from: UserSliceReader) -> Result {
        let text = text::written(from)?;
        let registry = open.data.registry.lock();
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
