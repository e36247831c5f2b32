// SPDX-License-Identifier: GPL-2.0

//! The directories of events, and how they change with the set.
//!
//! A change has two steps, so that one which lacks memory removes nothing: [`Files::make`] creates
//! the new files and may fail, [`Files::accept`] cannot. Which files a directory has is up to the
//! implementation of [`Directory`].
//!
//! Removing a file waits for running calls of its `open`, and that of `trigger` takes the registry
//! lock. So removed files are moved to [`Removed`], which is dropped after the lock is released.

use crate::{
    drop_where::take_where,
    engine::definition::ready::{ReadyGroup, GROUPS},
    events::event::Event,
    kapi::{
        c_string::c_string,
        tracepoint::{self, Tracepoints},
    },
    sys::Vec,
};
use core::{
    slice,
    sync::atomic::{AtomicUsize, Ordering},
};
use kernel::{
    prelude::*,
    str::CString,
    sync::{Arc, UniqueArc},
};

/// The directory `events`.
pub(crate) trait Directory: Send + Sync {
    /// Makes the directory of group `name`. Its drop removes the directory.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of creating files.
    ///
    /// Context: process, may sleep.
    fn group(&self, name: &CStr) -> Result<Arc<dyn EventGroup>>;

    /// Makes the directory of group `name`, with a directory for each of the `permanent` events of
    /// this group. Those may be created on first use.
    ///
    /// # Errors
    ///
    /// As for [`Directory::group`].
    ///
    /// Context: process, may sleep.
    fn group_with(&self, name: &CStr, permanent: &Permanent) -> Result<Arc<dyn EventGroup>>;

    /// Makes the directory of group `name`, with a directory for each ready-made event of `group`
    /// whose tracepoint is in `points`. Those may be created on first use.
    ///
    /// # Errors
    ///
    /// As for [`Directory::group`].
    ///
    /// Context: process, may sleep.
    fn group_ready(
        &self,
        name: &CStr,
        group: &'static ReadyGroup,
        points: &Arc<Tracepoints>,
    ) -> Result<Arc<dyn EventGroup>>;
}

/// The events of system calls, which exist until the module is unloaded.
pub(crate) type Permanent = Arc<Vec<Arc<Event>>>;

/// The directory of a group.
pub(crate) trait EventGroup: Send + Sync {
    /// Makes the directory of `event` in the group. Its drop removes the directory, and must
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
    /// Makes this the directory of `event`, which has the same names. Files that are open switch to
    /// it, too.
    fn set_event(&self, event: &Arc<Event>);
}

/// An event with its directory.
pub(crate) struct Defined {
    event: Arc<Event>,
    files: KBox<dyn EventFiles>,
    group: Arc<Named>,
}

/// A group with its directory.
struct Named {
    name: CString,
    directory: Arc<dyn EventGroup>,
    /// The number of its remaining events; one more if it has permanent events.
    events: AtomicUsize,
}

/// Removed directories of events and groups, or the directories of a failed write. No event may be
/// defined before this is dropped.
///
/// Context of the drop: process, may sleep, without the registry lock.
pub(crate) struct Removed {
    /// Dropped before the groups.
    events: Vec<Defined>,
    groups: Vec<Arc<Named>>,
}

impl Removed {
    /// Makes an empty one.
    pub(crate) const fn new() -> Self {
        Self {
            events: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// Makes room for `events` and `groups`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn reserve(&mut self, events: usize, groups: usize) -> Result {
        self.events.reserve(events)?;
        Ok(self.groups.reserve(groups)?)
    }

    /// Adds an event; there is room.
    fn add(&mut self, defined: Defined) {
        defined.group.events.fetch_sub(1, Ordering::Relaxed);
        let _ = self.events.push(defined);
    }
}

/// Iterates over events in the order of their first definition. A named type keeps symbol names
/// short.
#[derive(Clone)]
pub(crate) struct EventIter<'a> {
    permanent: slice::Iter<'a, Arc<Event>>,
    defined: slice::Iter<'a, Defined>,
}

impl<'a> Iterator for EventIter<'a> {
    type Item = &'a Arc<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        let permanent = self.permanent.next();
        permanent.or_else(|| self.defined.next().map(|defined| &defined.event))
    }
}

/// The directories of all events in an instance.
pub(crate) struct Files {
    /// The permanent events.
    permanent: Option<Permanent>,
    /// The other events with their directories, in the order of their first definition.
    events: Vec<Defined>,
    groups: Vec<Arc<Named>>,
    /// The directory `events`; `None` before the instance has one, and while the module is
    /// unloaded.
    directory: Option<Arc<dyn Directory>>,
    /// Whether the module is being unloaded.
    has_ended: bool,
}

impl Files {
    /// Makes an empty set of files.
    pub(super) const fn new() -> Self {
        Self {
            permanent: None,
            events: Vec::new(),
            groups: Vec::new(),
            directory: None,
            has_ended: false,
        }
    }

    /// Sets the directory `events`.
    pub(super) fn set_directory(&mut self, directory: Option<Arc<dyn Directory>>) {
        self.directory = directory;
    }

    /// Refuses the creation of further files.
    pub(super) fn shut_down(&mut self) {
        self.directory = None;
        self.has_ended = true;
    }

