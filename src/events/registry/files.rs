// SPDX-License-Identifier: GPL-2.0

//! The files of the defined events, and how they change with the set.
//!
//! A change has two steps, so that one which fails for lack of memory has removed
//! nothing: [`Files::make`] creates the new files, [`Files::accept`] cannot fail. Which
//! files an event has is not known here, see [`Directory`].
//!
//! Removing a file waits until no call of its `open` runs, and that of `trigger` takes the
//! registry lock. So what is to be removed goes to [`Removed`], which is dropped with the
//! lock released.

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

/// The directory that holds the groups' directories.
pub(crate) trait Directory: Send + Sync {
    /// Makes the directory of the group `name`, which its drop removes.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of creating files.
    ///
    /// Context: process, may sleep.
    fn group(&self, name: &CStr) -> Result<Arc<dyn EventGroup>>;

    /// Makes the directory of the group `name` with directories of those of the `permanent` events
    /// that are of the group. They may be made later, when they are needed.
    ///
    /// # Errors
    ///
    /// As for [`Directory::group`].
    ///
    /// Context: process, may sleep.
    fn group_with(&self, name: &CStr, permanent: &Permanent) -> Result<Arc<dyn EventGroup>>;

    /// Makes the directory of the group `name` with directories of those of the ready-made events
    /// of `group` whose tracepoints are among `points`. They may be made later.
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

/// Events that are defined until the module goes.
pub(crate) type Permanent = Arc<Vec<Arc<Event>>>;

/// The directory of a group.
pub(crate) trait EventGroup: Send + Sync {
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
pub(crate) struct Defined {
    event: Arc<Event>,
    files: KBox<dyn EventFiles>,
    group: Arc<Named>,
}

/// A group with its directory.
struct Named {
    name: CString,
    directory: Arc<dyn EventGroup>,
    /// The number of its events, without those that are removed, and one more if it has
    /// permanent ones.
    events: AtomicUsize,
}

/// The directories of events and groups that are removed, or whose definition has failed. They
/// exist until this is dropped, and no event may be defined until then.
///
/// Context of the drop: process, may sleep, without the registry lock.
pub(crate) struct Removed {
    /// Dropped before the groups.
    events: Vec<Defined>,
    groups: Vec<Arc<Named>>,
}

impl Removed {
    /// Nothing is removed.
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

    /// Adds an event, for which there is room.
    fn add(&mut self, defined: Defined) {
        defined.group.events.fetch_sub(1, Ordering::Relaxed);
        let _ = self.events.push(defined);
    }
}

/// Events in the order of their first definition. A type of its own keeps the names of functions
/// of its adapters short.
#[derive(Clone)]
pub(crate) struct Events<'a> {
    permanent: slice::Iter<'a, Arc<Event>>,
    defined: slice::Iter<'a, Defined>,
}

impl<'a> Iterator for Events<'a> {
    type Item = &'a Arc<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        let permanent = self.permanent.next();
        permanent.or_else(|| self.defined.next().map(|defined| &defined.event))
    }
}

/// The files of all events.
pub(crate) struct Files {
    /// The permanent events.
    permanent: Option<Permanent>,
    /// One for each other event, in the order of their first definition.
    events: Vec<Defined>,
    groups: Vec<Arc<Named>>,
    /// The directory `events`; `None` before the instance has it, and once the module is
    /// being unloaded.
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

    /// Sets the directory that holds the groups' directories.
    pub(super) fn set_directory(&mut self, directory: Option<Arc<dyn Directory>>) {
        self.directory = directory;
    }

    /// Lets no file be created any more.
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

    /// Returns the events, in the order of their first definition: the permanent ones are the
    /// first.
    pub(super) fn events(&self) -> Events<'_> {
        let permanent = self.permanent.as_deref().map(|events| &events[..]);
        Events {
            permanent: permanent.unwrap_or_default().iter(),
            defined: self.events.iter(),
        }
    }

    /// Returns the permanent events.
    pub(super) fn permanent(&self) -> Option<&Permanent> {
        self.permanent.as_ref()
    }

    /// Creates the groups of `permanent` events, the only ones so far.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `ENODEV` once the module is being unloaded. Then some are left, which are
    /// dropped with this.
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

    /// Creates the groups of the ready-made events that have tracepoints among `points`.
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

    /// Creates the files of `events`, which are new. Pass the result to [`Files::accept`] or
    /// [`Files::discard`]. `removed` has room for what may be removed. While an instance is being
    /// made none are: it gets those of all events with its directory.
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

    /// Moves to `removed` what [`Files::make`] has made.
    pub(super) fn discard(&mut self, made: Vec<Defined>, removed: &mut Removed) {
        for defined in made {
            removed.add(defined);
        }
        self.remove_empty_groups(removed);
    }

    /// Returns the group `name`; makes it if there is none.
    fn group(&mut self, name: &CStr) -> Result<Arc<Named>> {
        let mut groups = self.groups.iter();
        if let Some(known) = groups.find(|group| *group.name == *name) {
            return Ok(known.clone());
        }
        let events = self.directory.clone().ok_or(ENODEV)?;
        self.add_group(name, 0, |name| events.group(name))
    }

    /// Adds the group `name` with so many directories of events, which `make` makes.
    fn add_group(
        &mut self,
        name: &CStr,
        events: usize,
        make: impl FnOnce(&CStr) -> Result<Arc<dyn EventGroup>>,
    ) -> Result<Arc<Named>> {
        self.groups.reserve(1)?;
        let name = CString::try_from(name)?;
        // Nothing fails once the directory is made: it may not be dropped here.
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

    /// Adds `made`, which [`Files::make`] returned.
    pub(super) fn accept(&mut self, made: Vec<Defined>, removed: &mut Removed) {
        for defined in made {
            // `make` has reserved the room.
            let _ = self.events.push(defined);
        }
        self.remove_empty_groups(removed);
    }

    /// Moves the files of the events for which `is_gone` returns true to `removed`, which has room.
    pub(super) fn remove(&mut self, is_gone: impl Fn(&Event) -> bool, removed: &mut Removed) {
        let is_gone = |defined: &Defined| is_gone(&defined.event);
        take_where(&mut self.events, is_gone, |gone| removed.add(gone));
    }

    /// Gives the files of `former` to `event`, which has the same names.
    pub(super) fn hand_over(&mut self, former: &Arc<Event>, event: &Arc<Event>) {
        let mut all = self.events.iter_mut();
        if let Some(defined) = all.find(|defined| Arc::ptr_eq(&defined.event, former)) {
            defined.event = event.clone();
            defined.files.set_event(event);
        }
    }

    /// Moves the groups without events to `removed`, which has room.
    fn remove_empty_groups(&mut self, removed: &mut Removed) {
        let is_empty = |group: &Arc<Named>| group.events.load(Ordering::Relaxed) == 0;
        take_where(&mut self.groups, is_empty, |group| {
            let _ = removed.groups.push(group);
        });
    }
}
