// SPDX-License-Identifier: GPL-2.0

//! The set of defined events, and how a write to `kprobe_events` changes it.
//!
//! A write is all or nothing: its lines are applied in order to a draft, which changes the
//! set only if every line succeeds. New probes are registered meanwhile, disarmed; deleted
//! probes stay registered until the draft is accepted.
//!
//! The elements of the set are probes. Probes with the same group and name belong to one
//! event, which exists as long as it has a probe.

mod arming;
mod around;
mod awaited;
mod defined;
mod definitions;
mod draft;
mod failure;
mod files;
mod histograms;
mod in_instances;
mod in_use;
mod instances;
mod links;
mod open_sites;
mod owned;
mod ready;
mod set;
mod settling;
mod stacks;
mod synthetic;
mod triggers;
mod waiting;

use crate::{
    engine::{
        definition::parse::Grammar,
        filter::Filter,
        language::lex::{self, Command},
        refusal::error::{Error as Refusal, Kind},
    },
    events::{
        event::Event,
        event_file::{EventFile, InstanceId},
        owner::Owner,
        probe::Probe,
    },
    hit::tasks::Tasks,
    source::machine::errno,
    sys::Vec,
};
use arming::Arming;
use core::mem;
use definitions::Definitions;
use draft::Draft;
use instances::Instances;
use kernel::{prelude::*, sync::Arc};
use waiting::report_waiting;

pub(crate) use arming::Watch;
pub(crate) use failure::Failure;
pub(crate) use files::{Directory, EventFiles, EventGroup, Files, Permanent, Removed};
pub(crate) use instances::InInstance;

/// The defined events and their files. What is defined, what the instances make of it, and what is
/// armed have an owner each; one that needs another is passed it.
pub(crate) struct Registry {
    /// In a box, as it is large, and passed from function to function when it is made.
    definitions: KBox<Definitions>,
    instances: Instances,
    arming: Arming,
}

impl Registry {
    /// Makes a registry with the instance `top` of the top directory, and without events but
    /// the one of its marks.
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

    /// Sets the watch that checks the probes while one is armed. The watch holds the
    /// tracer until what [`Registry::shut_down`] returns is dropped.
    pub(crate) fn set_watch(&mut self, watch: KBox<dyn Watch>) {
        self.arming.set_watch(Some(watch));
        self.watch();
    }

    /// Starts the watch if a probe is armed.
    pub(crate) fn watch(&self) {
        self.arming.watch(&self.definitions);
    }

    /// Disables the events with a probe that was hit more often than `limit` per second
    /// on a CPU, with those that are attached to them, and logs them. Returns whether a probe is
    /// still armed.
    pub(crate) fn disarm_above(&mut self, limit: u64) -> bool {
        /// Most events that one call names in the kernel's log.
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
        // Nothing is sent to what is disarmed, and it is sent anew when that is enabled again. Where
        // this fails, the next change of an event does it.
        let _ = self.link_receivers();
        self.is_any_armed()
    }

    /// Disables the event of `probe` for `hit_limit`. Returns false if it cannot be disarmed: the next
    /// check tries again.
    fn disarm_limited(&self, probe: &Probe) -> bool {
        let event = &probe.event;
        let is_disarmed = self
            .set_armed(|other| other.id() == event.id(), false)
            .is_ok();
        if is_disarmed {
            // Its triggers stay; enabling it, or a new trigger, arms it again.
            event.find_file(|_, file| {
                file.switch().set(false);
                None::<()>
            });
            probe.set_limited();
        }
        is_disarmed
    }

    /// Disables what is attached to events that `hit_limit` has disabled: it gets no hits either.
    fn disarm_attached(&self) {
        let is_starved = |probe: &&Arc<Probe>| {
            let mut attachments = probe.attachments().iter();
            probe.is_armed() && attachments.any(|attachment| attachment.to().is_limited())
        };
        // What is attached to that is next.
        loop {
            let starved = self.definitions.all_probes().filter(is_starved);
            if starved.filter(|probe| self.disarm_limited(probe)).count() == 0 {
                break;
            }
        }
    }

    /// Returns whether a probe is armed.
    pub(crate) fn is_any_armed(&self) -> bool {
        self.definitions.is_any_armed()
    }

