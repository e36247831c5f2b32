// SPDX-License-Identifier: GPL-2.0

//! What the registry knows of the instances.
//!
//! An event is defined for all instances; in each it is an [`EventFile`].

mod active_plan;

use super::files::{Files, Permanent, Removed};
use crate::{
    buffer::Buffer,
    engine::{definition::event_names::AwaitedEvents, filter::Filter},
    events::{
        event::Event,
        event_file::{EventFile, InstanceId},
        marks::Marks,
    },
    formats::Formats,
    former_code::FormerCode,
    hit::{
        plan::{Plan, Stacks},
        snapshots::Snapshots,
        tasks::Tasks,
    },
    sys::Vec,
};
use core::{ops::Range, ptr};
use kernel::{prelude::*, sync::Arc};

/// What the registry knows of an instance.
pub(crate) struct InInstance {
    /// The buffer in which events are recorded.
    pub(super) buffer: Arc<Buffer>,
    /// The formats of the events that may be in it.
    pub(super) formats: Arc<Formats>,
    /// What the addresses in them mean.
    pub(crate) former_code: Arc<FormerCode>,
    /// Takes the snapshots of triggers. As its drop takes the readers' lock, it is dropped
    /// without the registry's.
    pub(super) snapshots: Arc<Snapshots>,
    /// The event of what users write into the buffer.
    pub(crate) marks: Arc<Marks>,
    /// The files of the events.
    pub(super) files: Files,
    /// The plan of the events that record all hits.
    recording: Arc<Plan>,
    /// The tasks whose hits count; `None` for all tasks.
    pub(super) tasks: Option<Arc<Tasks>>,
    /// The stacks that are recorded behind each record.
    pub(super) stacks: Stacks,
    /// The events that are enabled once their modules are loaded.
    pub(crate) awaited: AwaitedEvents,
}

impl InInstance {
    /// Makes what the registry knows of an instance with `buffer`, without events.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(buffer: Arc<Buffer>, formats: Arc<Formats>) -> Result<Self> {
        Ok(Self {
            snapshots: Snapshots::new(buffer.clone())?,
            marks: Marks::new(&buffer)?,
            buffer,
            formats,
            former_code: FormerCode::new()?,
            files: Files::new(),
            recording: Plan::recording(None)?,
            tasks: None,
            stacks: Stacks::default(),
            awaited: AwaitedEvents::default(),
        })
    }

    /// Makes a disabled event that records the hits that `filter` accepts.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new_file(&self, filter: Option<Arc<Filter>>) -> Result<Arc<EventFile>> {
        let plan = match filter {
            None => self.recording.clone(),
            filter => Plan::recording(filter)?,
        };
        let plan = plan.of_tasks(self.tasks.as_ref())?;
        let file = EventFile::new(plan)?;
        if self.stacks.are_any() {
            file.set_plan(file.plan_with(self.stacks, |_| {})?);
        }
        Ok(file)
    }
}

/// The instances.
pub(crate) struct Instances {
    /// The instance of the top directory.
    top: InInstance,
    /// The others, by [`InstanceId`] from 1 on.
    others: Vec<Option<InInstance>>,
    /// The plan of the events that no instance needs: their hits are not recorded. An event that
    /// is disarmed may still be hit, as calls that a return probe follows return later.
    off: Arc<Plan>,
    /// The number of changes so far.
    changes: u64,
}

