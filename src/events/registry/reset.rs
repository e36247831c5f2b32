// SPDX-License-Identifier: GPL-2.0

//! Takes back all that was set in an instance, and with the top directory's the definitions.
//!
//! Private events keep what their owners set, and so do the other instances: an event that they
//! need is named in the refusal, before anything has changed.

use super::{busy::AttachedTo, files::Removed, write::Write, Registry};
use crate::{
    engine::{
        refusal::error::{Error as Refusal, Kind},
        util::{errno, text::Plain},
    },
    events::{
        event::Event,
        event_file::{EventFile, InstanceId},
    },
    hit::action::Action,
    source::machine,
    sys::Vec,
};
use core::fmt;
use kernel::{prelude::*, sync::Arc};

/// Returns whether the event belongs to no open file of somebody.
fn is_meant(event: &Event) -> bool {
    event.owner().is_none() || event.is_ready_made()
}

/// Returns the number of triggers that users set.
fn triggers(file: &EventFile) -> usize {
    let plan = file.plan();
    let all = plan.actions().iter();
    all.filter(|action| action.sink().is_none()).count()
}

impl Registry {
    /// Writes a line for each event of which [`Registry::reset`] takes away something in
    /// `instance`.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub(crate) fn write_set(&self, instance: InstanceId, out: &mut dyn fmt::Write) -> fmt::Result {
        let events = self.instances.triggered(instance);
        for event in events.filter(|event| is_meant(event)) {
            let Some(file) = event.file(instance) else {
                continue;
            };
            let is_defined = instance == InstanceId::TOP && self.is_defined(event);
            let is_on = file.is_enabled();
            let has_filter = file.with_filters(|filter, _| filter.is_some());
            let triggers = triggers(&file);
            if !(is_defined || is_on || has_filter || triggers > 0) {
                continue;
            }
            let group = Plain(event.format.group.to_bytes());
            write!(out, "event {group}/{}:", event.format.name())?;
            let parts = [
                (is_defined, " definition"),
                (is_on, " enabled"),
                (has_filter, " filter"),
            ];
            for (_, name) in parts.iter().filter(|(is_there, _)| *is_there) {
                out.write_str(name)?;
            }
            match triggers {
                0 => {}
                1 => out.write_str(" trigger")?,
                more => write!(out, " {more} triggers")?,
            }
            out.write_str("\n")?;
        }
        Ok(())
    }

    /// Returns whether a definition that anyone may delete has made the event.
    fn is_defined(&self, event: &Event) -> bool {
        let mut all = self.definitions.set.iter();
        event.owner().is_none() && all.any(|probe| probe.event.id() == event.id())
    }

    /// Disables all events in `instance`, removes their triggers and filters there, and with the
    /// top directory's deletes the definitions. Private events stay as they are.
    ///
    /// # Errors
    ///
    /// `FILE_IN_USE` if others need an event; then nothing has changed. `FILE_FAILED`, as without
    /// memory: then a part is taken away, as the refusal says.
    ///
    /// Context: process, may sleep.
    pub(crate) fn reset(
        &mut self,
        instance: InstanceId,
        removed: &mut Removed,
    ) -> Result<(), Refusal> {
        let is_top = instance == InstanceId::TOP;
        if is_top {
            self.check_others(instance)?;
        }
        self.take_back(instance)
            .map_err(|error| half(error, "some triggers and filters"))?;
        if !is_top {
            return Ok(());
        }
        let mut write = Write::new(self, None);
        let deleted = write.delete_all(|event| event.owner().is_none());
        let deleted = deleted.and_then(|()| write.commit(removed));
        drop(write);
        deleted.map_err(|refusal| half(machine::error_of(&refusal), "all definitions"))?;
        for event in self.events().filter(|event| event.is_ready_made()) {
            event.forget_use();
        }
        Ok(())
    }

    /// Checks that no other instance and no private event needs an event that is deleted.
    fn check_others(&self, instance: InstanceId) -> Result<(), Refusal> {
        let set = &self.definitions.set;
        let goes = |event: &Event| event.owner().is_none();
        let refused = |event: &Event, why: &str| {
            let group = Plain(event.format.group.to_bytes());
            let refusal = Refusal::new(Kind::FileInUse, 0);
            Err(refusal.with_detail(format_args!("{group}/{} {why}", event.format.name())))
        };
        if let Some(event) = AttachedTo::new(set.iter(), &goes).next() {
            return refused(event, "(a private event is attached): close that first");
        }
        let is_emitted_elsewhere = |event: &Event| {
            let emits = |action: &Arc<Action>| {
                let inter_event = action.inter_event();
                inter_event.is_some_and(|inter_event| inter_event.emits(event.names().1))
            };
            let mut others = self
                .instances
                .iter()
                .filter(|(other, _)| *other != instance);
            others.any(|(other, _)| {
                let mut all = self.instances.triggered(other);
                all.any(|event| {
                    let file = event.file(other);
                    file.is_some_and(|file| file.plan().actions().iter().any(emits))
                })
            })
        };
        for probe in set.iter().filter(|probe| goes(&probe.event)) {
            let event = &probe.event;
            let is_emitted = probe.is_of_emitted_event() && is_emitted_elsewhere(event);
            if event.is_needed_besides(instance) || is_emitted {
                return refused(
                    event,
                    "(used in an instance): write 1 to reset of instances/* first",
                );
            }
        }
        Ok(())
    }

    /// Removes triggers and filters of `instance`, and disables its events.
    fn take_back(&mut self, instance: InstanceId) -> Result {
        self.instances.get_mut(instance)?.awaited.clear();
        let triggers = self.triggers_of(instance, is_meant)?;
        let mut last = None;
        let own = triggers.iter().filter(|it| it.action.sink().is_none());
        for trigger in own {
            let is_it = |action: &Action| core::ptr::eq(action, &*trigger.action);
            self.remove_trigger(instance, &trigger.event, is_it, trigger.target.as_ref())?;
            last = Some(&trigger.event);
        }
        if let Some(event) = last {
            self.remove_unneeded(instance, event)?;
        }
        // With CFI a function behind `dyn Fn` is called by a shim of another type: an oops.
        #[allow(clippy::redundant_closure)]
        self.set_enabled(instance, |event| is_meant(event), false)?;
        let mut filters = Vec::new();
        for event in self.events().filter(|event| is_meant(event)) {
            let file = event.in_instance(instance)?;
            if file.with_filters(|filter, refused| filter.is_some() || refused.is_some()) {
                filters.push((event.clone(), None))?;
            }
        }
        self.set_filters(instance, filters)
    }
}

/// Returns the refusal of a reset that `error` ended, with `rest` left.
#[cold]
#[inline(never)]
fn half(error: Error, rest: &str) -> Refusal {
    let number = machine::errno(error);
    let name = errno::name(error.to_errno().into()).unwrap_or_default();
    let refusal = Refusal::new(Kind::FileFailed, 0).with_errno(number);
    refusal.with_detail(format_args!(
        "{name}, and {rest} are left: kprobe_events, set_event and the triggers show them; write \
         1 again"
    ))
}
