// SPDX-License-Identifier: GPL-2.0

//! Setting and removing triggers.
//!
//! An event that has triggers, or that triggers change, is armed while it is disabled, with a
//! plan that consults its switch. The plan is in force before the event is armed for it, and as
//! long as it is.

use super::{instances::Instances, Registry};
use crate::{
    engine::{
        language::trigger::{EventName, Trigger, TriggerRequest},
        refusal::error::{Error as Refusal, Kind},
        util::text::Plain,
    },
    events::{
        event::Event,
        event_file::{EventFile, InstanceId},
        similar::suggest_event,
    },
    hit::{
        action::{Action, ActionKind, ActionTarget},
        plan::{Plan, Stacks},
    },
    kapi::stack,
    source::machine::errno,
    sys::Vec,
};
use kernel::{prelude::*, sync::Arc};

/// Makes the plan of `file` with the actions that it has and as its use as a target
/// requires, with `stacks` behind each record.
pub(super) fn same_plan(file: &EventFile, stacks: Stacks) -> Result<Arc<Plan>> {
    let actions = file.actions(|_| true)?;
    let filter = file.plan().filter().cloned();
    file.plan_with(actions, filter, stacks)
}

impl Registry {
    /// Sets or removes a trigger of `event`, which is defined, in the instance `of`. A trigger
    /// that is not set is removed with success, as by the kernel.
    ///
    /// # Errors
    ///
    /// A refusal; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn change_triggers(
        &mut self,
        of: InstanceId,
        event: &Arc<Event>,
        request: &TriggerRequest<'_>,
    ) -> Result<(), Refusal> {
        let trigger = match (request.trigger(), request) {
            (Some(trigger), _) => trigger,
            (None, &TriggerRequest::Histogram { text, removes }) => {
                let result = self.change_histograms(of, event, text, removes);
                return result.map_err(|refusal| {
                    let group = Plain(event.format.group.to_bytes());
                    refusal.with_owner(format_args!("{group}:{}", event.format.name()))
                });
            }
            (None, _) => return Ok(()),
        };
        let failed = |error| Refusal::registration(errno(error), 0);
        let (what, target) = self.what(of, trigger)?;
        let TriggerRequest::Set { count, filter, .. } = *request else {
            return self
                .remove_trigger(of, event, |action| action.excludes(&what), target.as_ref())
                .map_err(failed);
        };
        let layout = &event.format.layout;
        let filter = filter.map(|text| {
            self.compile_filter(text.bytes, layout)
                .map_err(|mut refusal| {
                    refusal.at = refusal.at.saturating_add(text.at);
                    refusal
                })
        });
        let filter = filter.transpose()?;
        let plan = event.in_instance(of).map_err(failed)?.plan();
        if plan.actions().iter().any(|a| a.excludes(&what)) {
            return Err(Refusal::new(Kind::TriggerExist, 0));
        }
        Action::new(what, filter, count)
            .and_then(|action| self.add_trigger(of, event, action, target.as_ref()))
            .map_err(failed)
    }

    /// Returns what `trigger` does in the instance `of`, and the event that it changes.
    fn what(
        &self,
        of: InstanceId,
        trigger: Trigger<'_>,
    ) -> Result<(ActionKind, Option<Arc<Event>>), Refusal> {
        let failed = |error| Refusal::registration(errno(error), 0);
        Ok(match trigger {
            Trigger::Trace { on } => (ActionKind::Trace { on }, None),
            Trigger::Stack => {
                stack::prepare();
                (ActionKind::Stack, None)
            }
            Trigger::Snapshot => {
                let instance = self.instances.get(of).map_err(failed)?;
                let snapshots = instance.snapshots.clone();
                (ActionKind::Snapshot(snapshots), None)
            }
            Trigger::Event { on, event } => {
                let found = self.event_named(event)?;
                let target = ActionTarget {
                    format: found.format.clone(),
                    changes: found.in_instance(of).map_err(failed)?.switch().clone(),
                };
                (ActionKind::Event { on, target }, Some(found))
            }
            Trigger::Histograms { on, event } => {
                let found = self.event_named(event)?;
                let target = ActionTarget {
                    format: found.format.clone(),
                    changes: found.in_instance(of).map_err(failed)?.histograms().clone(),
                };
                (ActionKind::Histograms { on, target }, Some(found))
            }
        })
    }

    /// Returns the event with these names that can have triggers in the instance `of`.
    pub(super) fn triggered_with(
        &self,
        of: InstanceId,
        group: &[u8],
        name: &[u8],
    ) -> Option<&Arc<Event>> {
        self.triggered(of)
            .find(|event| event.names() == (group, name))
    }

    fn event_named(&self, name: EventName<'_>) -> Result<Arc<Event>, Refusal> {
        let (group, event) = (name.group.bytes, name.event.bytes);
        let mut events = self.events();
        let found = events.find(|other| other.names() == (group, event));
        found.cloned().ok_or_else(|| {
            let refusal = name.group.error(Kind::TriggerEventNotFound);
            let mut both = Vec::new();
            let parts = [name.group.bytes, b":", name.event.bytes];
            let joined = parts
                .iter()
                .try_for_each(|part| both.extend_from_slice(part));
            match joined {
                Ok(()) => suggest_event(refusal, &both, b':', &|each| self.each_name(each)),
                Err(_) => refusal,
            }
        })
    }

    /// Adds `action` to the triggers of `event` in the instance `of`; `target` is the event
    /// that it changes.
    pub(super) fn add_trigger(
        &mut self,
        of: InstanceId,
        event: &Arc<Event>,
        action: Arc<Action>,
        target: Option<&Arc<Event>>,
    ) -> Result {
        let mut all = Vec::new();
        let is_last = action.counts().is_some();
        if !is_last {
            all.push(action.clone())?;
        }
        for action in event.in_instance(of)?.plan().actions() {
            all.push(action.clone())?;
        }
        if is_last {
            all.push(action)?;
        }
        let changed = target.and_then(|target| target.file(of));
        if let Some(target) = &changed {
            target.count_target(true);
        }
        let result = self.hold(of, event, all, target);
        if result.is_err() {
            if let Some(target) = &changed {
                target.count_target(false);
            }
        }
        self.watch();
        result
    }

    /// Puts plans in force for `event`, with `all` actions, and for `target`, both in the
    /// instance `of`, and arms both.
    pub(super) fn hold(
        &mut self,
        of: InstanceId,
        event: &Arc<Event>,
        all: Vec<Arc<Action>>,
        target: Option<&Arc<Event>>,
    ) -> Result {
        let stacks = self.instances.get(of)?.stacks;
        let mut plans = Vec::new();
        let file = event.in_instance(of)?;
        let filter = file.plan().filter().cloned();
        plans.push((event.clone(), file.plan_with(all, filter, stacks)?))?;
        let target = target.filter(|target| !Arc::ptr_eq(target, event));
        if let Some(target) = target {
            let plan = same_plan(&*target.in_instance(of)?, stacks)?;
            plans.push((target.clone(), plan))?;
        }
        let changes = self.instances.changes(of, plans)?;
        let undone = Instances::undone(of, &changes)?;
        self.instances
            .put_in_force(of, changes, &self.definitions)?;
        let is_held = |other: &Event| {
            other.id() == event.id() || target.is_some_and(|target| other.id() == target.id())
        };
        // What was armed before stays as it is.
        let result = self.set_armed(is_held, true);
        let result = result.and_then(|()| self.link_receivers());
        if result.is_err() {
            self.instances.undo(of, undone, &self.definitions);
        } else {
            event.set_used();
            target.into_iter().for_each(|target| target.set_used());
        }
        result
    }

    /// Removes the trigger of `event` in the instance `of` that satisfies `is_it`, if there is
    /// one; `target` is the event that it changes.
    pub(super) fn remove_trigger(
        &mut self,
        of: InstanceId,
        event: &Arc<Event>,
        is_it: impl Fn(&Action) -> bool,
        target: Option<&Arc<Event>>,
    ) -> Result {
        let file = event.in_instance(of)?;
        let kept = file.actions(|action| !is_it(action))?;
        if kept.len() == file.plan().actions().len() {
            return Ok(());
        }
        let filter = file.plan().filter().cloned();
        let plan = file.plan_with(kept, filter, self.instances.get(of)?.stacks)?;
        let is_needed = file.is_needed_with(&plan) || event.is_needed_besides(of);
        let mut plans = Vec::new();
        plans.push((event.clone(), plan))?;
        if !is_needed {
            self.set_armed(|other| other.id() == event.id(), false)?;
        }
        let result = self.instances.set_plans(of, plans, &self.definitions);
        if result.is_err() {
            if !is_needed {
                // As it was.
                let _ = self.set_armed(|other| other.id() == event.id(), true);
            }
            return result;
        }
        // From now on no hit of `event` changes the target.
        if let Some(target) = target {
            let file = target.in_instance(of)?;
            file.count_target(false);
            // Where that fails it keeps its plan, with which it records nothing.
            let _ = self.release(of, target, &file);
        }
        // What is not removed is sent to what is not armed.
        let _ = self.link_receivers();
        Ok(())
    }

    /// Disarms `event`, which is `file` in the instance `of` and of which a trigger less is a
    /// user, if it is not needed any more.
    fn release(&mut self, of: InstanceId, event: &Arc<Event>, file: &EventFile) -> Result {
        if !event.is_needed() {
            self.set_armed(|other| other.id() == event.id(), false)?;
        }
        let mut plans = Vec::new();
        let plan = same_plan(file, self.instances.get(of)?.stacks)?;
        plans.push((event.clone(), plan))?;
        self.instances.set_plans(of, plans, &self.definitions)
    }
}
