// SPDX-License-Identifier: GPL-2.0

//! Setting and removing triggers.
//!
//! An event that has triggers, or that triggers change, is armed while it is disabled, with a
//! plan that consults its switch. The plan is in force before the event is armed for it, and as
//! long as it is.

use super::Registry;
use crate::{
    engine::{
        error::{Error as Refusal, Kind},
        filter::Filter,
        text::Plain,
        trigger::{EventName, Request, Trigger},
    },
    events::{event::Event, similar::suggest_event},
    hit::{
        action::{Action, Other, Target, What},
        histograms::ReplacedLists,
        plan::{Plan, ReplacedPlans, Stacks},
    },
    kapi::stack,
    source::{machine::errno, names::KernelFunctions},
    sys::Vec,
};
use kernel::{prelude::*, sync::Arc};

/// Makes the plan of `event` with the actions that it has and as its use as a target
/// requires, with `stacks` behind each record.
pub(super) fn same_plan(event: &Event, stacks: Stacks) -> Result<Arc<Plan>> {
    let actions = event.file.actions(|_| true)?;
    let filter = event.file.plan().filter().cloned();
    event.file.plan_with(actions, filter, stacks)
}

impl Registry {
    /// Sets or removes a trigger of `event`, which is defined. A trigger that is not set is
    /// removed with success, as by the kernel.
    ///
    /// # Errors
    ///
    /// A refusal; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn change_triggers(
        &mut self,
        event: &Arc<Event>,
        request: &Request<'_>,
    ) -> Result<(), Refusal> {
        let trigger = match (request.trigger(), request) {
            (Some(trigger), _) => trigger,
            (None, &Request::Histogram { text, removes }) => {
                let result = self.change_histograms(event, text, removes);
                return result.map_err(|refusal| {
                    let group = Plain(event.format.group.to_bytes());
                    refusal.with_owner(format_args!("{group}:{}", event.format.name()))
                });
            }
            (None, _) => return Ok(()),
        };
        let (what, target) = self.what(trigger)?;
        let Request::Set { count, filter, .. } = *request else {
            return self
                .remove_trigger(event, |action| action.excludes(&what), target.as_ref())
                .map_err(|error| Refusal::registration(errno(error), 0));
        };
        let layout = &event.format.layout;
        let filter = filter.map(|text| {
            Filter::compile(text.bytes, layout, &mut KernelFunctions).map_err(|mut refusal| {
                refusal.at = refusal.at.saturating_add(text.at);
                refusal
            })
        });
        let filter = filter.transpose()?;
        if event
            .file
            .plan()
            .actions()
            .iter()
            .any(|a| a.excludes(&what))
        {
            return Err(Refusal::new(Kind::TriggerExist, 0));
        }
        Action::new(what, filter, count)
            .and_then(|action| self.add_trigger(event, action, target.as_ref()))
            .map_err(|error| Refusal::registration(errno(error), 0))
    }

    /// Returns what `trigger` does, and the event that it changes.
    fn what(&self, trigger: Trigger<'_>) -> Result<(What, Option<Arc<Event>>), Refusal> {
        Ok(match trigger {
            Trigger::Trace { on } => (What::Trace { on }, None),
            Trigger::Stack => {
                stack::prepare();
                (What::Other(Other::Stack), None)
            }
            Trigger::Snapshot => {
                let snapshots = self.snapshots.clone();
                (What::Other(Other::Snapshot(snapshots)), None)
            }
            Trigger::Event { on, event } => {
                let found = self.event_named(event)?;
                let target = Target {
                    format: found.format.clone(),
                    changes: found.file.switch().clone(),
                };
                (What::Event { on, target }, Some(found))
            }
            Trigger::Histograms { on, event } => {
                let found = self.event_named(event)?;
                let target = Target {
                    format: found.format.clone(),
                    changes: found.file.histograms().clone(),
                };
                (What::Other(Other::Histograms { on, target }), Some(found))
            }
        })
    }

    fn event_named(&self, name: EventName<'_>) -> Result<Arc<Event>, Refusal> {
        let mut events = self.events();
        let found = events.find(|event| {
            *event.format.group.to_bytes() == *name.group.bytes
                && *event.format.name.to_bytes() == *name.event.bytes
        });
        found.cloned().ok_or_else(|| {
            let refusal = name.group.error(Kind::TriggerEventNotFound);
            let mut both = Vec::new();
            let parts = [name.group.bytes, b":", name.event.bytes];
            let joined = parts
                .iter()
                .try_for_each(|part| both.extend_from_slice(part));
            match joined {
                Ok(()) => suggest_event(refusal, &both, b':', || self.events()),
                Err(_) => refusal,
            }
        })
    }

    /// Adds `action` to the triggers of `event`; `target` is the event that it changes.
    pub(super) fn add_trigger(
        &mut self,
        event: &Arc<Event>,
        action: Arc<Action>,
        target: Option<&Arc<Event>>,
    ) -> Result {
        let mut all = Vec::new();
        let is_last = action.histogram().is_some();
        if !is_last {
            all.push(action.clone())?;
        }
        for action in event.file.plan().actions() {
            all.push(action.clone())?;
        }
        if is_last {
            all.push(action)?;
        }
        if let Some(target) = target {
            target.file.count_target(true);
        }
        let result = self.hold(event, all, target);
        if result.is_err() {
            if let Some(target) = target {
                target.file.count_target(false);
            }
        }
        self.watch();
        result
    }

    /// Puts plans in force for `event`, with `all` actions, and for `target`, and arms both.
    pub(super) fn hold(
        &mut self,
        event: &Arc<Event>,
        all: Vec<Arc<Action>>,
        target: Option<&Arc<Event>>,
    ) -> Result {
        let mut plans = Vec::new();
        let mut before = Vec::new();
        before.push((event.clone(), event.file.plan()))?;
        let filter = event.file.plan().filter().cloned();
        plans.push((
            event.clone(),
            event.file.plan_with(all, filter, self.stacks)?,
        ))?;
        let target = target.filter(|target| !Arc::ptr_eq(target, event));
        if let Some(target) = target {
            before.push((target.clone(), target.file.plan()))?;
            plans.push((target.clone(), same_plan(target, self.stacks)?))?;
        }
        self.set_plans(plans)?;
        let is_held = |other: &Event| {
            other.id() == event.id() || target.is_some_and(|target| other.id() == target.id())
        };
        // What was armed before stays as it is.
        let result = self.set_armed(is_held, true);
        if result.is_err() {
            // What needs memory can wait for the hits of each probe instead.
            let replaced = ReplacedPlans::with_room(0)?;
            let lists = ReplacedLists::with_room(0)?;
            self.replace_plans(before, replaced, lists);
        }
        result
    }

    /// Removes the trigger of `event` that satisfies `is_it`, if there is one; `target` is the
    /// event that it changes.
    pub(super) fn remove_trigger(
        &mut self,
        event: &Arc<Event>,
        is_it: impl Fn(&Action) -> bool,
        target: Option<&Arc<Event>>,
    ) -> Result {
        let kept = event.file.actions(|action| !is_it(action))?;
        if kept.len() == event.file.plan().actions().len() {
            return Ok(());
        }
        let is_needed = event.file.is_enabled() || event.file.is_targeted() || !kept.is_empty();
        let filter = event.file.plan().filter().cloned();
        let mut plans = Vec::new();
        plans.push((
            event.clone(),
            event.file.plan_with(kept, filter, self.stacks)?,
        ))?;
        if !is_needed {
            self.set_armed(|other| other.id() == event.id(), false)?;
        }
        let result = self.set_plans(plans);
        if result.is_err() {
            if !is_needed {
                // As it was.
                let _ = self.set_armed(|other| other.id() == event.id(), true);
            }
            return result;
        }
        // From now on no hit of `event` changes the target.
        if let Some(target) = target {
            target.file.count_target(false);
            self.release(target);
        }
        Ok(())
    }

    /// Disarms `event`, of which a trigger less is a user, if it is not needed any more.
    /// Where that fails it keeps its plan, with which it records nothing.
    fn release(&mut self, event: &Arc<Event>) {
        let is_it = |other: &Event| other.id() == event.id();
        if !event.file.is_needed() && self.set_armed(is_it, false).is_err() {
            return;
        }
        let mut plans = Vec::new();
        let plan = same_plan(event, self.stacks);
        let room = plan.and_then(|plan| Ok(plans.push((event.clone(), plan))?));
        if room.is_ok() {
            let _ = self.set_plans(plans);
        }
    }
}
