// SPDX-License-Identifier: GPL-2.0

//! The files of the defined events, and how they change with the set.
//!
//! A change has two steps, so that one which fails for lack of memory has removed
//! nothing: [`Files::make`] creates the new files, [`Files::accept`] cannot fail. Which
//! files an event has is not known here, see [`Directory`].

use super::set::Set;
use crate::{
    events::{drop_where::drop_where, event::Event},
    sys::Vec,
};
use core::sync::atomic::{AtomicUsize, Ordering};
use kernel::{prelude::*, str::CString, sync::Arc};

/// The directory that holds the groups' directories.
pub(crate) trait Directory: Send + Sync {
    /// Makes the directory of the group `name`, which its drop removes.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of creating files.
    ///
    /// Context: process, may sleep.
    fn group(&self, name: &CStr) -> Result<Arc<dyn Group>>;
}

/// The directory of a group.
pub(crate) trait Group: Send + Sync {
    /// Makes the directory of `event` in it, which its drop removes. The drop must
    /// precede that of the group.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of creating files.
    ///
    /// Context: process, may sleep.
    fn event(&self, event: &Arc<Event>) -> Result<KBox<dyn EventFiles>>;
}

/// The directory of an event.
pub(crate) trait EventFiles: Send {
    /// Makes it the directory of `event`, which has the same names; open files are
    /// switched, too.
    fn set_event(&self, event: &Arc<Event>);
}

/// An event with its directory.
pub(super) struct Defined {
    event: Arc<Event>,
    files: KBox<dyn EventFiles>,
    _group: InGroup,
}

/// A group with its directory.
struct Named {
    name: CString,
    directory: Arc<dyn Group>,
    /// The number of events that have their directories in it.
    events: AtomicUsize,
}

/// Counts an event's directory in its group.
struct InGroup(Arc<Named>);

impl InGroup {
    fn new(group: Arc<Named>) -> Self {
        group.events.fetch_add(1, Ordering::Relaxed);
        Self(group)
    }
}

impl Drop for InGroup {
    fn drop(&mut self) {
        self.0.events.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The files of all events.
pub(super) struct Files {
    /// One for each event, in the order of their first definition.
    events: Vec<Defined>,
    groups: Vec<Arc<Named>>,
    /// The directory `events`; `None` before the module is loaded, and once it is
    /// being unloaded.
    directory: Option<Arc<dyn Directory>>,
}

impl Files {
    /// Makes an empty set of files.
    pub(super) const fn new() -> Self {
        Self {
            events: Vec::new(),
            groups: Vec::new(),
            directory: None,
        }
    }

    /// Sets the directory that holds the groups' directories.
    pub(super) fn set_directory(&mut self, directory: Option<Arc<dyn Directory>>) {
        self.directory = directory;
    }

    /// Removes all files; none can be created afterwards.
    pub(super) fn shut_down(&mut self) {
        self.events.clear();
        self.groups.clear();
        self.directory = None;
    }

    /// Returns the events, in the order of their first definition.
    pub(super) fn events(&self) -> impl Iterator<Item = &Arc<Event>> {
        self.events.iter().map(|defined| &defined.event)
    }

    /// Creates the files of `events`, which are new. Pass the result to [`Files::accept`]; if
    /// it is dropped instead, call [`Files::drop_empty_groups`].
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `ENODEV` once the module is being unloaded.
    pub(super) fn make(&mut self, events: &[Arc<Event>]) -> Result<Vec<Defined>> {
        let mut made = Vec::new();
        for event in events {
            let group = self.group(&event.format.group)?;
            made.push(Defined {
                event: event.clone(),
                files: group.directory.event(event)?,
                _group: InGroup::new(group),
            })?;
        }
        self.events.reserve(made.len())?;
        Ok(made)
    }

    /// Returns the group `name`; makes it if there is none.
    fn group(&mut self, name: &CStr) -> Result<Arc<Named>> {
        let mut groups = self.groups.iter();
        if let Some(known) = groups.find(|group| *group.name == *name) {
            return Ok(known.clone());
        }
        let events = self.directory.as_ref().ok_or(ENODEV)?;
        let directory = events.group(name)?;
        let name = CString::try_from(name)?;
        let named = Named {
            name,
            directory,
            events: AtomicUsize::new(0),
        };
        let group = Arc::new(named, GFP_KERNEL)?;
        self.groups.push(group.clone())?;
        Ok(group)
    }

    /// Adds `made`, which [`Files::make`] returned for `added`, the new probes. If events
    /// were removed in the write with the number `removed_in`, removes their files, or
    /// leaves them to the events that replace these.
    pub(super) fn accept(&mut self, added: &Set, removed_in: Option<u64>, made: Vec<Defined>) {
        if let Some(write) = removed_in {
            if added.len() != 0 {
                self.hand_over(added, write);
            }
            drop_where(&mut self.events, |defined| {
                defined.event.is_removed_in(write)
            });
        }
        for defined in made {
            // `make` has reserved the room.
            let _ = self.events.push(defined);
        }
        self.drop_empty_groups();
    }

    /// Gives the files of the events that were replaced in the write with the number
    /// `write` to those events of `added` that replace them.
    fn hand_over(&mut self, added: &Set, write: u64) {
        for defined in self.events.iter_mut() {
            let event = &defined.event;
            if !event.is_removed_in(write) || !event.is_replaced_in(write) {
                continue;
            }
            let mut events = added.iter().map(|probe| &probe.event);
            if let Some(event) = events.find(|event| is_one(event, &defined.event)) {
                defined.event = event.clone();
                defined.files.set_event(event);
            }
        }
    }

    /// Removes the directories of groups without events.
    pub(super) fn drop_empty_groups(&mut self) {
        drop_where(&mut self.groups, |group| {
            group.events.load(Ordering::Relaxed) == 0
        });
    }
}

/// Returns whether `event` and `other` are the same event. A redefined event keeps its
/// id.
fn is_one(event: &Event, other: &Event) -> bool {
    event.id() == other.id()
}