    /// Returns the events, in the order of their first definition.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Arc<Event>> {
        self.instances.events()
    }

    /// Returns all events that can have triggers in the instance `of`: the defined ones, and
    /// the one of marks.
    fn triggered(&self, of: InstanceId) -> impl Iterator<Item = &Arc<Event>> {
        self.instances.triggered(of)
    }

    /// Returns whether `event` is still defined: a file may be open while its event is
    /// removed.
    pub(crate) fn has(&self, event: &Event) -> bool {
        self.instances.has(event)
    }

    /// Enables or disables the events that `which` selects in the instance `of`: all of them
    /// or, if one fails, none.
    ///
    /// # Errors
    ///
    /// As for [`Probe::set_armed`]; `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_enabled(
        &mut self,
        of: InstanceId,
        which: impl Fn(&Event) -> bool,
        enabled: bool,
    ) -> Result {
        if !self.definitions.has_attachments() {
            return self.switch(of, &which, enabled);
        }
        let mut changed = Vec::new();
        for event in self.events().filter(|event| which(event)) {
            if event.in_instance(of)?.is_enabled() != enabled {
                changed.push(event.clone())?;
            }
        }
        self.switch(of, &which, enabled)?;
        let result = self.link_receivers();
        if result.is_err() {
            let is_changed = |event: &Event| changed.iter().any(|other| other.id() == event.id());
            // As it was, as far as that is possible.
            let _ = self.switch(of, &is_changed, !enabled);
            let _ = self.link_receivers();
        }
        result
    }

    /// As [`Registry::set_enabled`], but for event probes, which get no hits yet.
    fn switch(&mut self, of: InstanceId, which: &dyn Fn(&Event) -> bool, enabled: bool) -> Result {
        if enabled {
            return self.switch_armed(of, which, true);
        }
        // Hits that record stacks would take the time of what disarms.
        let were_on = self.switch_off(of, which)?;
        self.switch_armed(of, which, false)
            .inspect_err(|_| were_on.iter().for_each(|file| file.switch().set(true)))
    }

    /// Ends recording of the events that `which` selects in the instance `of`, and returns those
    /// that were enabled.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; nothing has changed then.
    fn switch_off(
        &self,
        of: InstanceId,
        which: &dyn Fn(&Event) -> bool,
    ) -> Result<Vec<Arc<EventFile>>> {
        let mut were_on = Vec::new();
        for event in self.events().filter(|event| which(event)) {
            let file = event.in_instance(of).ok().filter(|file| file.is_enabled());
            if let Some(file) = file {
                were_on.push(file)?;
            }
        }
        were_on.iter().for_each(|file| file.switch().set(false));
        Ok(were_on)
    }

    /// Arms or disarms the events that `which` selects for the instance `of`, and enables them or
    /// leaves them disabled.
    fn switch_armed(
        &mut self,
        of: InstanceId,
        which: &dyn Fn(&Event) -> bool,
        enabled: bool,
    ) -> Result {
        let (changes, undone) = self.instances.switched(of, which, enabled)?;
        let room = self.instances.room_for(&changes, &self.definitions)?;
        let at_last = if enabled {
            self.instances
                .make_changes(of, changes, room, &self.definitions);
            if let Err(error) = self.set_armed(which, true) {
                self.instances.undo(of, undone, &self.definitions);
                return Err(error);
            }
            None
        } else {
            // Triggers work also while the event is disabled.
            let is_held = |event: &Event| event.file(of).is_some_and(|file| file.is_held());
            let is_unneeded =
                |event: &Event| which(event) && !is_held(event) && !event.is_needed_besides(of);
            self.set_armed(is_unneeded, false)?;
            Some((changes, room))
        };
        // From here on nothing needs memory.
        for event in self.events().filter(|event| which(event)) {
            event.in_instance(of)?.switch().set(enabled);
            if enabled {
                event.set_used();
            }
        }
        if let Some((changes, room)) = at_last {
            self.instances
                .make_changes(of, changes, room, &self.definitions);
        }
        for probe in self
            .definitions
            .all_probes()
            .filter(|probe| which(&probe.event))
        {
            if probe.event.in_instance(of)?.is_held() {
                probe.choose_tier();
            }
        }
        self.watch();
        Ok(())
    }

    /// As [`Arming::set_armed`].
    fn set_armed(&self, which: impl Fn(&Event) -> bool, enabled: bool) -> Result {
        self.arming.set_armed(&self.definitions, &which, enabled)
    }

    /// Puts `filters`, each a filter or `None`, in force for their events in the instance `of`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    pub(crate) fn set_filters(
        &mut self,
        of: InstanceId,
        filters: Vec<(Arc<Event>, Option<Filter>)>,
    ) -> Result {
        let stacks = self.instances.get(of)?.stacks;
        let (mut plans, mut changed) = (Vec::new(), Vec::new());
        for (event, filter) in filters {
            changed.push((event.clone(), filter.is_some()))?;
            let filter = filter.map(|filter| Arc::new(filter, GFP_KERNEL));
            let file = event.in_instance(of)?;
            let actions = file.actions(|_| true)?;
            let plan = file.plan_with(actions, filter.transpose()?, stacks)?;
            plans.push((event, plan))?;
        }
        self.instances.set_plans(of, plans, &self.definitions)?;
        for (event, has_filter) in changed {
            if let Some(file) = event.file(of) {
                file.set_refused_filter(None);
            }
            if has_filter {
                event.set_used();
            }
        }
        Ok(())
    }

    /// Makes the hits of `tasks` count in the instance `of`, of all tasks if it is `None`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_tasks(&mut self, of: InstanceId, tasks: Option<Arc<Tasks>>) -> Result {
        let stacks = self.instances.get(of)?.stacks;
        let mut plans = Vec::new();
        for event in self.events() {
            let file = event.in_instance(of)?;
            let filter = file.plan().filter().cloned();
            let actions = file.actions(|_| true)?;
            let plan = file.plan_for(tasks.as_ref(), actions, (filter, stacks))?;
            plans.push((event.clone(), plan))?;
        }
        self.instances.set_plans(of, plans, &self.definitions)?;
        self.instances.get_mut(of)?.tasks = tasks;
        Ok(())
    }

    /// Returns the files of the events of one instance, once the registry is shut down; `None`
    /// if there are no more. The caller drops them after it has released the registry lock.
    pub(crate) fn take_files(&mut self) -> Option<Files> {
        let mut instances = self.instances.iter_mut();
        let instance = instances.find(|instance| !instance.files.is_empty())?;
        Some(mem::replace(&mut instance.files, Files::new()))
    }

    /// Applies the lines of a write by `owner`, or by everybody, all or none.
    ///
    /// As each function that removes files, it moves them to `removed`.
    ///
    /// # Errors
    ///
    /// The [`Failure`] of the first line that fails.
    ///
    /// Context: process, may sleep.
    #[inline(never)]
    pub(crate) fn apply(
        &mut self,
        (text, grammar): (&[u8], Grammar),
        owner: Option<&Arc<Owner>>,
        removed: &mut Removed,
    ) -> Result<(), Failure> {
        if text.trim_ascii().is_empty() {
            // It needs no memory: behind an opening that has removed all events, it must not fail.
            return Ok(());
        }
        self.make_attachable(text, removed);
        let mut draft = self
            .definitions
            .begin_boxed(owner.cloned())
            .map_err(|_| Failure::refused(Refusal::new(Kind::NoMemory, 0), text.trim_ascii()))?;
        let others = (&self.instances, &self.arming);
        let drafted = self.definitions.lines(&mut draft, (text, grammar), others);
        // A line before the one that failed may be refused for this.
        ask_for_sites(&draft, text)?;
        drafted?;
        if draft.is_empty() {
            return Ok(());
        }
        self.definitions
            .settle(&draft)
            .map_err(|refusal| Failure::refused(refusal, text.trim_ascii()))?;
        self.accept(&mut draft, removed).map_err(|error| {
            let refusal = Refusal::registration(errno(error), 0);
            Failure::refused(refusal, text.trim_ascii())
        })
    }

    /// Makes the changes of `draft`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of arming new probes of enabled events; then nothing has
    /// changed.
    #[inline(never)]
    fn accept(&mut self, draft: &mut Draft, files: &mut Removed) -> Result {
        // Everything that can fail comes before anything is removed.
        let events = self.definitions.reserve(draft)?;
        self.instances
            .reserve_formats(events.new.len(), events.removed.len())?;
        self.change_files(draft, events.removed.len(), files)?;
        report_waiting(draft.added());
        let arms = draft.added().iter().any(|probe| probe.is_armed());
        for event in events.new.iter() {
            self.instances.add_format(event);
        }
        // Its drop waits for the hits, before their formats can be forgotten.
        drop(self.definitions.accept(draft));
        for event in events.removed.iter() {
            event.set_gone();
        }
        self.instances.retire_formats(&events.removed);
        if arms {
            self.watch();
        }
        // The change is made, so this cannot refuse it. Nothing is there to be linked unless an
        // event probe got a further probe; where it fails, the next change of an event does it.
        if let Err(error) = self.link_receivers() {
            pr_warn!(
                "hits are not sent to all event probes (errno {}): enable these anew\n",
                error.to_errno()
            );
        }
        Ok(())
    }
}

