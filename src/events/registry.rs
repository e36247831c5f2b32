// SPDX-License-Identifier: GPL-2.0

//! The registry: the set of defined events, and their state in the instances.
//!
//! The set consists of probes. Probes with the same group and name belong to one event, which
//! exists as long as it has a probe. A [write] changes the set.

mod arming;
mod busy;
mod definitions;
mod files;
mod histograms;
mod instances;
mod module_events;
mod owned;
mod reset;
mod set;
mod triggers;
mod write;

use crate::{
    engine::filter::Filter,
    events::{
        event::Event,
        event_file::{EventFile, InstanceId, PlanParts},
        probe::Probe,
    },
    hit::{
        plan::{Plan, Stacks},
        tasks::Tasks,
    },
    kapi,
    source::registered::Removal,
    sys::Vec,
};
use arming::Arming;
use core::mem;
use definitions::{Definitions, SystemCalls};
use instances::Instances;
use kernel::{prelude::*, sync::Arc};

pub(crate) use arming::Watch;
pub(crate) use files::{Directory, EventFiles, EventGroup, Files, Permanent, Removed};
pub(crate) use instances::InInstance;
pub(crate) use write::Failure;

/// The registry, in three parts: the definitions, the instances, and what is armed. Methods of one
/// part take the others as arguments.
pub(crate) struct Registry {
    /// Boxed, because it is large and returned through several functions when it is made.
    pub(crate) definitions: KBox<Definitions>,
    pub(crate) instances: Instances,
    arming: Arming,
}

impl Registry {
    /// Makes a registry with the top directory's instance `top`, and no events except `print`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    #[inline(never)]
    pub(crate) fn new(top: InInstance) -> Result<Self> {
        let definitions = Definitions::new()?;
        let arming = Arming::new(definitions.points())?;
        Ok(Self {
            definitions,
            instances: Instances::new(top)?,
            arming,
        })
    }

