// SPDX-License-Identifier: GPL-2.0

//! Removing the events of an owner.

use super::{files::Removed, Registry};
use crate::{
    engine::{hist::ActionSort, parse::SYNTHETIC_GROUP},
    events::{event::Event, event_file::InstanceId, owner::Owner},
    hit::action::Action,
    sys::Vec,
};
use kernel::{prelude::*, sync::Arc};

/// A trigger, with its event and the event that it switches.
struct OwnedTrigger {
    event: Arc<Event>,
    action: Arc<Action>,
    target: Option<Arc<Event>>,
}

impl Registry {
    /// Removes the events of `owner`, enabled or not, their triggers, and the triggers that
    /// switch or emit them. If it cannot, as without memory, it leaves the events to everybody, and
    /// tells the log.
    ///
    /// Context: process, may sleep.
    pub(crate) fn remove_owned(&mut self, owner: &Arc<Owner>, removed: &mut Removed) {
        if let Err(error) = self.try_to_remove_owned(owner, removed) {
            pr_warn!(
                "the private events of task {} are not removed (errno {}): kprobe_events has them now\n",
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
        for of in self.instances.ids()? {
            for trigger in self.triggers_of(of, is_owned)?.iter() {
                let is_it = |action: &Action| core::ptr::eq(action, &*trigger.action);
                self.remove_trigger(of, &trigger.event, is_it, trigger.target.as_ref())?;
            }
            self.remove_unneeded(of, &first)?;
            self.set_enabled(of, is_owned, false)?;
        }
        let mut draft = self.definitions.begin(Some(owner.clone()));
        self.definitions.delete(&mut draft, is_owned);
        self.definitions.settle(&draft).map_err(|_| EBUSY)?;
        self.accept(&mut draft, removed)
    }

    /// Returns the triggers in the instance `of` that have to do with the events that `which`
    /// selects.
    fn triggers_of(
        &self,
        of: InstanceId,
        which: impl Fn(&Event) -> bool,
    ) -> Result<Vec<OwnedTrigger>> {
        let mut triggers = Vec::new();
        for event in self.triggered(of) {
            for action in event.in_instance(of)?.plan().actions() {
                let is_target = |format: &_| {
                    self.events()
                        .find(|event| Arc::ptr_eq(&event.format, format))
                };
                let target = action.target().and_then(is_target);
                if which(event)
                    || target.is_some_and(|target| which(target))
                    || self.emits(of, action, &which)
                {
                    triggers.push(OwnedTrigger {
                        event: event.clone(),
                        action: action.clone(),
                        target: target.cloned(),
                    })?;
                }
            }
        }
        Ok(triggers)
    }

    /// Returns whether `action` of the instance `of` emits a synthetic event that `which` selects.
    fn emits(&self, of: InstanceId, action: &Action, which: impl Fn(&Event) -> bool) -> bool {
        let Some(linked) = action.linked() else {
            return false;
        };
        let all = linked.histogram.spec().actions().iter();
        let mut emitted = all.filter(|action| action.sort == ActionSort::Trace);
        emitted.any(|action| {
            let event = self.triggered_with(of, SYNTHETIC_GROUP, &action.event);
            event.is_some_and(|event| which(event))
        })
    }
}
