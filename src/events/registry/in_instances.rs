// SPDX-License-Identifier: GPL-2.0

//! How instances come and go, and what a definition changes in each.

use super::{draft::Draft, files::Directory, instances::InInstance, set::Set, Registry};
use crate::{
    buffer::{now_by, Buffer},
    engine::filter::Filter,
    events::{
        event::Event,
        event_file::{EventFile, InstanceId},
        formats::Formats,
        marks::Marks,
    },
    hit::plan::Plan,
    sys::Vec,
};
use kernel::{prelude::*, sync::Arc};

impl Registry {
    /// Adds `instance`, in which all events are disabled. Returns its number.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn add_instance(&mut self, instance: InInstance) -> Result<InstanceId> {
        let of = self.instances.free_id()?;
        instance.marks.put_in(of)?;
        let events = self.events().count();
        instance.formats.reserve(self.probe_count(), 0)?;
        let mut files = Vec::new();
        files.reserve(events)?;
        let plan = Plan::recording(None)?;
        for event in self.events() {
            event.reserve_file(of)?;
            files.push(EventFile::new(plan.clone())?)?;
        }
        for (event, file) in self.events().zip(files) {
            event.set_file(of, Some(file));
        }
        for event in self.events() {
            instance.formats.add(event.format.clone());
        }
        self.instances.set(of, Some(instance));
        Ok(of)
    }

    /// Returns the event of what users write into the buffer of the top directory.
    pub(crate) fn top_marks(&self) -> Arc<Marks> {
        self.instances.top.marks.clone()
    }

    /// Returns the numbers of all instances.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn instance_ids(&self) -> Result<Vec<InstanceId>> {
        let mut ids = Vec::new();
        for (of, _) in self.instances.iter() {
            ids.push(of)?;
        }
        Ok(ids)
    }

    fn probe_count(&self) -> usize {
        self.all_probes().count()
    }

    /// Gives the instance `of` the directory that holds the events' directories, with a
    /// directory for each event. Without it no event can be defined.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of creating files.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_directory(
        &mut self,
        of: InstanceId,
        directory: Arc<dyn Directory>,
    ) -> Result {
        let mut events = Vec::new();
        for event in self.events() {
            events.push(event.clone())?;
        }
        let files = &mut self.instances.get_mut(of)?.files;
        files.set_directory(Some(directory));
        let made = files.make(&events)?;
        files.accept(&Set::new(), None, made);
        Ok(())
    }

    /// Removes the instance `of`: its events are disabled, and their files removed. The caller
    /// drops what is returned once it has released the registry lock.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of disarming; then some events may be disabled.
    ///
    /// Context: process, may sleep.
    pub(crate) fn remove_instance(&mut self, of: InstanceId) -> Result<InInstance> {
        self.set_enabled(of, |_| true, false)?;
        let changes = self.without(of)?;
        // Triggers go, and with them what they switch.
        let is_unneeded = |event: &Event| !event.is_needed_besides(of);
        self.set_armed(is_unneeded, false)?;
        self.put_in_force(of, changes)?;
        for event in self.events() {
            event.set_file(of, None);
        }
        let mut removed = self.instances.set(of, None).ok_or(ENODEV)?;
        removed.files.shut_down();
        Ok(removed)
    }

    /// Returns the buffers with the formats of the events that may be in them.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn buffers(&self) -> Result<Vec<(Arc<Buffer>, Arc<Formats>)>> {
        let mut buffers = Vec::new();
        for (_, instance) in self.instances.iter() {
            buffers.push((instance.buffer.clone(), instance.formats.clone()))?;
        }
        Ok(buffers)
    }

    /// Makes a disabled event for each instance. `filter` returns the filter there.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of `filter`.
    pub(super) fn new_files<E>(
        &self,
        mut filter: impl FnMut(InstanceId) -> Result<Option<Arc<Filter>>, E>,
        failed: impl Fn(Error) -> E,
    ) -> Result<Vec<Option<Arc<EventFile>>>, E> {
        let mut files = Vec::new();
        for (of, instance) in self.instances.iter() {
            let file = instance.new_file(filter(of)?).map_err(&failed)?;
            while files.len() < of.0 {
                files.push(None).map_err(|error| failed(error.into()))?;
            }
            let added = files.push(Some(file));
            added.map_err(|error| failed(error.into()))?;
        }
        Ok(files)
    }

    /// Makes room for the formats of `new` events, and of `gone` events that are removed.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn reserve_formats(&self, new: usize, gone: usize) -> Result {
        for (_, instance) in self.instances.iter() {
            instance.formats.reserve(new, gone)?;
        }
        Ok(())
    }

    /// Adds the formats of the new events of `probes`, for which there is room. `new` is the
    /// number of the set of these.
    pub(super) fn add_formats(&self, probes: &Set, new: u64) {
        for event in probes.iter().map(|probe| &probe.event) {
            if event.is_new() && !event.is_in(new) {
                event.put_in(new);
                self.add_format(event);
            }
        }
    }

    /// Adds the format of a new event, for which there is room.
    pub(super) fn add_format(&self, event: &Event) {
        for (_, instance) in self.instances.iter() {
            instance.formats.add(event.format.clone());
        }
    }

    /// Retires the formats of `events`, which the write with the number `write` has removed.
    /// From now on they record nothing more, and new events have recorded nothing yet.
    pub(super) fn retire_formats(&self, events: &[Arc<Event>], write: u64) {
        for (_, instance) in self.instances.iter() {
            let now = now_by(instance.buffer.clock());
            for event in events {
                let goes_on = event.is_replaced_in(write);
                let until = if goes_on { now } else { u64::MAX };
                instance.formats.retire(&event.format, until);
            }
        }
    }

    /// Makes the files of the new events of `draft` in all instances, arms the new probes of
    /// enabled events, and removes the files of the events that `draft` removes, if `removes`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of arming; then nothing has changed.
    pub(super) fn change_files(&mut self, draft: &Draft, removes: bool) -> Result {
        let mut events = Vec::new();
        for event in draft.added().iter().map(|probe| &probe.event) {
            if !event.has_files() {
                events.push(event.clone())?;
                event.set_has_files();
            }
        }
        let mut all = Vec::new();
        let mut result = Ok(());
        for instance in self.instances.iter_mut() {
            let made = instance.files.make(&events);
            result = made.and_then(|made| Ok(all.push(made)?));
            if result.is_err() {
                break;
            }
        }
        if let Err(error) = result.and_then(|()| self.arm(draft.added())) {
            drop(all);
            for instance in self.instances.iter_mut() {
                instance.files.drop_empty_groups();
            }
            return Err(error);
        }
        let removed_in = removes.then_some(draft.write());
        for (instance, made) in self.instances.iter_mut().zip(all) {
            instance.files.accept(draft.added(), removed_in, made);
        }
        Ok(())
    }
}
