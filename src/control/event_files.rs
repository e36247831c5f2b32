// SPDX-License-Identifier: GPL-2.0

//! The directories below `events`: of groups and of events.
//!
//! Nothing here takes the registry's lock in `open`, see [`crate::tracer`].

use super::{
    filter::FilterFile,
    group_filter::GroupFilter,
    switch::{Switch, Switched},
    text::{Show, TextFile},
    trigger::TriggerFile,
    READ, READ_WRITE,
};
use crate::{
    engine::format,
    event::Event,
    kapi::debugfs::{Dir, Entry},
    sys::Vec,
    tracer::Tracer,
};
use core::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering},
};
use kernel::{
    new_mutex,
    prelude::*,
    str::CString,
    sync::{Arc, Mutex},
};

/// The directory of a group; removed when its last event is gone.
pub(crate) struct Group {
    /// Its name.
    pub(crate) name: CString,
    directory: Arc<Dir>,
    /// How many events have their directories in it.
    events: AtomicUsize,
    _enable: Entry<Switch<EnableGroup>>,
    _filter: Entry<GroupFilter>,
}

impl Group {
    /// Makes the directory of the group `name` in `events`.
    ///
    /// # Errors
    ///
    /// As for [`Dir::new`] and [`Entry::new`].
    pub(crate) fn new(tracer: &Arc<Tracer>, events: &Arc<Dir>, name: &CStr) -> Result<Arc<Self>> {
        let directory = Dir::new(name, Some(events.clone()))?;
        let members = Members::new(tracer, name)?;
        let enable = Entry::new(c"enable", READ_WRITE, &directory, members.clone())?;
        let filter = Entry::new(c"filter", READ_WRITE, &directory, members)?;
        Ok(Arc::new(
            Self {
                name: CString::try_from(name)?,
                directory,
                events: AtomicUsize::new(0),
                _enable: enable,
                _filter: filter,
            },
            GFP_KERNEL,
        )?)
    }

    /// Whether no event has its directory in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.load(Ordering::Relaxed) == 0
    }
}

/// The group of an event that has its directory there.
struct InGroup(Arc<Group>);

impl InGroup {
    fn new(group: Arc<Group>) -> Self {
        group.events.fetch_add(1, Ordering::Relaxed);
        Self(group)
    }
}

impl Drop for InGroup {
    fn drop(&mut self) {
        self.0.events.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The directory of an event; removed when dropped.
pub(crate) struct EventFiles {
    event: Arc<Event>,
    member: Arc<Member>,
    _enable: Entry<Switch<EnableEvent>>,
    _format: Entry<TextFile<FormatFile>>,
    _id: Entry<TextFile<IdFile>>,
    _filter: Entry<FilterFile>,
    _trigger: Entry<TriggerFile>,
    _group: InGroup,
}

impl EventFiles {
    /// Makes the directory of `event` in that of its group.
    ///
    /// # Errors
    ///
    /// As for [`Dir::new`] and [`Entry::new`].
    pub(crate) fn new(
        tracer: &Arc<Tracer>,
        group: &Arc<Group>,
        event: &Arc<Event>,
    ) -> Result<Self> {
        let directory = Dir::new(&event.format.name, Some(group.directory.clone()))?;
        let member = Member::new(tracer, event)?;
        Ok(Self {
            event: event.clone(),
            _enable: Entry::new(c"enable", READ_WRITE, &directory, member.clone())?,
            _format: Entry::new(c"format", READ, &directory, member.clone())?,
            _id: Entry::new(c"id", READ, &directory, member.clone())?,
            _filter: Entry::new(c"filter", READ_WRITE, &directory, member.clone())?,
            _trigger: Entry::new(c"trigger", READ_WRITE, &directory, member.clone())?,
            _group: InGroup::new(group.clone()),
            member,
        })
    }

    /// The event.
    pub(crate) fn event(&self) -> &Arc<Event> {
        &self.event
    }

    /// Makes them the files of `event`, which has the same names; those that are
    /// open, too.
    pub(crate) fn set_event(&mut self, event: &Arc<Event>) {
        self.event = event.clone();
        self.member.set_event(event.clone());
    }
}

/// An event, for its files.
#[pin_data]
pub(crate) struct Member {
    /// Whose event it is.
    pub(crate) tracer: Arc<Tracer>,
    #[pin]
    event: Mutex<Arc<Event>>,
}

impl Member {
    fn new(tracer: &Arc<Tracer>, event: &Arc<Event>) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                tracer: tracer.clone(),
                event <- new_mutex!(event.clone()),
            }),
            GFP_KERNEL,
        )
    }

    /// The event. It may be defined no more, or anew a moment later, unless the
    /// registry is held.
    pub(crate) fn event(&self) -> Arc<Event> {
        self.event.lock().clone()
    }

    fn set_event(&self, event: Arc<Event>) {
        let before = core::mem::replace(&mut *self.event.lock(), event);
        // Dropped with the lock released.
        drop(before);
    }
}

/// A group, for its files.
#[pin_data]
pub(crate) struct Members {
    /// Whose events they are.
    pub(crate) tracer: Arc<Tracer>,
    group: CString,
    /// What `filter` shows.
    #[pin]
    pub(crate) filter: Mutex<Option<Vec<u8>>>,
}

impl Members {
    fn new(tracer: &Arc<Tracer>, group: &CStr) -> Result<Arc<Self>> {
        let group = CString::try_from(group)?;
        Arc::pin_init(
            pin_init!(Self {
                tracer: tracer.clone(),
                group,
                filter <- new_mutex!(None),
            }),
            GFP_KERNEL,
        )
    }

    /// Whether `event` is one of them.
    pub(crate) fn has(&self, event: &Event) -> bool {
        *event.format.group == *self.group
    }
}

/// `events/GROUP/EVENT/enable`.
pub(crate) struct EnableEvent;

impl Switched for EnableEvent {
    type Data = Member;

    fn state(member: &Arc<Member>) -> u8 {
        state(core::iter::once(&member.event()))
    }

    fn set(member: &Arc<Member>, on: bool) -> Result {
        let registry = member.tracer.registry.lock();
        let event = member.event();
        if !registry.has(&event) {
            return Err(ENODEV);
        }
        registry.set_enabled(|other| other.id() == event.id(), on)
    }
}

/// `events/GROUP/enable`.
pub(crate) struct EnableGroup;

impl Switched for EnableGroup {
    type Data = Members;

    fn state(members: &Arc<Members>) -> u8 {
        let registry = members.tracer.registry.lock();
        state(registry.events().filter(|event| members.has(event)))
    }

    fn set(members: &Arc<Members>, on: bool) -> Result {
        let registry = members.tracer.registry.lock();
        registry.set_enabled(|event| members.has(event), on)
    }
}

/// `events/enable`.
pub(crate) struct EnableAll;

impl Switched for EnableAll {
    type Data = Tracer;

    fn state(tracer: &Arc<Tracer>) -> u8 {
        state(tracer.registry.lock().events())
    }

    fn set(tracer: &Arc<Tracer>, on: bool) -> Result {
        tracer.registry.lock().set_enabled(|_| true, on)
    }
}

/// One character for whether `events` are enabled.
fn state<'a>(events: impl Iterator<Item = &'a Arc<Event>>) -> u8 {
    let (mut on, mut off) = (false, false);
    for event in events {
        if event.is_enabled() {
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
        format::write_format(out, format.name(), format.id, format.program.layout())
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