impl Registry {
    /// Removes all events that are everybody's and that `which` selects.
    ///
    /// # Errors
    ///
    /// `FILE_IN_USE` if one is enabled or has to do with a trigger; then none is removed.
    /// `NO_MEMORY`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn clear(
        &mut self,
        which: &dyn Fn(&Event) -> bool,
        removed: &mut Removed,
    ) -> Result<(), Refusal> {
        let is_common = |event: &Event| event.owner().is_none() && which(event);
        let failed = |error| Refusal::registration(errno(error), 0);
        if let Some(refusal) = self.definitions.in_use(is_common).map_err(failed)? {
            return Err(refusal);
        }
        let mut none = self.definitions.begin(None);
        self.definitions.delete(&mut none, is_common);
        self.definitions.settle(&none)?;
        let accepted = self.accept(&mut none, removed);
        accepted.map_err(failed)
    }
}

/// Asks ftrace for the functions that `draft` names, of the write `text`.
///
/// # Errors
///
/// The [`Failure`] of the first line with a function whose entry ftrace does not report.
fn ask_for_sites(draft: &Draft, text: &[u8]) -> Result<(), Failure> {
    let (number, refusal) = match draft.open.ask() {
        Ok(None) => return Ok(()),
        Ok(Some(refused)) => refused,
        Err(error) => return Err(Failure::refused(error.into(), text.trim_ascii())),
    };
    // BOUND: One look at each line.
    let line = lex::lines(text).find(|line| line.number == number);
    let line = line.map_or(&b""[..], |line| line.text);
    Err(match Command::new(line) {
        Ok(command) => Failure::refused(refusal, command.text()),
        Err(_) => Failure::refused(refusal, line),
    })
}
