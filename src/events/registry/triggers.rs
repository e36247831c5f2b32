// SPDX-License-Identifier: GPL-2.0

//! Setting and removing triggers.
//!
//! An event that has triggers, or that triggers enable or disable, is armed even while disabled,
//! with a plan that consults its switch. The plan becomes active before the event is armed, and
//! stays active until it is disarmed. The same holds for an event with an armed event probe: an
//! action sends the event probe its hits.

use super::{instances::Instances, Registry};
use crate::{
    engine::{
        language::trigger::{EventName, Trigger, TriggerRequest},
        refusal::{
            error::{Error as Refusal, Kind},
            suggest::events::suggest_event,
        },
        util::text::Plain,
    },
    events::{
        attachment::Attachment,
        event::Event,
        event_file::{InstanceId, PlanParts},
    },
    hit::action::{Action, ActionKind, ActionTarget},
    kapi::stack,
    source::machine::errno,
    sys::Vec,
};
use core::{iter, ptr};
use kernel::{prelude::*, sync::Arc};

impl Registry {
    /// Sets or removes a trigger of `event` in `instance`. As in the kernel, removing a trigger
    /// that is not set succeeds.
    ///
    /// # Errors
    ///
    /// A refusal; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn change_triggers(
        &mut self,
        instance: InstanceId,
        event: &Arc<Event>,
        request: &TriggerRequest<'_>,
    ) -> Result<(), Refusal> {
        let trigger = match (request.trigger(), request) {
            (Some(trigger), _) => trigger,
            (None, &TriggerRequest::Histogram { text, removes }) => {
                let result = self.change_histograms(instance, event, text, removes);
                return result.map_err(|refusal| {
                    let group = Plain(event.format.group.to_bytes());
                    refusal.with_owner(format_args!("{group}:{}", event.format.name()))
                });
            }
            (None, _) => return Ok(()),
        };
        let failed = |error| Refusal::registration(errno(error), 0);
        let (what, target) = self.what(instance, trigger)?;
        let TriggerRequest::Set { count, filter, .. } = *request else {
            return self
                .remove_trigger(
                    instance,
                    event,
                    |action| action.excludes(&what),
                    target.as_ref(),
                )
                .map_err(failed);
        };
        let layout = &event.format.layout;
        let filter = filter.map(|text| self.definitions.compile_filter(text, layout));
        let filter = filter.transpose()?;
        let plan = event.in_instance(instance).map_err(failed)?.plan();
        if plan.actions().iter().any(|a| a.excludes(&what)) {
            return Err(Refusal::new(Kind::TriggerExist, 0));
        }
        Action::new(what, filter, count)
            .and_then(|action| self.add_trigger(instance, event, action, target.as_ref()))
            .map_err(failed)
    }

    /// Returns the action of `trigger` in `instance`, and the event that it enables or disables.
    fn what(
        &self,
        instance: InstanceId,
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
                let instance = self.instances.get(instance).map_err(failed)?;
                let snapshots = instance.snapshots.clone();
                (ActionKind::Snapshot(snapshots), None)
            }
            Trigger::Event { on, event } => {
                let found = self.event_named(event)?;
                let target = ActionTarget {
                    format: found.format.clone(),
                    changes: found
                        .in_instance(instance)
                        .map_err(failed)?
                        .switch()
                        .clone(),
                };
                (ActionKind::Event { on, target }, Some(found))
            }
            Trigger::Histograms { on, event } => {
                let found = self.event_named(event)?;
                let target = ActionTarget {
                    format: found.format.clone(),
                    changes: found
                        .in_instance(instance)
                        .map_err(failed)?
                        .histograms()
                        .clone(),
                };
                (ActionKind::Histograms { on, target }, Some(found))
            }
        })
    }

    /// Returns the event `group`/`name`, if it can have triggers in `instance`.
    pub(super) fn triggered_with(
        &self,
        instance: InstanceId,
        group: &[u8],
        name: &[u8],
    ) -> Option<&Arc<Event>> {
        self.instances
            .triggered(instance)
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

    /// Adds `action` to the triggers of `event` in `instance`; `target` is the event that it
    /// enables or disables.
    pub(super) fn add_trigger(
        &mut self,
        instance: InstanceId,
        event: &Arc<Event>,
        action: Arc<Action>,
        target: Option<&Arc<Event>>,
    ) -> Result {
        let mut all = Vec::new();
        let is_last = action.counts().is_some();
        if !is_last {
            all.push(action.clone())?;
        }
        for action in event.in_instance(instance)?.plan().actions() {
            all.push(action.clone())?;
        }
        if is_last {
            all.push(action)?;
        }
        let changed = target.and_then(|target| target.file(instance));
        if let Some(target) = &changed {
            target.count_target(true);
        }
        let result = self.hold(instance, event, all, target);
        if result.is_err() {
            if let Some(target) = &changed {
                target.count_target(false);
            }
        }
        self.watch();
        result
    }

    /// Activates a plan with `all` actions for `event`, and one for `target`, in `instance`, and
    /// arms both events.
    pub(super) fn hold(
        &mut self,
        instance: InstanceId,
        event: &Arc<Event>,
        all: Vec<Arc<Action>>,
        target: Option<&Arc<Event>>,
    ) -> Result {
        let target = target.filter(|target| !Arc::ptr_eq(target, event));
        let events = Iterator::chain(
            iter::once((event, Some(all))),
            target.map(|target| (target, None)),
        );
        let replanned = events.map(|(event, actions)| {
            let change = |parts: &mut PlanParts| {
                if let Some(actions) = actions {
                    parts.actions = actions;
                }
            };
            (event, change)
        });
        let changes = self.instances.replanned(instance, replanned)?;
        let undone = Instances::undone(instance, &changes)?;
        self.instances
            .activate(instance, changes, &self.definitions)?;
        let is_held = |other: &Event| {
            other.id() == event.id() || target.is_some_and(|target| other.id() == target.id())
        };
        // Events that were armed before stay armed.
        let result = self.set_armed(&is_held, true);
        let result = result.and_then(|()| self.link_caused_events());
        if result.is_err() {
            self.instances.undo(instance, undone, &self.definitions);
        } else {
            event.set_used();
            target.into_iter().for_each(|target| target.set_used());
        }
        result
    }

    /// Removes the trigger of `event` in `instance` that `is_it` accepts, if there is one; `target`
    /// is the event that it enables or disables.
    pub(super) fn remove_trigger(
        &mut self,
        instance: InstanceId,
        event: &Arc<Event>,
        is_it: impl Fn(&Action) -> bool,
        target: Option<&Arc<Event>>,
    ) -> Result {
        let file = event.in_instance(instance)?;
        let kept = file.actions(|action| !is_it(action))?;
        if kept.len() == file.plan().actions().len() {
            return Ok(());
        }
        let is_needed = file.is_needed_with(&kept) || event.is_needed_besides(instance);
        let change = |parts: &mut PlanParts| parts.actions = kept;
        let replanned = iter::once((event, change));
        let changes = self.instances.replanned(instance, replanned)?;
        if !is_needed {
            self.set_event_armed(event, false)?;
        }
        let result = self
            .instances
            .activate(instance, changes, &self.definitions);
        if result.is_err() {
            if !is_needed {
                // Restore the former state.
                let _ = self.set_event_armed(event, true);
            }
            return result;
        }
        // From here on no hit of `event` changes the target.
        if let Some(target) = target {
            target.in_instance(instance)?.count_target(false);
            // If this fails, the target keeps a plan with which it records nothing.
            let _ = self.release(instance, target);
        }
        // Do not send hits to disarmed event probes.
        let _ = self.link_caused_events();
        Ok(())
    }

    /// Disarms `event`, which one trigger fewer in `instance` uses, if it is not needed any more.
    fn release(&mut self, instance: InstanceId, event: &Arc<Event>) -> Result {
        if !event.is_needed() {
            self.set_event_armed(event, false)?;
        }
        let same = iter::once((event, |_: &mut PlanParts| {}));
        let changes = self.instances.replanned(instance, same)?;
        self.instances
            .activate(instance, changes, &self.definitions)
    }

    /// Adds the actions that send hits to newly armed event probes, and removes those for disarmed
    /// ones.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of arming the other event; then some are not added.
    ///
    /// Context: process, may sleep.
    pub(super) fn link_caused_events(&mut self) -> Result {
        while let Some(probe) = self.definitions.unlinked() {
            let is_armed = probe.is_armed();
            let is_sent_to = probe.attachments().iter().any(Attachment::is_linked);
            if let Some(pair) = probe.pair().filter(|_| is_armed && !is_sent_to) {
                // The actions that sent hits here were removed a grace period ago.
                pair.open_pairs().beginnings().clear();
            }
            for attachment in probe.attachments() {
                if attachment.is_linked() != is_armed {
                    self.link(attachment, is_armed)?;
                }
            }
        }
        Ok(())
    }

    fn link(&mut self, attachment: &Attachment, is_armed: bool) -> Result {
        // The other event may have an event probe, too: then `link_caused_events` is called again.
        attachment.set_linked(is_armed);
        let (to, action) = (attachment.to(), attachment.action());
        let result = match is_armed {
            true => self.add_trigger(InstanceId::TOP, to, action.clone(), None),
            false => {
                let is_it = |other: &_| ptr::eq(&**action, other);
                self.remove_trigger(InstanceId::TOP, to, is_it, None)
            }
        };
        result.inspect_err(|_| attachment.set_linked(!is_armed))
    }
}
