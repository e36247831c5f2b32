// SPDX-License-Identifier: GPL-2.0

//! The directories below `events`: of groups and of events.
//!
//! Nothing here takes the registry's lock in `open`, see [`crate::tracer`].

use super::{
    enable, filter, functions, group_filter,
    hist::{HistData, HistFile},
    member::{EventMember, Members},
    named::{file, Described, READ, READ_WRITE},
    text::TextOps,
    trigger,
};
use crate::{
    engine::{definition::ready::ReadyGroup, record::format},
    events::{
        event::Event,
        registry::{Directory, EventFiles, EventGroup, Permanent},
    },
    instance::Instance,
    kapi::{
        c_string::c_string,
        memory,
        tracepoint::Tracepoints,
        tree::{Dir, LateDir, LateFill, TreeFile},
    },
    sys::Vec,
};
use core::{fmt, mem, pin::Pin};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

const GROUP_ENABLE: Described = file(c"enable", READ_WRITE, "arm or disarm all events of a group");
const GROUP_FILTER: Described = file(
    c"filter",
    READ_WRITE,
    "a filter for those that have its fields",
);

/// The files of a group.
pub(super) const OF_GROUP: &[&Described] = &[&GROUP_ENABLE, &GROUP_FILTER];

const EVENT_ENABLE: Described = file(c"enable", READ_WRITE, "1 or 0: armed or not");
const EVENT_FORMAT: Described = file(c"format", READ, "the fields of its records");
const EVENT_ID: Described = file(c"id", READ, "the number that its records have");
const EVENT_FILTER: Described = file(
    c"filter",
    READ_WRITE,
    "which hits are recorded, such as: count > 4096",
);
const EVENT_TRIGGER: Described = file(
    c"trigger",
    READ_WRITE,
    "what else is done on a hit, see below",
);
const EVENT_FUNCTIONS: Described = file(
    c"functions",
    READ,
    "the functions of an f event, and their hits",
);
const EVENT_HIST: Described = file(c"hist", READ, "what its histograms have counted");
const EVENT_HIST_GRAPH: Described = file(c"hist_graph", READ, "the same as bars");

/// The files of an event.
pub(super) const OF_EVENT: &[&Described] = &[
    &EVENT_ENABLE,
    &EVENT_FORMAT,
    &EVENT_ID,
    &EVENT_FILTER,
    &EVENT_TRIGGER,
    &EVENT_FUNCTIONS,
    &EVENT_HIST,
    &EVENT_HIST_GRAPH,
];

/// The directory `events`, as the registry uses it.
struct EventsDirectory {
    instance: Arc<Instance>,
    events: Arc<Dir>,
}

/// Returns the factory of group directories in `events`.
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
    fn group(&self, name: &CStr) -> Result<Arc<dyn EventGroup>> {
        let directory = Dir::new(name, Some(self.events.clone()))?;
        let members = Members::new(&self.instance, name)?;
        let group = GroupDirectory {
            instance: self.instance.clone(),
            _files: group_files(&directory, &members)?,
            directory,
        };
        let group = Arc::new(group, GFP_KERNEL)?;
        Ok(group)
    }

    fn group_with(&self, name: &CStr, permanent: &Permanent) -> Result<Arc<dyn EventGroup>> {
        let of = OfGroup {
            members: Members::new(&self.instance, name)?,
            permanent: permanent.clone(),
        };
        let group = Arc::new(LateGroup(LateDir::new(name, &self.events, of)?), GFP_KERNEL)?;
        Ok(group)
    }

    fn group_ready(
        &self,
        name: &CStr,
        group: &'static ReadyGroup,
        points: &Arc<Tracepoints>,
    ) -> Result<Arc<dyn EventGroup>> {
        let of = OfReady {
            members: Members::new(&self.instance, name)?,
            group,
            points: points.clone(),
            ready: KBox::pin_init(new_mutex!(Vec::new()), GFP_KERNEL)?,
        };
        let directory = LateDir::new(name, &self.events, of)?;
        let group = Arc::new(ReadyDirectory(directory), GFP_KERNEL)?;
        Ok(group)
    }
}

/// The directory of a group with permanent events, such as system calls: hundreds in each instance,
/// of which few are used. Their directories are made when a task first enters the group's.
struct LateGroup(LateDir<OfGroup>);

/// The directory of a group with ready-made events. Their directories are made when a task first
/// enters the group's, the events on first use.
struct ReadyDirectory(LateDir<OfReady>);

