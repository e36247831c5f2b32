// SPDX-License-Identifier: GPL-2.0

//! The active plan of an event, made of its plans in all instances.
//!
//! If one instance needs the probes, its plan is active, with its buffer: a hit costs no more than
//! without instances. If several do, the active plan is one per instance, which lists each
//! instance: the arguments are fetched once, and the record is copied to each buffer. If all of
//! them only record, a fast stage serves the hit. The top directory is an instance like the others.
//!
//! A hit loads the plan and the buffer of a recorder one after the other, and fast stages load the
//! buffer only. So a change of the buffer takes three steps, each followed by a grace period: a
//! plan per instance, which names the buffer itself; the new buffer; the final plan.

use super::Instances;
use crate::{
    buffer::Buffer,
    events::{
        event::Event,
        event_file::{EventFile, InstanceId, PlanParts},
        probe::Probe,
        registry::definitions::Definitions,
    },
    hit::{
        histograms::ReplacedLists,
        plan::{InstancePlan, Plan, ReplacedPlans},
    },
    kapi::rcu::Replaced,
    sys::Vec,
};
use kernel::{prelude::*, sync::Arc};

/// A change of an event's plan in an instance.
pub(crate) struct PlanChange {
    event: Arc<Event>,
    /// The new plan of the event file.
    plan: Arc<Plan>,
    /// The new active plan with its buffer.
    active: InstancePlan,
    /// The active plan while the buffer changes.
    meanwhile: Option<Arc<Plan>>,
}

impl PlanChange {
    fn new(event: &Arc<Event>, plan: Arc<Plan>, active: InstancePlan) -> Result<Self> {
        Ok(Self {
            event: event.clone(),
            plan,
            meanwhile: between(&event.active(), &active)?,
            active,
        })
    }

    /// Returns whether nothing changes.
    fn is_none(&self) -> bool {
        let now = self.event.active();
        Arc::ptr_eq(&now.plan, &self.active.plan) && Arc::ptr_eq(&now.buffer, &self.active.buffer)
    }

    /// Returns the inverse change for `instance`.
    fn undone(&self, instance: InstanceId) -> Result<Self> {
        let now = self.event.active();
        Ok(Self {
            event: self.event.clone(),
            plan: self.event.in_instance(instance)?.plan(),
            meanwhile: between(&self.active, &now)?,
            active: now,
        })
    }
}

/// Returns the plan that is active between `from` and `to`, if their buffers differ.
fn between(from: &InstancePlan, to: &InstancePlan) -> Result<Option<Arc<Plan>>> {
    if Arc::ptr_eq(&from.buffer, &to.buffer) {
        return Ok(None);
    }
    if to.plan.is_per_instance() {
        return Ok(Some(to.plan.clone()));
    }
    let mut only = Vec::new();
    only.push(to.clone())?;
    Plan::per_instance(only).map(Some)
}

/// Memory, allocated in advance, for the lists of what changes replace.
pub(crate) struct Room {
    plans: ReplacedPlans,
    buffers: Replaced<Buffer>,
    meanwhile_plans: ReplacedPlans,
    histograms: ReplacedLists,
}

impl Room {
    /// Allocates memory for `recorders`, and for the histograms of `events`.
    fn new(recorders: usize, events: usize) -> Result<Self> {
        Ok(Self {
            plans: ReplacedPlans::with_room(recorders)?,
            buffers: Replaced::with_room(recorders)?,
            meanwhile_plans: ReplacedPlans::with_room(recorders)?,
            histograms: ReplacedLists::with_room(events)?,
        })
    }
}

