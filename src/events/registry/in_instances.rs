// SPDX-License-Identifier: GPL-2.0

//! How instances come and go, and what a definition changes in each.

use super::{
    draft::Draft,
    files::{Directory, Removed},
    instances::InInstance,
    Registry,
};
use crate::{
    buffer::Buffer,
    events::{
        event::Event,
        event_file::{EventFile, InstanceId},
        marks::Marks,
    },
    formats::Formats,
    former_code::FormerCode,
    hit::{nesting::Nesting, plan::Plan},
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
        instance
            .formats
            .reserve(self.definitions.all_probes().count(), 0)?;
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

    /// Returns, of the top directory, the event of what users write into the buffer, and what
    /// addresses in the buffer mean.
    pub(crate) fn of_top(&self) -> (Arc<Marks>, Arc<FormerCode>) {
        let top = self.instances.top();
        (top.marks.clone(), top.former_code.clone())
    }

    /// Gives the instance `of` the directory that holds the events' directories, with a
    /// directory for each event.
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
        removed: &mut Removed,
    ) -> Result {
        let permanent = self.instances.top().files.permanent().cloned();
        let mut events = Vec::new();
        let count = permanent.as_ref().map_or(0, |events| events.len());
        // Those that are permanent are the first.
        for event in self.events().skip(count) {
            events.push(event.clone())?;
        }
        self.instances.reserve_removed(removed, events.len(), 0)?;
        let files = &mut self.instances.get_mut(of)?.files;
        files.set_directory(Some(directory));
        files.make_ready(self.definitions.points())?;
        if let Some(permanent) = &permanent {
            files.make_permanent(permanent)?;
        }
        let made = files.make(&events, removed)?;
        files.accept(None, made, removed);
        Ok(())
    }

    /// Removes the instance `of`: its events are disabled. The caller drops what is returned,
    /// and with it their files, once it has released the registry lock.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of disarming; then some events may be disabled.
    ///
    /// Context: process, may sleep.
    pub(crate) fn remove_instance(&mut self, of: InstanceId) -> Result<InInstance> {
        self.set_enabled(of, |_| true, false)?;
        let changes = self.instances.without(of)?;
        // Triggers go, and with them what they switch.
        let is_unneeded = |event: &Event| !event.is_needed_besides(of);
        self.set_armed(is_unneeded, false)?;
        self.instances
            .put_in_force(of, changes, &self.definitions)?;
        for event in self.events() {
            event.set_file(of, None);
        }
        // As above.
        let _ = self.link_receivers();
        self.instances.set(of, None).ok_or(ENODEV)
    }

    /// Removes the instance `of`, in which nothing was enabled yet, and no trigger set: for that no
    /// memory is needed. The caller drops what is returned as that of
    /// [`Registry::remove_instance`].
    pub(crate) fn discard_instance(&mut self, of: InstanceId) -> Option<InInstance> {
        for event in self.events() {
            event.set_file(of, None);
        }
        self.instances.set(of, None)
    }

    /// Returns the buffers with the formats of the events that may be in them.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn buffers(&self) -> Result<Vec<(Arc<Buffer>, Arc<Formats>)>> {
        self.instances.buffers()
    }

    /// Returns how many events cause each other.
    pub(crate) fn nesting(&self) -> Arc<Nesting> {
        self.definitions.nesting()
    }

    /// Makes the files of the new events of `draft` in all instances, arms the new probes of
    /// enabled events, and moves to `removed` the files of the events that `draft` removes, of
    /// which there are `gone`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of arming; then nothing has changed.
    pub(super) fn change_files(
        &mut self,
        draft: &Draft,
        gone: usize,
        removed: &mut Removed,
    ) -> Result {
        let mut events = Vec::new();
        for event in draft.added().iter().map(|probe| &probe.event) {
            if !event.has_files() {
                events.push(event.clone())?;
                event.set_has_files();
            }
        }
        self.instances
            .reserve_removed(removed, events.len(), gone)?;
        let mut all = Vec::new();
        all.reserve(self.instances.iter().count())?;
        let mut result = Ok(());
        for instance in self.instances.iter_mut() {
            let made = instance.files.make(&events, removed);
            result = made.and_then(|made| Ok(all.push(made)?));
            if result.is_err() {
                break;
            }
        }
        if let Err(error) = result.and_then(|()| self.arming.arm_new(draft.added())) {
            let mut all = all.into_iter();
            for instance in self.instances.iter_mut() {
                if let Some(made) = all.next() {
                    instance.files.discard(made, removed);
                }
            }
            return Err(error);
        }
        let removing = (gone != 0).then_some(draft);
        let mut all = all.into_iter();
        for instance in self.instances.iter_mut() {
            // Not zipped, as the name of the function that drops both would be too long.
            if let Some(made) = all.next() {
                let files = &mut instance.files;
                files.accept(removing, made, removed);
            }
        }
        Ok(())
    }
}
