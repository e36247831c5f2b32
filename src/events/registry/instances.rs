// SPDX-License-Identifier: GPL-2.0

//! The registry's part of each instance.
//!
//! An event is defined for all instances; in each of them it has an [`EventFile`].

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

pub(crate) struct InInstance {
    /// The buffer in which events are recorded.
    pub(super) buffer: Arc<Buffer>,
    /// The formats of events that may have records in the buffer.
    pub(super) formats: Arc<Formats>,
    /// Code that was unloaded: an address in an older record may mean it.
    pub(crate) former_code: Arc<FormerCode>,
    /// Takes snapshots for triggers. Its drop takes the readers' lock, so it must not happen under
    /// the registry lock.
    pub(super) snapshots: Arc<Snapshots>,
    /// The event `print`.
    pub(crate) marks: Arc<Marks>,
    /// The directories of the events.
    pub(super) files: Files,
    /// The plan of events that record all hits.
    recording: Arc<Plan>,
    /// The tasks whose hits count; `None` for all tasks.
    pub(super) tasks: Option<Arc<Tasks>>,
    /// The stacks that are recorded behind each record.
    pub(super) stacks: Stacks,
    /// Events that will be enabled when their modules are loaded.
    pub(crate) awaited: AwaitedEvents,
}

impl InInstance {
    /// Makes the registry's part of an instance with `buffer`, without events.
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

    /// Makes a disabled event file with `filter`.
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

pub(crate) struct Instances {
    /// The top directory's instance.
    top: InInstance,
    /// The other instances; index 0 has [`InstanceId`] 1.
    others: Vec<Option<InInstance>>,
    /// The plan of events that no instance needs: records nothing. A disarmed return probe may
    /// still be hit by calls in flight.
    off: Arc<Plan>,
    /// The number of changes of plans so far.
    changes: u64,
}

impl Instances {
    /// Makes the set of instances with `top` only.
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

    /// Returns the top directory's instance.
    pub(crate) fn top(&self) -> &InInstance {
        &self.top
    }

    /// Adds the permanent `events`. Only the top directory's instance exists yet.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of creating files; then nothing is added.
    pub(super) fn make_permanent(&mut self, events: &Permanent) -> Result {
        self.top.files.make_permanent(events)
    }

    /// Returns the events in the order of their first definition.
    pub(super) fn events(&self) -> impl Iterator<Item = &Arc<Event>> {
        self.top.files.events()
    }

    /// Returns all events that can have triggers in `instance`: the defined ones, and `print`.
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

    /// Returns the instances, the top directory's first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (InstanceId, &InInstance)> {
        let others = self.others.iter().enumerate();
        let others = others.filter_map(|(index, other)| Some((id(index), other.as_ref()?)));
        Iterator::chain(core::iter::once((InstanceId::TOP, &self.top)), others)
    }

    /// Like [`Instances::iter`], mutable.
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

    /// Like [`Instances::get`], mutable.
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

    /// Returns the ids of all instances.
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

    /// Returns each buffer with the formats of its records.
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

    /// Makes a disabled event file for each instance; `filter` returns its filter.
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

    /// Reserves memory for formats of `new` events and of `gone` events that are removed.
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

    /// Adds the format of a new event; there is room.
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

    /// Notes new code at `range`, see [`FormerCode::coming`].
    pub(super) fn code_comes(&self, range: Range<u64>) {
        for (_, instance) in self.iter() {
            instance.former_code.coming(range.clone());
        }
    }

    /// Notes that code at `range` is unloaded, see [`FormerCode::going`].
    pub(super) fn code_goes(&self, range: Range<u64>) {
        for (_, instance) in self.iter() {
            instance.former_code.going(range.clone());
        }
    }

    /// Reserves memory in `removed`, in all instances, for the result of [`Files::make`] for `new`
    /// events and the removal of `gone` events.
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

    /// Returns an unused instance id, and reserves memory for it.
    pub(super) fn free_id(&mut self) -> Result<InstanceId> {
        if let Some(index) = self.others.iter().position(Option::is_none) {
            return Ok(id(index));
        }
        self.others.push(None)?;
        Ok(id(self.others.len().wrapping_sub(1)))
    }

    /// Sets or removes the instance with number `id`, which is not the top directory's; returns the
    /// former one.
    pub(super) fn set(
        &mut self,
        id: InstanceId,
        instance: Option<InInstance>,
    ) -> Option<InInstance> {
        let slot = self.others.get_mut(id.0.checked_sub(1)?)?;
        core::mem::replace(slot, instance)
    }
}

/// Returns the id of the instance at `index` of `others`.
fn id(index: usize) -> InstanceId {
    InstanceId(index.wrapping_add(1))
}