impl Instances {
    /// There is only the instance of the top directory.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(top: InInstance) -> Result<Self> {
        Ok(Self {
            top,
            others: Vec::new(),
            off: Plan::per_instance(Vec::new())?,
            changes: 0,
        })
    }

    /// Returns that of the top directory.
    pub(crate) fn top(&self) -> &InInstance {
        &self.top
    }

    /// Makes `events` those that are defined until the module goes. There is no other instance
    /// than that of the top directory yet.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of creating files; then there are none.
    pub(super) fn make_permanent(&mut self, events: &Permanent) -> Result {
        self.top.files.make_permanent(events)
    }

    /// Returns the events, in the order of their first definition.
    pub(super) fn events(&self) -> impl Iterator<Item = &Arc<Event>> {
        self.top.files.events()
    }

    /// Returns all events that can have triggers in `instance`: the defined ones, and
    /// the one of marks.
    pub(super) fn triggered(&self, instance: InstanceId) -> impl Iterator<Item = &Arc<Event>> {
        let instance = self.get(instance).ok();
        let marks = instance.map(|instance| &instance.marks.event);
        Iterator::chain(self.events(), marks)
    }

    /// Returns whether `event` is defined.
    pub(crate) fn has(&self, event: &Event) -> bool {
        let marks = self.iter();
        let marks = marks.map(|(_, instance)| &instance.marks.event);
        Iterator::chain(self.events(), marks).any(|defined| ptr::eq(&**defined, event))
    }

    /// Returns the instances, that of the top directory first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (InstanceId, &InInstance)> {
        let others = self.others.iter().enumerate();
        let others = others.filter_map(|(index, other)| Some((id(index), other.as_ref()?)));
        Iterator::chain(core::iter::once((InstanceId::TOP, &self.top)), others)
    }

    /// Returns the instances, that of the top directory first, to change them.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut InInstance> {
        let others = self.others.iter_mut().filter_map(Option::as_mut);
        Iterator::chain(core::iter::once(&mut self.top), others)
    }

    /// Returns `instance`.
    ///
    /// # Errors
    ///
    /// `ENODEV` if there is none.
    pub(crate) fn get(&self, instance: InstanceId) -> Result<&InInstance> {
        match instance.0.checked_sub(1) {
            None => Ok(&self.top),
            Some(index) => {
                let other = self.others.get(index).and_then(Option::as_ref);
                other.ok_or(ENODEV)
            }
        }
    }

    /// Returns `instance`, to change it.
    ///
    /// # Errors
    ///
    /// `ENODEV` if there is none.
    pub(crate) fn get_mut(&mut self, instance: InstanceId) -> Result<&mut InInstance> {
        match instance.0.checked_sub(1) {
            None => Ok(&mut self.top),
            Some(index) => {
                let other = self.others.get_mut(index).and_then(Option::as_mut);
                other.ok_or(ENODEV)
            }
        }
    }

    /// Returns the numbers of all instances.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn ids(&self) -> Result<Vec<InstanceId>> {
        let mut ids = Vec::new();
        for (id, _) in self.iter() {
            ids.push(id)?;
        }
        Ok(ids)
    }

    /// Returns the buffers with the formats of the events that may be in them.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn buffers(&self) -> Result<Vec<(Arc<Buffer>, Arc<Formats>)>> {
        let mut buffers = Vec::new();
        for (_, instance) in self.iter() {
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
        for (id, instance) in self.iter() {
            let file = instance.new_file(filter(id)?).map_err(&failed)?;
            while files.len() < id.0 {
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
        for (_, instance) in self.iter() {
            instance.formats.reserve(new, gone)?;
        }
        Ok(())
    }

    /// Adds the format of a new event, for which there is room.
    pub(super) fn add_format(&self, event: &Event) {
        for (_, instance) in self.iter() {
            instance.formats.add(event.format.clone());
        }
    }

    /// Retires the formats of `events`, which were removed.
    pub(super) fn retire_formats(&self, events: &[Arc<Event>]) {
        for (_, instance) in self.iter() {
            for event in events {
                instance.formats.retire(&event.format);
            }
        }
    }

    /// Notes that code has come to `range`, see [`FormerCode::coming`].
    pub(super) fn code_comes(&self, range: Range<u64>) {
        for (_, instance) in self.iter() {
            instance.former_code.coming(range.clone());
        }
    }

    /// Notes that the code at `range` goes, see [`FormerCode::going`].
    pub(super) fn code_goes(&self, range: Range<u64>) {
        for (_, instance) in self.iter() {
            instance.former_code.going(range.clone());
        }
    }

    /// Makes room in `removed` for what [`Files::make`](Files::make) of `new` events
    /// and the removal of `gone` events can remove, in all instances.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn reserve_removed(&self, removed: &mut Removed, new: usize, gone: usize) -> Result {
        let (mut events, mut groups) = (0usize, 0usize);
        for (_, instance) in self.iter() {
            events = events.saturating_add(new).saturating_add(gone);
            let kept = instance.files.group_count();
            groups = groups.saturating_add(kept).saturating_add(new);
        }
        removed.reserve(events, groups)
    }

    /// Returns a number that no instance has, for which there is room.
    pub(super) fn free_id(&mut self) -> Result<InstanceId> {
        if let Some(index) = self.others.iter().position(Option::is_none) {
            return Ok(id(index));
        }
        self.others.push(None)?;
        Ok(id(self.others.len().wrapping_sub(1)))
    }

    /// Makes `instance` the one with the number `id`, which is not that of the top directory, and
    /// returns the former one.
    pub(super) fn set(
        &mut self,
        id: InstanceId,
        instance: Option<InInstance>,
    ) -> Option<InInstance> {
        let slot = self.others.get_mut(id.0.checked_sub(1)?)?;
        core::mem::replace(slot, instance)
    }
}

/// Returns the number of the instance at `index` of the others.
fn id(index: usize) -> InstanceId {
    InstanceId(index.wrapping_add(1))
}
