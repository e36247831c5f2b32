// SPDX-License-Identifier: GPL-2.0

//! What the registry knows of the instances.
//!
//! An event is defined for all instances; in each it is an [`EventFile`].

use super::files::Files;
use crate::{
    buffer::Buffer,
    engine::filter::Filter,
    events::{
        event_file::{EventFile, InstanceId},
        formats::Formats,
        marks::Marks,
    },
    hit::{
        plan::{Plan, Stacks},
        snapshots::Snapshots,
        tasks::Tasks,
    },
    sys::Vec,
};
use kernel::{prelude::*, sync::Arc};

/// What the registry knows of an instance.
pub(crate) struct InInstance {
    /// The buffer in which events are recorded.
    pub(super) buffer: Arc<Buffer>,
    /// The formats of the events that may be in it.
    pub(super) formats: Arc<Formats>,
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
            files: Files::new(),
            recording: Plan::recording(None)?,
            tasks: None,
            stacks: Stacks::default(),
        })
    }

    /// Makes a disabled event that records the hits that `filter` accepts.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new_file(&self, filter: Option<Arc<Filter>>) -> Result<Arc<EventFile>> {
        let plan = match filter.clone() {
            None => self.recording.clone(),
            filter => Plan::recording(filter)?,
        };
        let plan = plan.of_tasks(self.tasks.as_ref())?;
        let file = EventFile::new(plan)?;
        if self.stacks.are_any() {
            file.set_plan(file.plan_with(Vec::new(), filter, self.stacks)?);
        }
        Ok(file)
    }
}

/// The instances.
pub(super) struct Instances {
    /// The instance of the top directory.
    pub(super) top: InInstance,
    /// The others, by [`InstanceId`] from 1 on.
    others: Vec<Option<InInstance>>,
}

impl Instances {
    /// There is only the instance of the top directory.
    pub(super) const fn new(top: InInstance) -> Self {
        Self {
            top,
            others: Vec::new(),
        }
    }

    /// Returns the instances, that of the top directory first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (InstanceId, &InInstance)> {
        let others = self.others.iter().enumerate();
        let others = others.filter_map(|(index, other)| Some((id(index), other.as_ref()?)));
        Iterator::chain(core::iter::once((InstanceId::TOP, &self.top)), others)
    }

    /// As [`Instances::iter`], to change them.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut InInstance> {
        let others = self.others.iter_mut().filter_map(Option::as_mut);
        Iterator::chain(core::iter::once(&mut self.top), others)
    }

    /// Returns the instance `of`.
    ///
    /// # Errors
    ///
    /// `ENODEV` if there is none.
    pub(super) fn get(&self, of: InstanceId) -> Result<&InInstance> {
        match of.0.checked_sub(1) {
            None => Ok(&self.top),
            Some(index) => {
                let other = self.others.get(index).and_then(Option::as_ref);
                other.ok_or(ENODEV)
            }
        }
    }

    /// As [`Instances::get`], to change it.
    ///
    /// # Errors
    ///
    /// `ENODEV` if there is none.
    pub(super) fn get_mut(&mut self, of: InstanceId) -> Result<&mut InInstance> {
        match of.0.checked_sub(1) {
            None => Ok(&mut self.top),
            Some(index) => {
                let other = self.others.get_mut(index).and_then(Option::as_mut);
                other.ok_or(ENODEV)
            }
        }
    }

    /// Returns a number that no instance has, for which there is room.
    pub(super) fn free_id(&mut self) -> Result<InstanceId> {
        if let Some(index) = self.others.iter().position(Option::is_none) {
            return Ok(id(index));
        }
        self.others.push(None)?;
        Ok(id(self.others.len().wrapping_sub(1)))
    }

    /// Makes `instance` the one with the number `of`, which is not that of the top directory, and
    /// returns the former one.
    pub(super) fn set(
        &mut self,
        of: InstanceId,
        instance: Option<InInstance>,
    ) -> Option<InInstance> {
        let slot = self.others.get_mut(of.0.checked_sub(1)?)?;
        core::mem::replace(slot, instance)
    }
}

/// Returns the number of the instance at `index` of the others.
fn id(index: usize) -> InstanceId {
    InstanceId(index.wrapping_add(1))
}