    /// Returns the events, in the order of their first definition.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Arc<Event>> {
        self.instances.events()
    }

    /// Adds `instance`, in which all events are disabled. Returns its number.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn add_instance(&mut self, instance: InInstance) -> Result<InstanceId> {
        let id = self.instances.free_id()?;
        instance.marks.set_instance(id)?;
        let events = self.events().count();
        instance
            .formats
            .reserve(self.definitions.all_probes().count(), 0)?;
        let mut files = Vec::new();
        files.reserve(events)?;
        let plan = Plan::recording(None)?;
        for event in self.events() {
            event.reserve_file(id)?;
            files.push(EventFile::new(plan.clone())?)?;
        }
        for (event, file) in self.events().zip(files) {
            event.set_file(id, Some(file));
        }
        for event in self.events() {
            instance.formats.add(event.format.clone());
        }
        self.instances.set(id, Some(instance));
        Ok(id)
    }

    /// Gives `instance` the directory `events`, and creates a directory in it for each event.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of creating files.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_directory(
        &mut self,
        instance: InstanceId,
        directory: Arc<dyn Directory>,
        removed: &mut Removed,
    ) -> Result {
        let permanent = self.instances.top().files.permanent().cloned();
        let mut events = Vec::new();
        let count = permanent.as_ref().map_or(0, |events| events.len());
        // The permanent events come first.
        for event in self.events().skip(count) {
            events.push(event.clone())?;
        }
        self.instances.reserve_removed(removed, events.len(), 0)?;
        let files = &mut self.instances.get_mut(instance)?.files;
        files.set_directory(Some(directory));
        files.make_ready(self.definitions.points())?;
        if let Some(permanent) = &permanent {
            files.make_permanent(permanent)?;
        }
        let made = files.make(&events, removed)?;
        files.accept(made, removed);
        Ok(())
    }

    /// Removes `instance`, and disables its events. The caller drops the result, which holds the
    /// files, after it has released the registry lock.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of disarming; then some events may be disabled.
    ///
    /// Context: process, may sleep.
    pub(crate) fn remove_instance(&mut self, instance: InstanceId) -> Result<InInstance> {
        self.set_enabled(instance, |_| true, false)?;
        let changes = self.instances.without(instance)?;
        // Its triggers are removed, so their targets may not be needed either.
        let is_unneeded = |event: &Event| !event.is_needed_besides(instance);
        self.set_armed(&is_unneeded, false)?;
        self.instances
            .activate(instance, changes, &self.definitions)?;
        for event in self.events() {
            event.set_file(instance, None);
        }
        // After a failure the next change of an event tries again.
        let _ = self.link_caused_events();
        self.instances.set(instance, None).ok_or(ENODEV)
    }

    /// Removes `instance`, in which nothing has been enabled and no trigger set; this needs no
    /// memory. The caller drops the result after it has released the registry lock.
    pub(crate) fn discard_instance(&mut self, instance: InstanceId) -> Option<InInstance> {
        for event in self.events() {
            event.set_file(instance, None);
        }
        self.instances.set(instance, None)
    }

    /// Enables or disables the events that `which` selects in `instance`: all of them or, if one
    /// fails, none.
    ///
    /// # Errors
    ///
    /// As for [`Probe::set_armed`]; `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_enabled(
        &mut self,
        instance: InstanceId,
        which: impl Fn(&Event) -> bool,
        enabled: bool,
    ) -> Result {
        if !self.definitions.has_attachments() {
            return self.switch(instance, &which, enabled);
        }
        let mut changed = Vec::new();
        for event in self.events().filter(|event| which(event)) {
            if event.in_instance(instance)?.is_enabled() != enabled {
                changed.push(event.clone())?;
            }
        }
        self.switch(instance, &which, enabled)?;
        let result = self.link_caused_events();
        if result.is_err() {
            let is_changed = |event: &Event| changed.iter().any(|other| other.id() == event.id());
            // Restore the former state, as far as possible.
            let _ = self.switch(instance, &is_changed, !enabled);
            let _ = self.link_caused_events();
        }
        result
    }

    /// Does the work of [`Registry::set_enabled`], except for linking event probes.
    fn switch(
        &mut self,
        instance: InstanceId,
        which: &dyn Fn(&Event) -> bool,
        enabled: bool,
    ) -> Result {
        if enabled {
            return self.switch_armed(instance, which, true);
        }
        // Stop recording first: hits that record stacks slow down disarming.
        let were_on = self.switch_off(instance, which)?;
        self.switch_armed(instance, which, false)
            .inspect_err(|_| were_on.iter().for_each(|file| file.switch().set(true)))
    }

    /// Stops recording of the events that `which` selects in `instance`; returns those that were
    /// enabled.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; on an error nothing has changed.
    fn switch_off(
        &self,
        instance: InstanceId,
        which: &dyn Fn(&Event) -> bool,
    ) -> Result<Vec<Arc<EventFile>>> {
        let mut were_on = Vec::new();
        for event in self.events().filter(|event| which(event)) {
            let file = event
                .in_instance(instance)
                .ok()
                .filter(|file| file.is_enabled());
            if let Some(file) = file {
                were_on.push(file)?;
            }
        }
        were_on.iter().for_each(|file| file.switch().set(false));
        Ok(were_on)
    }

    /// Arms or disarms the events that `which` selects for `instance`, and enables or disables
    /// them.
    fn switch_armed(
        &mut self,
        instance: InstanceId,
        which: &dyn Fn(&Event) -> bool,
        enabled: bool,
    ) -> Result {
        let (changes, undone) = self.instances.switched(instance, which, enabled)?;
        let room = self.instances.room_for(&changes, &self.definitions)?;
        let at_last = if enabled {
            self.instances
                .make_changes(instance, changes, room, &self.definitions);
            if let Err(error) = self.set_armed(which, true) {
                self.instances.undo(instance, undone, &self.definitions);
                return Err(error);
            }
            None
        } else {
            // An event with triggers stays armed while disabled.
            let is_held = |event: &Event| event.file(instance).is_some_and(|file| file.is_held());
            let is_unneeded = |event: &Event| {
                which(event) && !is_held(event) && !event.is_needed_besides(instance)
            };
            self.set_armed(&is_unneeded, false)?;
            Some((changes, room))
        };
        // Nothing below allocates.
        for event in self.events().filter(|event| which(event)) {
            event.in_instance(instance)?.switch().set(enabled);
            if enabled {
                event.set_used();
            }
        }
        if let Some((changes, room)) = at_last {
            self.instances
                .make_changes(instance, changes, room, &self.definitions);
        }
        for probe in self
            .definitions
            .all_probes()
            .filter(|probe| which(&probe.event))
        {
            if probe.event.in_instance(instance)?.is_held() {
                probe.choose_stage();
            }
        }
        self.watch();
        Ok(())
    }

    /// Arms or disarms the probes of the events that `which` selects, see [`Arming::set_armed`].
    fn set_armed(&self, which: &dyn Fn(&Event) -> bool, armed: bool) -> Result {
        let all = self.definitions.all_probes();
        self.arming
            .set_armed(all.filter(|probe| which(&probe.event)), armed)
    }

    /// Arms or disarms the probes of `event`.
    fn set_event_armed(&self, event: &Event, armed: bool) -> Result {
        self.set_armed(&|other| other.id() == event.id(), armed)
    }

    /// Sets or removes the filters of events in `instance`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    pub(crate) fn set_filters(
        &mut self,
        instance: InstanceId,
        filters: Vec<(Arc<Event>, Option<Filter>)>,
    ) -> Result {
        let mut shared = Vec::new();
        for (event, filter) in filters {
            let filter = filter.map(|filter| Arc::new(filter, GFP_KERNEL));
            shared.push((event, filter.transpose()?))?;
        }
        let replanned = shared.iter().map(|(event, filter)| {
            let change = |parts: &mut PlanParts| parts.filter = filter.clone();
            (event, change)
        });
        let changes = self.instances.replanned(instance, replanned)?;
        self.instances
            .activate(instance, changes, &self.definitions)?;
        for (event, filter) in &shared {
            if let Some(file) = event.file(instance) {
                file.set_refused_filter(None);
            }
            if filter.is_some() {
                event.set_used();
            }
        }
        Ok(())
    }

    /// Sets the tasks whose hits count in `instance`; `None` for all tasks.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_tasks(&mut self, instance: InstanceId, tasks: Option<Arc<Tasks>>) -> Result {
        self.replan_all(instance, |parts| parts.tasks = tasks.clone())?;
        self.instances.get_mut(instance)?.tasks = tasks;
        Ok(())
    }

    /// Sets whether `stack` is recorded behind each record in `instance`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_stack(&mut self, instance: InstanceId, stack: Stacks, on: bool) -> Result {
        let before = self.instances.get(instance)?.stacks;
        let stacks = before.with(stack, on);
        if stacks == before {
            return Ok(());
        }
        if stacks.has(Stacks::KERNEL) {
            kapi::stack::prepare();
        }
        self.replan_all(instance, |parts| parts.stacks = stacks)?;
        self.instances.get_mut(instance)?.stacks = stacks;
        Ok(())
    }

    /// Applies `change` to the plans of all events in `instance`.
    fn replan_all(&mut self, instance: InstanceId, change: impl Fn(&mut PlanParts)) -> Result {
        let all = self.instances.events().map(|event| (event, &change));
        let changes = self.instances.replanned(instance, all)?;
        self.instances
            .activate(instance, changes, &self.definitions)
    }

    /// Sets the watch, which checks the rate of hits while a probe is armed. It holds a reference
    /// to the tracer until the result of [`Registry::shut_down`] is dropped.
    pub(crate) fn set_watch(&mut self, watch: KBox<dyn Watch>) {
        self.arming.set_watch(Some(watch));
        self.watch();
    }

    /// Starts the watch if a probe is armed.
    pub(crate) fn watch(&self) {
        if self.definitions.is_any_armed() {
            self.arming.watch();
        }
    }

    /// Disables and logs each event with a probe that was hit more than `limit` times per second on
    /// one CPU, and the event probes attached to it. Returns whether a probe is still armed.
    pub(crate) fn disarm_above(&mut self, limit: u64) -> bool {
        /// Maximum number of events that one call names in the kernel's log.
        const NAMED: u32 = 10;
        let mut disabled = 0u32;
        for probe in self
            .definitions
            .all_probes()
            .filter(|probe| probe.is_armed())
        {
            let Some(rate) = probe.rate().filter(|rate| rate.weighted > limit) else {
                continue;
            };
            if !self.disarm_limited(probe) {
                continue;
            }
            disabled = disabled.saturating_add(1);
            if disabled <= NAMED {
                let event = &probe.event;
                pr_warn!(
                    "event {}/{} is disabled: {} hits a second on a CPU ({} as hit_limit counts) exceed {limit}\n",
                    event.format.group.to_str().unwrap_or("?"),
                    event.format.name(),
                    rate.hits,
                    rate.weighted
                );
            }
        }
        if disabled > NAMED {
            let more = disabled.saturating_sub(NAMED);
            pr_warn!("so are {more} other events: kprobe_stats names them\n");
        }
        if disabled != 0 {
            self.disarm_attached();
        }
        // A disarmed event sends nothing; it is linked again when it is enabled. If this fails, the
        // next change of an event repeats it.
        let _ = self.link_caused_events();
        self.definitions.is_any_armed()
    }

    /// Disables the event of `probe` for `hit_limit`. Returns false if it cannot be disarmed: the
    /// next check tries again.
    fn disarm_limited(&self, probe: &Probe) -> bool {
        let event = &probe.event;
        let is_disarmed = self.set_event_armed(event, false).is_ok();
        if is_disarmed {
            // Its triggers stay set. Enabling the event, or setting a trigger, arms it again.
            event.find_file(|_, file| {
                file.switch().set(false);
                None::<()>
            });
            probe.set_limited();
        }
        is_disarmed
    }

    /// Disables event probes that are attached to events which `hit_limit` has disabled: they get
    /// no hits any more.
    fn disarm_attached(&self) {
        let is_starved = |probe: &&Arc<Probe>| {
            let mut attachments = probe.attachments().iter();
            probe.is_armed() && attachments.any(|attachment| attachment.to().is_limited())
        };
        // Repeat for event probes of event probes.
        loop {
            let starved = self.definitions.all_probes().filter(is_starved);
            if starved.filter(|probe| self.disarm_limited(probe)).count() == 0 {
                break;
            }
        }
    }

    /// Removes all events, enabled or not, and refuses new ones. The caller drops the result after
    /// it has released the registry lock, and then the results of [`Registry::take_files`].
    pub(crate) fn shut_down(&mut self) -> Remains {
        // Disable first: disarming is faster when hits record nothing.
        for event in self.events() {
            for (instance, _) in self.instances.iter() {
                if let Ok(file) = event.in_instance(instance) {
                    file.switch().set(false);
                }
            }
        }
        self.arming.disarm_all(self.definitions.all_probes());
        let (calls, removal) = self.definitions.shut_down();
        for instance in self.instances.iter_mut() {
            instance.files.shut_down();
        }
        Remains {
            _watch: self.arming.set_watch(None),
            _calls: calls,
            _removal: removal,
        }
    }

    /// Returns the event files of one instance after [`Registry::shut_down`]; `None` when all are
    /// taken. The caller drops them after it has released the registry lock.
    pub(crate) fn take_files(&mut self) -> Option<Files> {
        let mut instances = self.instances.iter_mut();
        let instance = instances.find(|instance| !instance.files.is_empty())?;
        Some(mem::replace(&mut instance.files, Files::new()))
    }
}

/// The rest of a registry after [`Registry::shut_down`]. Its drop waits for the probes of system
/// calls and for the watch, so the caller must have released the registry lock.
///
/// Another tracer's probe may sleep in a page fault of a system call, as the kernel's own does, and
/// a user can delay that fault without limit. The module notifier takes the registry lock, so no
/// unlimited wait may happen under it.
pub(crate) struct Remains {
    _watch: Option<KBox<dyn Watch>>,
    _calls: SystemCalls,
    _removal: Removal,
}