impl Instances {
    /// Returns the active plan of `event`, if `plan` returns the plan of each event file that needs
    /// the probes; `None` if no file does.
    fn needed(
        &self,
        event: &Event,
        plan: impl Fn(InstanceId, &EventFile) -> Option<Arc<Plan>>,
    ) -> Result<Option<InstancePlan>> {
        let mut needed = Vec::new();
        for (id, instance) in self.iter() {
            // The event `print` is in one instance only.
            let Some(file) = event.file(id) else {
                continue;
            };
            if let Some(plan) = plan(id, &file) {
                let buffer = instance.buffer.clone();
                needed.push(InstancePlan { buffer, plan })?;
            }
        }
        if needed.len() < 2 {
            return Ok(needed.pop());
        }
        Ok(Some(InstancePlan {
            buffer: self.top.buffer.clone(),
            plan: Plan::per_instance(needed)?,
        }))
    }

    /// Returns the change of `event` to `plan` in `instance`, with which it needs the probes if
    /// `is_needed`.
    fn change(
        &self,
        event: &Arc<Event>,
        instance: InstanceId,
        (plan, is_needed): (Arc<Plan>, bool),
    ) -> Result<PlanChange> {
        let needed = self.needed(event, |other, file| match other == instance {
            true => is_needed.then(|| plan.clone()),
            false => file.is_needed().then(|| file.plan()),
        })?;
        let instance = self.get(instance)?;
        let active = match needed {
            Some(needed) => needed,
            // Writes to `trace_marker` are always recorded.
            None if Arc::ptr_eq(event, &instance.marks.event) => InstancePlan {
                buffer: instance.buffer.clone(),
                plan: plan.clone(),
            },
            // Keep the buffer: usually the same instance enables the event next.
            None => InstancePlan {
                buffer: event.active().buffer,
                plan: self.off.clone(),
            },
        };
        PlanChange::new(event, plan, active)
    }

    /// Returns the changes that enable or disable the events that `which` selects in `instance`,
    /// and the inverse changes. Most events need none.
    pub(crate) fn switched(
        &self,
        instance: InstanceId,
        which: impl Fn(&Event) -> bool,
        enabled: bool,
    ) -> Result<(Vec<PlanChange>, Vec<PlanChange>)> {
        let mut changes = Vec::new();
        let mut undone = Vec::new();
        for event in self.events().filter(|event| which(event)) {
            let file = event.in_instance(instance)?;
            let is_needed = enabled || file.is_held();
            let change = self.change(event, instance, (file.plan(), is_needed))?;
            if !change.is_none() {
                undone.push(change.undone(instance)?)?;
                changes.push(change)?;
            }
        }
        Ok((changes, undone))
    }

    /// Returns the changes of all events when `instance` is removed.
    pub(crate) fn without(&self, instance: InstanceId) -> Result<Vec<PlanChange>> {
        let gone = &self.get(instance)?.buffer;
        let mut changes = Vec::new();
        for event in self.events() {
            let now = event.active();
            let is_elsewhere = !Arc::ptr_eq(&now.buffer, gone);
            let is_off = Arc::ptr_eq(&now.plan, &self.off);
            if is_elsewhere && (is_off || !now.plan.is_per_instance()) {
                continue;
            }
            let needed = self.needed(event, |other, file| {
                (other != instance && file.is_needed()).then(|| file.plan())
            })?;
            let active = match needed {
                Some(needed) => needed,
                None => InstancePlan {
                    buffer: self.top.buffer.clone(),
                    plan: self.off.clone(),
                },
            };
            let plan = event.in_instance(instance)?.plan();
            changes.push(PlanChange::new(event, plan, active)?)?;
        }
        Ok(changes)
    }

    /// Returns the changes in `instance` for `events`, each of which comes with a function that
    /// changes the parts of its plan.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `ENODEV` if there is no such instance.
    pub(crate) fn replanned<'a, F: FnOnce(&mut PlanParts)>(
        &self,
        instance: InstanceId,
        events: impl Iterator<Item = (&'a Arc<Event>, F)>,
    ) -> Result<Vec<PlanChange>> {
        let stacks = self.get(instance)?.stacks;
        let mut changes = Vec::new();
        for (event, change) in events {
            let file = event.in_instance(instance)?;
            let plan = file.plan_with(stacks, change)?;
            let is_needed = file.is_needed_with(plan.actions());
            changes.push(self.change(event, instance, (plan, is_needed))?)?;
        }
        Ok(changes)
    }