impl EventGroup for ReadyDirectory {
    fn event(&self, event: &Arc<Event>) -> Result<KBox<dyn EventFiles>> {
        let of = self.0.fill();
        match of.member(event.format.name())? {
            Some(member) => {
                member.set_event(Some(event.clone()));
                let files = KBox::new(ReadyFiles(member), GFP_KERNEL)?;
                Ok(files)
            }
            None => event_directory(&of.members.instance, self.0.dir(), event),
        }
    }
}

/// The directory of a ready-made event, while the event exists, or another one of that name is
/// defined. The directory remains when the event is removed.
struct ReadyFiles(Arc<EventMember>);

impl EventFiles for ReadyFiles {
    fn set_event(&self, event: &Arc<Event>) {
        self.0.set_event(Some(event.clone()));
    }
}

impl Drop for ReadyFiles {
    fn drop(&mut self) {
        self.0.set_event(None);
    }
}

/// Makes the contents of a group directory with ready-made events.
struct OfReady {
    members: Arc<Members>,
    group: &'static ReadyGroup,
    points: Arc<Tracepoints>,
    /// The events whose tracepoints the kernel has; empty before the first request.
    ready: Pin<KBox<Mutex<Vec<Arc<EventMember>>>>>,
}

impl OfReady {
    /// Returns the events.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn all(&self) -> Result<Vec<Arc<EventMember>>> {
        let mut ready = self.ready.lock();
        let mut all = Vec::new();
        if ready.is_empty() {
            for row in self.group.events() {
                if self.points.find(row.name.as_bytes())?.is_some() {
                    all.push(EventMember::ready(&self.members.instance, self.group, row)?)?;
                }
            }
            *ready = mem::take(&mut all);
        }
        for member in ready.iter() {
            all.push(member.clone())?;
        }
        Ok(all)
    }

    /// Returns the ready-made event `name`, if there is one.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn member(&self, name: &str) -> Result<Option<Arc<EventMember>>> {
        let mut all = self.all()?.into_iter();
        Ok(all.find(|member| member.ready_name() == Some(name)))
    }
}

impl LateFill for OfReady {
    type Files = GroupEntries;

    fn fill(&self, directory: &Arc<Dir>) -> Result<GroupEntries> {
        let mut made = Vec::new();
        for member in self.all()? {
            let Some(name) = member.ready_name() else {
                continue;
            };
            let name = c_string(name.as_bytes()).ok_or(ENOMEM)?;
            made.push(LateDir::new(&name, directory, OfEvent(member))?)?;
        }
        Ok(GroupEntries {
            _events: made,
            _files: group_files(directory, &self.members)?,
        })
    }

    /// Does nothing: the directories stay.
    fn change(&self, _: &mut GroupEntries, _: &Arc<Dir>) -> Result {
        Ok(())
    }
}

impl EventGroup for LateGroup {
    fn event(&self, event: &Arc<Event>) -> Result<KBox<dyn EventFiles>> {
        let OfGroup { members, .. } = self.0.fill();
        event_directory(&members.instance, self.0.dir(), event)
    }
}

/// Makes the contents of a group directory with permanent events.
struct OfGroup {
    members: Arc<Members>,
    permanent: Permanent,
}

impl LateFill for OfGroup {
    type Files = GroupEntries;

    fn fill(&self, directory: &Arc<Dir>) -> Result<GroupEntries> {
        /// Approximate memory of a directory, in bytes.
        const BYTES: usize = 2048;

        let events = || {
            self.permanent
                .iter()
                .filter(|event| self.members.has(event))
        };
        let count = events().count();
        if !memory::suffices(count.saturating_mul(BYTES)) {
            return Err(ENOMEM);
        }
        let members = &self.members;
        let mut made = Vec::with_capacity(count)?;
        for event in events() {
            let member = EventMember::new(&members.instance, event)?;
            made.push(LateDir::new(
                &event.format.name,
                directory,
                OfEvent(member),
            )?)?;
        }
        Ok(GroupEntries {
            _events: made,
            _files: group_files(directory, members)?,
        })
    }

    /// Does nothing: permanent events are never replaced.
    fn change(&self, _: &mut GroupEntries, _: &Arc<Dir>) -> Result {
        Ok(())
    }
}

/// The contents of a group directory with permanent events.
struct GroupEntries {
    _events: Vec<LateDir<OfEvent>>,
    _files: [TreeFile; 2],
}