    /// Returns the number of groups with a directory.
    pub(super) fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// Returns whether there are no directories.
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.groups.is_empty()
    }

    /// Returns the events in the order of their first definition; the permanent ones come first.
    pub(super) fn events(&self) -> EventIter<'_> {
        let permanent = self.permanent.as_deref().map(|events| &events[..]);
        EventIter {
            permanent: permanent.unwrap_or_default().iter(),
            defined: self.events.iter(),
        }
    }

    /// Returns the permanent events.
    pub(super) fn permanent(&self) -> Option<&Permanent> {
        self.permanent.as_ref()
    }

    /// Creates the groups of `permanent` events, before any other event exists.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `ENODEV` while the module is unloaded. The groups created so far are removed when
    /// this is dropped.
    pub(super) fn make_permanent(&mut self, permanent: &Permanent) -> Result {
        for event in permanent.iter() {
            let name = &event.format.group;
            if self.groups.iter().any(|group| *group.name == **name) {
                continue;
            }
            let events = self.directory.clone().ok_or(ENODEV)?;
            self.add_group(name, 1, |name| events.group_with(name, permanent))?;
        }
        self.permanent = Some(permanent.clone());
        Ok(())
    }

    /// Creates the groups of the ready-made events whose tracepoints are in `points`.
    ///
    /// # Errors
    ///
    /// As for [`Files::make_permanent`].
    pub(super) fn make_ready(&mut self, points: &Arc<Tracepoints>) -> Result {
        if tracepoint::support().is_err() {
            return Ok(());
        }
        for group in GROUPS {
            let mut is_any = false;
            for row in group.events() {
                is_any = is_any || points.find(row.name.as_bytes())?.is_some();
            }
            if is_any {
                let events = self.directory.clone().ok_or(ENODEV)?;
                let name = c_string(group.name.as_bytes()).ok_or(ENOMEM)?;
                self.add_group(&name, 1, |name| events.group_ready(name, group, points))?;
            }
        }
        Ok(())
    }

    /// Creates the directories of new `events`. Pass the result to [`Files::accept`] or
    /// [`Files::discard`]; `removed` must have room for it. While an instance is being made,
    /// creates none: [`Registry::set_directory`] creates them later.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `ENODEV` once the module is being unloaded.
    pub(super) fn make(
        &mut self,
        events: &[Arc<Event>],
        removed: &mut Removed,
    ) -> Result<Vec<Defined>> {
        let mut made = Vec::new();
        if self.directory.is_none() && !self.has_ended {
            return Ok(made);
        }
        made.reserve(events.len())?;
        self.events.reserve(events.len())?;
        for event in events {
            match self.define(event) {
                Ok(defined) => made.push(defined)?,
                Err(error) => {
                    self.discard(made, removed);
                    return Err(error);
                }
            }
        }
        Ok(made)
    }

    /// Creates the directory of `event`.
    fn define(&mut self, event: &Arc<Event>) -> Result<Defined> {
        let group = self.group(&event.format.group)?;
        let files = group.directory.event(event)?;
        group.events.fetch_add(1, Ordering::Relaxed);
        Ok(Defined {
            event: event.clone(),
            files,
            group,
        })
    }

    /// Moves the result of [`Files::make`] to `removed`.
    pub(super) fn discard(&mut self, made: Vec<Defined>, removed: &mut Removed) {
        for defined in made {
            removed.add(defined);
        }
        self.remove_empty_groups(removed);
    }

    /// Returns group `name`, which is created if needed.
    fn group(&mut self, name: &CStr) -> Result<Arc<Named>> {
        let mut groups = self.groups.iter();
        if let Some(known) = groups.find(|group| *group.name == *name) {
            return Ok(known.clone());
        }
        let events = self.directory.clone().ok_or(ENODEV)?;
        self.add_group(name, 0, |name| events.group(name))
    }

    /// Adds group `name`, which `make` creates with directories of `events` events.
    fn add_group(
        &mut self,
        name: &CStr,
        events: usize,
        make: impl FnOnce(&CStr) -> Result<Arc<dyn EventGroup>>,
    ) -> Result<Arc<Named>> {
        self.groups.reserve(1)?;
        let name = CString::try_from(name)?;
        // Allocate first: the directory may not be dropped here.
        let room = UniqueArc::<Named>::new_uninit(GFP_KERNEL)?;
        let directory = make(&name)?;
        let group: Arc<Named> = room
            .write(Named {
                name,
                directory,
                events: AtomicUsize::new(events),
            })
            .into();
        // There is room.
        let _ = self.groups.push(group.clone());
        Ok(group)
    }

    /// Adds the result of [`Files::make`].
    pub(super) fn accept(&mut self, made: Vec<Defined>, removed: &mut Removed) {
        for defined in made {
            // `make` has reserved the memory.
            let _ = self.events.push(defined);
        }
        self.remove_empty_groups(removed);
    }

    /// Moves the directories of events that `is_gone` selects to `removed`, which has room.
    pub(super) fn remove(&mut self, is_gone: impl Fn(&Event) -> bool, removed: &mut Removed) {
        let is_gone = |defined: &Defined| is_gone(&defined.event);
        take_where(&mut self.events, is_gone, |gone| removed.add(gone));
    }

    /// Hands the directory of `former` to `event`, which has the same names.
    pub(super) fn hand_over(&mut self, former: &Arc<Event>, event: &Arc<Event>) {
        let mut all = self.events.iter_mut();
        if let Some(defined) = all.find(|defined| Arc::ptr_eq(&defined.event, former)) {
            defined.event = event.clone();
            defined.files.set_event(event);
        }
    }

    /// Moves groups without events to `removed`, which has room.
    fn remove_empty_groups(&mut self, removed: &mut Removed) {
        let is_empty = |group: &Arc<Named>| group.events.load(Ordering::Relaxed) == 0;
        take_where(&mut self.groups, is_empty, |group| {
            let _ = removed.groups.push(group);
        });
    }
}
