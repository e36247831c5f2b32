// SPDX-License-Identifier: GPL-2.0

//! The files of the defined events, and how they change with the set.
//!
//! A change is made in two steps, so that one which fails for want of memory has
//! taken nothing away: [`Files::make`] makes what is new, [`Files::accept`] cannot
//! fail.

use super::drop_where;
use crate::{
    control::event_files::{EventFiles, Group},
    event::Event,
    kapi::debugfs::Dir,
    probe::Probe,
    sys::Vec,
    tracer::Tracer,
};
use kernel::{prelude::*, sync::Arc};

/// The files of all events.
pub(super) struct Files {
    /// One for each event, in the order of their first definition.
    events: Vec<EventFiles>,
    groups: Vec<Arc<Group>>,
    /// The directory `events`; `None` before the module is loaded, and once it is
    /// being unloaded.
    directory: Option<Arc<Dir>>,
}

impl Files {
    /// No files.
    pub(super) const fn new() -> Self {
        Self {
            events: Vec::new(),
            groups: Vec::new(),
            directory: None,
        }
    }

    /// Sets the directory in which events get theirs.
    pub(super) fn set_directory(&mut self, directory: Option<Arc<Dir>>) {
        self.directory = directory;
    }

    /// Removes all; no more can be made.
    pub(super) fn shut_down(&mut self) {
        self.events.clear();
        self.groups.clear();
        self.directory = None;
    }

    /// The events, in the order of their first definition.
    pub(super) fn events(&self) -> impl Iterator<Item = &Arc<Event>> {
        self.events.iter().map(EventFiles::event)
    }

    /// Makes the files of those events of `probes`, which are new, that need new ones:
    /// one that is defined anew in one write takes over those it has. They are for
    /// [`Files::accept`]; where they are dropped instead,
    /// [`Files::drop_empty_groups`] is to follow.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `ENODEV` once the module is being unloaded.
    pub(super) fn make(
        &mut self,
        tracer: &Arc<Tracer>,
        probes: &[Arc<Probe>],
    ) -> Result<Vec<EventFiles>> {
        let mut made = Vec::new();
        for event in probes.iter().map(|probe| &probe.event) {
            let mut known = Iterator::chain(self.events.iter(), &made);
            if known.any(|files: &EventFiles| is_one(files.event(), event)) {
                continue;
            }
            let group = self.group(tracer, &event.format.group)?;
            made.push(EventFiles::new(tracer, &group, event)?)?;
        }
        self.events.reserve(made.len())?;
        Ok(made)
    }

    /// The group `name`, which is made unless there is one.
    fn group(&mut self, tracer: &Arc<Tracer>, name: &CStr) -> Result<Arc<Group>> {
        let mut groups = self.groups.iter();
        if let Some(known) = groups.find(|group| *group.name == *name) {
            return Ok(known.clone());
        }
        let directory = self.directory.clone().ok_or(ENODEV)?;
        let group = Group::new(tracer, &directory, name)?;
        self.groups.push(group.clone())?;
        Ok(group)
    }

    /// Leaves the files of exactly the events of `probes`, all of which are in `set`:
    /// those there are, and `made`, by [`Files::make`] for what is new among the probes.
    pub(super) fn accept(&mut self, probes: &[Arc<Probe>], set: u64, made: Vec<EventFiles>) {
        let events = || probes.iter().map(|probe| &probe.event);
        let is_other = |files: &&mut EventFiles| !files.event().is_in(set);
        for files in self.events.iter_mut().filter(is_other) {
            if let Some(event) = events().find(|event| is_one(event, files.event())) {
                files.set_event(event);
            }
        }
        drop_where(&mut self.events, |files| !files.event().is_in(set));
        for files in made {
            // There is room.
            let _ = self.events.push(files);
        }
        self.drop_empty_groups();
    }

    /// Removes the directories of groups without events.
    pub(super) fn drop_empty_groups(&mut self) {
        drop_where(&mut self.groups, |group| group.is_empty());
    }
}

/// Whether `event` and `other` are the same event, perhaps defined anew: then it has
/// kept its number.
fn is_one(event: &Event, other: &Event) -> bool {
    event.id() == other.id()
}