    /// Returns the inverse of `changes` in `instance`. Call it before they are made.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn undone(instance: InstanceId, changes: &[PlanChange]) -> Result<Vec<PlanChange>> {
        let mut undone = Vec::new();
        for change in changes {
            undone.push(change.undone(instance)?)?;
        }
        Ok(undone)
    }

    /// Applies `changes` in `instance`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    pub(crate) fn activate(
        &mut self,
        instance: InstanceId,
        changes: Vec<PlanChange>,
        definitions: &Definitions,
    ) -> Result {
        let room = self.room_for(&changes, definitions)?;
        self.make_changes(instance, changes, room, definitions);
        Ok(())
    }

    /// Allocates memory for what `changes` replace.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn room_for(
        &mut self,
        changes: &[PlanChange],
        definitions: &Definitions,
    ) -> Result<Room> {
        if changes.is_empty() {
            return Room::new(0, 0);
        }
        let set = self.next_change();
        for change in changes {
            change.event.last_change.set(set);
        }
        let probes = probes_in(definitions, set);
        // The event `print` needs room, too.
        Room::new(probes.count().saturating_add(1), changes.len())
    }

    /// Applies inverse changes. Without memory, waits for a grace period for each probe instead.
    pub(crate) fn undo(
        &mut self,
        instance: InstanceId,
        undone: Vec<PlanChange>,
        definitions: &Definitions,
    ) {
        if let Ok(room) = Room::new(0, 0) {
            self.make_changes(instance, undone, room, definitions);
        }
    }

    /// Applies `changes`, using the memory of `room`. No probe uses the replaced objects once the
    /// lists of `room` are dropped.
    pub(crate) fn make_changes(
        &mut self,
        instance: InstanceId,
        changes: Vec<PlanChange>,
        mut room: Room,
        definitions: &Definitions,
    ) {
        let set = self.next_change();
        let any_later = changes.iter().any(|change| change.meanwhile.is_some());
        for change in &changes {
            if let Some(file) = change.event.file(instance) {
                file.set_plan(change.plan.clone());
                file.replace_histograms(&mut room.histograms);
            }
            let mut active = change.active.clone();
            if let Some(meanwhile) = &change.meanwhile {
                active.plan = meanwhile.clone();
            }
            change.event.set_active(active);
            change.event.last_change.set(set);
        }
        for probe in probes_in(definitions, set) {
            probe.set_plan(probe.event.active().plan, &mut room.plans);
        }
        if let Ok(marks) = self.get(instance).map(|instance| &instance.marks) {
            if marks.event.last_change.is(set) {
                let recorder = marks.recorder.recorder();
                recorder.set_plan(marks.event.active().plan, &mut room.plans);
            }
        }
        drop(room.plans);
        if !any_later {
            return;
        }
        for probe in probes_in(definitions, set) {
            let buffer = probe.event.active().buffer;
            if !probe.records_in(&buffer) {
                probe.set_buffer(buffer, &mut room.buffers);
            }
        }
        drop(room.buffers);
        let set = self.next_change();
        for change in changes {
            if change.meanwhile.is_some() {
                change.event.last_change.set(set);
                change.event.set_active(change.active);
            }
        }
        for probe in probes_in(definitions, set) {
            probe.set_plan(probe.event.active().plan, &mut room.meanwhile_plans);
        }
    }

    /// Returns the number of a new change.
    fn next_change(&mut self) -> u64 {
        self.changes = self.changes.wrapping_add(1);
        self.changes
    }
}

/// Returns the probes of the events that are part of change `set`.
fn probes_in(definitions: &Definitions, set: u64) -> impl Iterator<Item = &Arc<Probe>> {
    definitions
        .all_probes()
        .filter(move |probe| probe.event.last_change.is(set))
}