/// Makes the files of a group.
fn group_files(directory: &Arc<Dir>, members: &Arc<Members>) -> Result<[TreeFile; 2]> {
    Ok([
        GROUP_ENABLE.text(directory, &enable::OF_GROUP, members)?,
        GROUP_FILTER.text(directory, &group_filter::FILE, members)?,
    ])
}

/// The directory of a group of defined events.
struct GroupDirectory {
    instance: Arc<Instance>,
    directory: Arc<Dir>,
    _files: [TreeFile; 2],
}

impl EventGroup for GroupDirectory {
    fn event(&self, event: &Arc<Event>) -> Result<KBox<dyn EventFiles>> {
        event_directory(&self.instance, &self.directory, event)
    }
}

/// Makes the directory of `event` in that of its `group`.
fn event_directory(
    instance: &Arc<Instance>,
    group: &Arc<Dir>,
    event: &Arc<Event>,
) -> Result<KBox<dyn EventFiles>> {
    let member = EventMember::new(instance, event)?;
    let directory = LateDir::new(&event.format.name, group, OfEvent(member))?;
    let directory = KBox::new(EventDirectory(directory), GFP_KERNEL)?;
    Ok(directory)
}

/// Makes the files of an event.
struct OfEvent(Arc<EventMember>);

impl LateFill for OfEvent {
    type Files = EventEntries;

    fn fill(&self, directory: &Arc<Dir>) -> Result<EventEntries> {
        let Self(member) = self;
        let hist = |file: &Described, as_graph| {
            let member = member.clone();
            file.make::<HistFile>(directory, HistData { member, as_graph })
        };
        Ok(EventEntries {
            _files: [
                EVENT_ENABLE.text(directory, &enable::OF_EVENT, member)?,
                EVENT_FORMAT.text(directory, &FORMAT, member)?,
                EVENT_ID.text(directory, &ID, member)?,
                EVENT_FILTER.text(directory, &filter::FILE, member)?,
                EVENT_TRIGGER.text(directory, &trigger::FILE, member)?,
                hist(&EVENT_HIST, false)?,
                hist(&EVENT_HIST_GRAPH, true)?,
            ],
            functions: self.functions(directory)?,
        })
    }

    /// Adds or removes the file `functions`, after the directory was handed to another event.
    fn change(&self, files: &mut EventEntries, directory: &Arc<Dir>) -> Result {
        if self.has_functions() != files.functions.is_some() {
            files.functions = self.functions(directory)?;
        }
        Ok(())
    }
}

impl OfEvent {
    /// Returns whether the event has functions.
    fn has_functions(&self) -> bool {
        let event = self.0.event();
        event.is_some_and(|event| event.format.has_functions)
    }

    /// Makes the file `functions`, if the event has functions.
    fn functions(&self, directory: &Arc<Dir>) -> Result<Option<TreeFile>> {
        let Self(member) = self;
        let make = || EVENT_FUNCTIONS.text(directory, &functions::FILE, member);
        self.has_functions().then(make).transpose()
    }
}

/// The files of an event.
struct EventEntries {
    _files: [TreeFile; 7],
    functions: Option<TreeFile>,
}

struct EventDirectory(LateDir<OfEvent>);

impl EventFiles for EventDirectory {
    fn set_event(&self, event: &Arc<Event>) {
        let OfEvent(member) = self.0.fill();
        let had_functions = self.0.fill().has_functions();
        member.set_event(Some(event.clone()));
        if event.format.has_functions != had_functions {
            self.0.again();
        }
    }
}

/// `events/GROUP/EVENT/format`.
const FORMAT: TextOps<EventMember> = TextOps {
    prepare: Some(make_event),
    ..TextOps::shows(show_format)
};

/// Makes a ready-made event on first use.
fn make_event(member: &Arc<EventMember>) -> Result {
    member.made().map(drop)
}

fn show_format(member: &Arc<EventMember>, out: &mut dyn fmt::Write) -> fmt::Result {
    let event = member.event().ok_or(fmt::Error)?;
    let format = &event.format;
    format::write_format(out, format.name(), format.id, &format.layout)
}

/// `events/GROUP/EVENT/id`.
const ID: TextOps<EventMember> = TextOps {
    prepare: Some(make_event),
    ..TextOps::shows(show_id)
};

fn show_id(member: &Arc<EventMember>, out: &mut dyn fmt::Write) -> fmt::Result {
    let event = member.event().ok_or(fmt::Error)?;
    writeln!(out, "{}", event.id())
}
