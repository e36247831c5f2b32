// SPDX-License-Identifier: GPL-2.0

//! Removes the events of an owner.

use super::{files::Removed, write::Write, Registry};
use crate::{
    engine::{definition::parse::SYNTHETIC_GROUP, hist::ActionSort},
    events::{event::Event, event_file::InstanceId, owner::Owner},
    hit::action::Action,
    source::machine::error_of,
    sys::Vec,
};
use kernel::{prelude::*, sync::Arc};

/// A trigger to remove, with its event and the event that it enables or disables.
pub(super) struct OwnedTrigger {
    pub(super) event: Arc<Event>,
    pub(super) action: Arc<Action>,
    pub(super) target: Option<Arc<Event>>,
}

impl Registry {
    /// Removes the events of `owner`, enabled or not, with their triggers and the triggers of other
    /// events that involve them. If that fails, as without memory, the events stay without an
    /// owner, maybe without some of these triggers, and the log says so.
    ///
    /// Context: process, may sleep.
    pub(crate) fn remove_owned(&mut self, owner: &Arc<Owner>, removed: &mut Removed) {
        if let Err(error) = self.try_to_remove_owned(owner, removed) {
            pr_warn!(
                "the private events of task {} are not removed (errno {}): kprobe_events has them now, perhaps without triggers\n",
                owner.pid(),
                error.to_errno()
            );
            owner.leave();
        }
    }

    fn try_to_remove_owned(&mut self, owner: &Arc<Owner>, removed: &mut Removed) -> Result {
        let is_owned = |event: &Event| event.is_of(Some(owner));
        let Some(first) = self.events().find(|event| is_owned(event)).cloned() else {
            return Ok(());
        };
        for instance in self.instances.ids()? {
            for trigger in self.triggers_of(instance, is_owned)?.iter() {
                let is_it = |action: &Action| core::ptr::eq(action, &*trigger.action);
                self.remove_trigger(instance, &trigger.event, is_it, trigger.target.as_ref())?;
            }
            self.remove_unneeded(instance, &first)?;
            self.set_enabled(instance, is_owned, false)?;
        }
        let mut write = Write::new(self, Some(owner.clone()));
        let deleted = write.delete_all(is_owned);
        let removed = deleted.and_then(|()| write.commit(removed));
        removed.map_err(|refusal| error_of(&refusal))
    }

    /// Returns the triggers in `instance` that involve events which `which` selects: their own;
    /// those that enable, disable, emit or match them; and those that refer to variables of removed
    /// histograms.
    pub(super) fn triggers_of(
        &self,
        instance: InstanceId,
        which: impl Fn(&Event) -> bool,
    ) -> Result<Vec<OwnedTrigger>> {
        let mut triggers = Vec::new();
        for event in self.instances.triggered(instance) {
            for action in event.in_instance(instance)?.plan().actions() {
                let is_target = |format: &_| {
                    self.events()
                        .find(|event| Arc::ptr_eq(&event.format, format))
                };
                let target = action.target().and_then(is_target);
                if which(event)
                    || target.is_some_and(|target| which(target))
                    || self.names(instance, action, &which)
                {
                    triggers.push(OwnedTrigger {
                        event: event.clone(),
                        action: action.clone(),
                        target: target.cloned(),
                    })?;
                }
            }
        }
        self.add_referring(instance, &mut triggers)?;
        Ok(triggers)
    }

    /// Returns whether `action` of `instance` emits or matches an event that `which` selects.
    fn names(&self, instance: InstanceId, action: &Action, which: impl Fn(&Event) -> bool) -> bool {
        let Some(inter_event) = action.inter_event() else {
            return false;
        };
        let is_meant = |group: &[u8], event: &[u8]| {
            let event = self.triggered_with(instance, group, event);
            event.is_some_and(|event| which(event))
        };
        let mut all = inter_event.histogram.spec().actions().iter();
        all.any(|action| {
            let emits = action.sort == ActionSort::Trace;
            (emits && is_meant(SYNTHETIC_GROUP, &action.event))
                || action
                    .matched()
                    .is_some_and(|(group, event)| is_meant(group, event))
        })
    }

    /// Adds to `triggers` those that refer to a variable which will not be set any more.
    fn add_referring(&self, instance: InstanceId, triggers: &mut Vec<OwnedTrigger>) -> Result {
        let Some(first) = triggers.first() else {
            return Ok(());
        };
        let hists = self.hist_triggers(instance, &first.event)?;
        let mut goes = Vec::new();
        for it in &hists {
            let is_it = |one: &OwnedTrigger| Arc::ptr_eq(&one.action, &it.action);
            goes.push(triggers.iter().any(is_it))?;
        }
        let mut looked = 0;
        // The loop also visits the triggers that it adds.
        while let Some(trigger) = triggers.get(looked) {
            looked = looked.saturating_add(1);
            let Some(histogram) = trigger.action.counts().cloned() else {
                continue;
            };
            let with_goes = || Iterator::zip(hists.iter(), goes.iter());
            // Another event may share the histogram.
            let is_left =
                with_goes().any(|(it, &goes)| !goes && Arc::ptr_eq(&it.histogram, &histogram));
            let Some(table) = histogram.var_table().filter(|_| !is_left) else {
                continue;
            };
            for (it, goes) in Iterator::zip(hists.iter(), goes.iter_mut()) {
                if !*goes && it.histogram.spec().refers_to(table) {
                    *goes = true;
                    triggers.push(OwnedTrigger {
                        event: it.event.clone(),
                        action: it.action.clone(),
                        target: None,
                    })?;
                }
            }
        }
        Ok(())
    }
}
