// SPDX-License-Identifier: GPL-2.0

//! The directories below `events`: of groups and of events.
//!
//! Nothing here takes the registry's lock in `open`, see [`crate::tracer`].

use super::{
    filter::FilterFile,
    functions::FunctionsFile,
    group_filter::GroupFilter,
    hist::{GraphFile, HistFile, Polled},
    member::{Member, Members},
    mode::{READ, READ_WRITE},
    rejected::Rejected,
    switch::{Switch, Switched},
    text::{SettingFile, Show, TextFile},
    trigger::TriggerFile,
};
use crate::{
    engine::format,
    events::{
        event::Event,
        registry::{Directory, EventFiles, Group},
    },
    instance::Instance,
    kapi::debugfs::{Dir, Entry, Fill, LateDir},
};
use core::fmt;
use kernel::{prelude::*, sync::Arc};

/// The directory `events`, for the registry.
struct EventsDirectory {
    instance: Arc<Instance>,
    events: Arc<Dir>,
}

/// What makes the directories of groups in `events`.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn directory(instance: &Arc<Instance>, events: Arc<Dir>) -> Result<Arc<dyn Directory>> {
    let instance = instance.clone();
    let directory = Arc::new(EventsDirectory { instance, events }, GFP_KERNEL)?;
    Ok(directory)
}

impl Directory for EventsDirectory {
    fn group(&self, name: &CStr) -> Result<Arc<dyn Group>> {
        let directory = Dir::new(name, Some(self.events.clone()))?;
        let members = Members::new(&self.instance, name)?;
        let enable = Entry::new(c"enable", READ_WRITE, &directory, members.clone())?;
        let filter = Entry::new(c"filter", READ_WRITE, &directory, members)?;
        let group = GroupDirectory {
            instance: self.instance.clone(),
            directory,
            _enable: enable,
            _filter: filter,
        };
        let group = Arc::new(group, GFP_KERNEL)?;
        Ok(group)
    }
}

/// The directory of a group.
struct GroupDirectory {
    instance: Arc<Instance>,
    directory: Arc<Dir>,
    _enable: Entry<Switch<EnableGroup>>,
    _filter: Entry<SettingFile<GroupFilter>>,
}

impl Group for GroupDirectory {
    fn event(&self, event: &Arc<Event>) -> Result<KBox<dyn EventFiles>> {
        let member = Member::new(&self.instance, event)?;
        let directory = LateDir::new(&event.format.name, &self.directory, OfEvent(member))?;
        let directory = KBox::new(EventDirectory(directory), GFP_KERNEL)?;
        Ok(directory)
    }
}

/// What makes the files of an event.
struct OfEvent(Arc<Member>);

impl Fill for OfEvent {
    type Files = EventEntries;

    fn fill(&self, directory: &Arc<Dir>) -> Result<EventEntries> {
        let Self(member) = self;
        let has_functions = member.event().format.has_functions;
        Ok(EventEntries {
            _enable: Entry::new(c"enable", READ_WRITE, directory, member.clone())?,
            _format: Entry::new(c"format", READ, directory, member.clone())?,
            _id: Entry::new(c"id", READ, directory, member.clone())?,
            _filter: Entry::new(c"filter", READ_WRITE, directory, member.clone())?,
            _trigger: Entry::new(c"trigger", READ_WRITE, directory, member.clone())?,
            _functions: match has_functions {
                true => Some(Entry::new(c"functions", READ, directory, member.clone())?),
                false => None,
            },
            _hist: Entry::new(c"hist", READ, directory, member.clone())?,
            _graph: Entry::new(c"hist_graph", READ, directory, member.clone())?,
        })
    }
}

/// The files of an event.
struct EventEntries {
    _enable: Entry<Switch<EnableEvent>>,
    _format: Entry<TextFile<FormatFile>>,
    _id: Entry<TextFile<IdFile>>,
    _filter: Entry<SettingFile<FilterFile>>,
    _trigger: Entry<SettingFile<TriggerFile>>,
    _functions: Option<Entry<TextFile<FunctionsFile>>>,
    _hist: Entry<Polled<HistFile>>,
    _graph: Entry<Polled<GraphFile>>,
}

/// The directory of an event.
struct EventDirectory(LateDir<OfEvent>);

impl EventFiles for EventDirectory {
    fn set_event(&self, event: &Arc<Event>) {
        let OfEvent(member) = self.0.fill();
        member.set_event(event.clone());
    }
}

/// `events/GROUP/EVENT/enable`.
pub(crate) struct EnableEvent;

impl Switched for EnableEvent {
    type Data = Member;

    fn state(member: &Arc<Member>) -> u8 {
        state(&member.instance, core::iter::once(&member.event()))
    }

    fn is_marked(member: &Arc<Member>) -> bool {
        let file = member.event().file(member.instance.id);
        file.is_some_and(|file| file.is_held())
    }

    fn set(member: &Arc<Member>, on: bool) -> Result<(), Rejected> {
        let mut registry = member.instance.tracer.registry.lock();
        let event = member.event();
        if !registry.has(&event) {
            return Err(ENODEV.into());
        }
        let of = member.instance.id;
        Ok(registry.set_enabled(of, |other| other.id() == event.id(), on)?)
    }
}

/// `events/GROUP/enable`.
pub(crate) struct EnableGroup;

impl Switched for EnableGroup {
    type Data = Members;

    fn state(members: &Arc<Members>) -> u8 {
        let registry = members.instance.tracer.registry.lock();
        let events = registry.events().filter(|event| members.has(event));
        state(&members.instance, events)
    }

    fn set(members: &Arc<Members>, on: bool) -> Result<(), Rejected> {
        let mut registry = members.instance.tracer.registry.lock();
        Ok(registry.set_enabled(members.instance.id, |event| members.has(event), on)?)
    }
}

/// `events/enable`.
pub(crate) struct EnableAll;

impl Switched for EnableAll {
    type Data = Instance;

    fn state(instance: &Arc<Instance>) -> u8 {
        state(instance, instance.tracer.registry.lock().events())
    }

    fn set(instance: &Arc<Instance>, on: bool) -> Result<(), Rejected> {
        let mut registry = instance.tracer.registry.lock();
        Ok(registry.set_enabled(instance.id, |_| true, on)?)
    }
}

/// One character for whether `events` are enabled in `instance`.
fn state<'a>(instance: &Instance, events: impl Iterator<Item = &'a Arc<Event>>) -> u8 {
    let (mut on, mut off) = (false, false);
    for event in events {
        if event
            .file(instance.id)
            .is_some_and(|file| file.is_enabled())
        {
            on = true;
        } else {
            off = true;
        }
    }
    match (on, off) {
        (true, true) => b'X',
        (true, false) => b'1',
        (false, true) => b'0',
        (false, false) => b'?',
    }
}

/// `events/GROUP/EVENT/format`.
pub(crate) struct FormatFile;

impl Show for FormatFile {
    type Data = Member;

    fn show(member: &Arc<Member>, out: &mut dyn fmt::Write) -> fmt::Result {
        let event = member.event();
        let format = &event.format;
        format::write_format(out, format.name(), format.id, &format.layout)
    }
}

/// `events/GROUP/EVENT/id`.
pub(crate) struct IdFile;

impl Show for IdFile {
    type Data = Member;

    fn show(member: &Arc<Member>, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "{}", member.event().id())
    }
}
