// SPDX-License-Identifier: GPL-2.0

//! `set_event` and `available_events`: events by their names.

use super::{rejected::Rejected, text::TextOps};
use crate::{
    engine::{
        definition::{
            ast::MAX_NAME_LEN,
            event_names::{
                AwaitedEvents, ChosenEvents, EventNames, ModuleName, NotAwaited, MAX_AWAITED,
            },
            ready::{ReadyGroup, ReadyRow},
        },
        language::lex::Span,
        refusal::{
            error::{Error as Refusal, Kind},
            suggest::events::suggest_event,
        },
        util::text::{Appender, Plain},
    },
    events::{
        event::Event,
        event_file::InstanceId,
        registry::{Registry, Removed},
    },
    instance::Instance,
    kapi::{context, module},
    sys::{AllocError, Vec},
};
use core::fmt::{self, Write};
use kernel::{prelude::*, sync::Arc};

/// `available_events`: all events.
pub(super) const AVAILABLE_EVENTS: TextOps<Instance> = TextOps::shows(show_all);

fn show_all(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    write_names(instance, out, |_| true)?;
    let mut result = Ok(());
    let registry = instance.tracer.registry.lock();
    registry.each_unmade(&mut |group, row| {
        result = writeln!(out, "{}:{}", group.name, row.name);
        result.is_ok()
    });
    result
}

/// `set_event`: the enabled events. Opening it for writing without appending disables all.
pub(super) const SET_EVENT: TextOps<Instance> = TextOps {
    store: Some(store),
    truncate: Some(truncate_enabled),
    // A NUL ends a word.
    ends_at_nul: false,
    ..TextOps::shows(show_enabled)
};

fn show_enabled(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    write_names(instance, out, |event| event.is_enabled_in(instance.id))?;
    let registry = instance.tracer.registry.lock();
    match registry.instances.get(instance.id) {
        Ok(instance) => instance.awaited.write(out),
        Err(_) => Ok(()),
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

/// Enables or disables the events of `text`.
pub(super) fn store(instance: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
    let text = Span {
        bytes: text.trim_ascii(),
        at: 0,
    };
    let tracer = &instance.tracer;
    tracer.change(|registry, removed| set(instance.id, (registry, removed), text))
}

fn truncate_enabled(instance: &Arc<Instance>) -> Result<(), Rejected> {
    let mut registry = instance.tracer.registry.lock();
    registry.set_enabled(instance.id, |_| true, false)?;
    registry.instances.get_mut(instance.id)?.awaited.clear();
    Ok(())
}

/// Maximum number of words of a write other than `GROUP:EVENT`: each takes a pass over all events.
const MAX_WIDE: usize = 1024;

/// Applies the words of `text` in `instance`, all or nothing.
fn set(
    instance: InstanceId,
    (registry, removed): (&mut Registry, &mut Removed),
    text: Span<'_>,
) -> Result<(), Rejected> {
    let mut events = Vec::new();
    for event in registry.events() {
        events.push(event.clone())?;
    }
    let mut choice = WordsOfWrite::new(instance, &events)?;
    let mut rest = text;
    while let Some(word) = next_word(&mut rest) {
        if context::is_being_killed() {
            return Err(EINTR.into());
        }
        context::cond_resched();
        choice.take(registry, word)?;
    }
    let decided = choice.chosen.decided()?;
    if decided.unmade().next().is_some() {
        let is_it = |group: &ReadyGroup, row: &ReadyRow| {
            let (group, name) = (group.name.as_bytes(), row.name.as_bytes());
            let mut unmade = decided.unmade();
            unmade.any(|event| event.group == group && event.name == name)
        };
        registry.make_ready(&is_it, removed)?;
        let is_on = |event: &Arc<Event>| decided.of(event.names().0, event.names().1) == Some(true);
        if !registry.events().any(is_on) {
            // The kernel does not support the ready-made events that the words match.
            let first = next_word(&mut { text }).unwrap_or(text);
            return Err(no_event(registry, first).into());
        }
    }
    Ok(registry.decide(instance, &decided, choice.awaited)?)
}

/// The combined effect of a write's words.
struct WordsOfWrite<'a> {
    instance: InstanceId,
    chosen: ChosenEvents<'a>,
    /// Whether `events` includes ready-made events that were never used.
    has_unmade: bool,
    /// The events to await, if a word changes them.
    awaited: Option<AwaitedEvents>,
    /// The number of words for more than one event.
    wide: usize,
}

impl<'a> WordsOfWrite<'a> {
    /// Makes it without a choice for any of `events`.
    fn new(instance: InstanceId, events: &'a [Arc<Event>]) -> Result<Self, AllocError> {
        let mut chosen = ChosenEvents::default();
        for event in events {
            let (group, name) = event.names();
            chosen.add(group, name, true, event.is_used())?;
        }
        Ok(Self {
            instance,
            chosen,
            has_unmade: false,
            awaited: None,
            wide: 0,
        })
    }

    /// Takes a word.
    fn take(&mut self, registry: &Registry, word: Span<'_>) -> Result<(), Rejected> {
        let (on, name) = match word.strip(b"!") {
            Some(name) => (false, name),
            None => (true, word),
        };
        let named = EventNames::new(name.bytes);
        if !named.are_possible() {
            let refusal = name.error(Kind::FileNoEvent);
            return Err(refusal
                .with_detail(format_args!("a name has at most {MAX_NAME_LEN} characters"))
                .into());
        }
        if named.one().is_none() || named.module().is_some() {
            self.wide = self.wide.saturating_add(1);
            if self.wide > MAX_WIDE {
                let refusal = word.error(Kind::FileTooLong);
                return Err(refusal
                    .with_detail(format_args!(
                        "at most {MAX_WIDE} words that are not GROUP:EVENT in one write"
                    ))
                    .into());
            }
        }
        if let Some(module) = named.module() {
            return self.take_of_module(registry, (name, module), &named, on);
        }
        if !self.has_unmade && may_be_ready(&named) {
            self.has_unmade = true;
            let mut memory = Ok(());
            registry.each_unmade(&mut |group, row| {
                let (group, name) = (group.name.as_bytes(), row.name.as_bytes());
                memory = self.chosen.add(group, name, false, false);
                memory.is_ok()
            });
            memory?;
        }
        match self.chosen.choose(&named, on) {
            true => Ok(()),
            false => Err(no_event(registry, name).into()),
        }
    }

    /// Takes a word for events in `module`. If the module is not loaded, they are added to the
    /// awaited ones, or removed.
    #[inline(never)]
    fn take_of_module(
        &mut self,
        registry: &Registry,
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
        let events = registry.in_module(named)?;
        if !events.is_empty() {
            for event in &events {
                let (group, name) = event.names();
                self.chosen.choose_one(group, name, on);
            }
            return Ok(());
        }
        let mut as_loaded = Vec::new();
        write!(Appender(&mut as_loaded), "{module}").map_err(|_| ENOMEM)?;
        if module::is_loaded(&as_loaded)? {
            return refused(format_args!(
                "module {module} is loaded, and no such event has a probe in it"
            ));
        }
        let awaited = match &mut self.awaited {
            Some(awaited) => awaited,
            none => none.insert(registry.instances.get(self.instance)?.awaited.copied()?),
        };
        if on {
            return match awaited.add(named) {
                Ok(()) => Ok(()),
                Err(NotAwaited::NoMemory) => Err(ENOMEM.into()),
                Err(NotAwaited::TooMany) => refused(format_args!(
                    "module {module} is not loaded, and {MAX_AWAITED} words wait for modules \
                     already"
                )),
            };
        }
        match awaited.remove(named) {
            true => Ok(()),
            false => refused(format_args!(
                "none is awaited with module {module}, which is not loaded"
            )),
        }
    }
}

/// Returns whether `named` may match a ready-made event.
fn may_be_ready(named: &EventNames<'_>) -> bool {
    match named.one() {
        Some((group, _)) => ReadyGroup::named(group).is_some(),
        None => true,
    }
}

/// Takes the next word of `rest`; returns `None` if there is none. Words are separated by white
/// space or NULs.
fn next_word<'a>(rest: &mut Span<'a>) -> Option<Span<'a>> {
    let is_between = |byte: u8| byte.is_ascii_whitespace() || byte == 0;
    let start = rest.find_by(|byte| !is_between(byte))?;
    let behind = rest.skip(start);
    let end = behind.find_by(is_between);
    let end = end.unwrap_or(behind.bytes.len());
    *rest = behind.skip(end);
    Some(behind.take(end))
}

/// Returns the refusal of the unknown event `name`.
#[cold]
#[inline(never)]
pub(super) fn no_event(registry: &Registry, name: Span<'_>) -> Refusal {
    let refusal = name.error(Kind::FileNoEvent);
    let mut is_any = false;
    registry.each_name(&mut |_, _| is_any = true);
    if !is_any {
        return refusal.with_detail(format_args!("there is none: define one in kprobe_events"));
    }
    let (group, event) = match name.find(b':') {
        Some(colon) => name.around(colon),
        None => (name.take(0), name),
    };
    let (group, event) = (group.bytes, Plain(event.bytes));
    if let Ok(Some(_)) = registry.definitions.points().find(event.0) {
        let slash = if group.is_empty() { "" } else { "/" };
        return refusal.with_detail(format_args!(
            "it is a tracepoint: write t:{}{slash}{event} {event} to dynamic_events first",
            Plain(group)
        ));
    }
    suggest_event(refusal, name.bytes, b':', &|each| registry.each_name(each))
}
