// SPDX-License-Identifier: GPL-2.0

//! The set of defined events, and how a write to `kprobe_events` changes it.
//!
//! A write is all or nothing: its lines are applied in order to a draft, which changes the
//! set only if every line succeeds. New probes are registered meanwhile, disarmed; deleted
//! probes stay registered until the draft is accepted.
//!
//! The elements of the set are probes. Probes with the same group and name belong to one
//! event, which exists as long as it has a probe.

mod calls;
mod define;
mod draft;
mod files;
mod histograms;
mod in_force;
mod in_instances;
mod in_use;
mod instances;
mod modules;
mod open_sites;
mod owned;
mod set;
mod spares;
mod stacks;
mod triggers;
mod waiting;

use crate::{
    engine::{
        ast::Request,
        error::{Error as Refusal, Kind},
        filter::Filter,
        lex::{self, Command},
        parse,
        record::Layout,
    },
    events::{event::Event, event_file::InstanceId, format::Pool, owner::Owner, probe::Probe},
    hit::{recorder::Recorder, tasks::Tasks},
    kapi::{context, functions::Functions, tracepoint::Tracepoints},
    source::{
        functions,
        live::Live,
        location,
        machine::{errno, MACHINE},
        names::{KernelFunctions, Names},
        points,
        registered::Sources,
        types,
    },
    sys::{AllocError, Vec},
};
use calls::SystemCalls;
use core::{fmt, ptr};
use draft::Draft;
use instances::Instances;
use kernel::{prelude::*, sync::Arc};
use set::Set;
use spares::Spares;
use waiting::report_waiting;

pub(crate) use files::{Directory, EventFiles, Group};
pub(crate) use instances::InInstance;

/// The watch that checks the armed probes once a second.
pub(crate) trait Watch: Send {
    /// Starts the checks unless they run.
    ///
    /// Context: process.
    fn start(&self);
}

/// The defined events and their files.
pub(crate) struct Registry {
    set: Set,
    calls: SystemCalls,
    instances: Instances,
    spares: Spares,
    types: types::Cache,
    names: Names,
    points: Arc<Tracepoints>,
    functions: Arc<Functions<Recorder>>,
    numbers: Arc<Pool>,
    /// The number of writes and of sets of events so far.
    writes: u64,
    watch: Option<KBox<dyn Watch>>,
}

/// The reason why a write has changed nothing.
pub(crate) enum Failure {
    /// The command was refused.
    Refused {
        /// The refusal.
        refusal: Refusal,
        /// The command.
        command: Vec<u8>,
    },
    /// The task is being killed.
    Interrupted,
}

impl Registry {
    /// Makes a registry with the instance `top` of the top directory, and without events but
    /// the one of its marks.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(top: InInstance) -> Result<Self> {
        Ok(Self {
            set: Set::new(),
            calls: SystemCalls::new(),
            instances: Instances::new(top),
            spares: Spares::new(),
            types: types::Cache::new(),
            names: Names::new(),
            points: Tracepoints::new()?,
            functions: Functions::new()?,
            numbers: Pool::new()?,
            writes: 0,
            watch: None,
        })
    }

    /// Returns what registering a mechanism needs.
    fn sources(&self) -> Sources<'_> {
        Sources {
            points: &self.points,
            functions: &self.functions,
        }
    }

    /// Sets the watch that checks the probes while one is armed. The watch holds the
    /// tracer until [`Registry::shut_down`] returns it.
    pub(crate) fn set_watch(&mut self, watch: KBox<dyn Watch>) {
        self.watch = Some(watch);
        self.watch();
    }

    /// Starts the watch if a probe is armed.
    pub(crate) fn watch(&self) {
        if let Some(watch) = &self.watch {
            if self.is_any_armed() {
                watch.start();
            }
        }
    }

    /// Disables the events with a probe that was hit more often than `limit` per second
    /// on a CPU, and logs them. Returns whether a probe is still armed.
    pub(crate) fn disarm_above(&self, limit: u64) -> bool {
        /// Most events that one call names in the kernel's log.
        const NAMED: u32 = 10;
        let mut disabled = 0u32;
        for probe in self.all_probes().filter(|probe| probe.is_armed()) {
            let Some(rate) = probe.rate().filter(|rate| rate.weighted > limit) else {
                continue;
            };
            let event = &probe.event;
            // If an event cannot be disarmed, the next check tries again.
            if self
                .set_armed(|other| other.id() == event.id(), false)
                .is_err()
            {
                continue;
            }
            // Its triggers stay; enabling it, or a new trigger, arms it again.
            event.find_file(|_, file| {
                file.switch().set(false);
                None::<()>
            });
            probe.set_limited();
            disabled = disabled.saturating_add(1);
            if disabled <= NAMED {
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
        self.is_any_armed()
    }

    /// Returns whether a probe is armed.
    pub(crate) fn is_any_armed(&self) -> bool {
        self.all_probes().any(|probe| probe.is_armed())
    }

    /// Returns the probes of all events: first the defined probes, then system calls.
    fn all_probes(&self) -> impl Iterator<Item = &Arc<Probe>> {
        Iterator::chain(self.set.iter(), self.calls.probes.iter())
    }

    /// Returns the probes of the system calls' events.
    pub(crate) fn call_probes(&self) -> impl Iterator<Item = &Arc<Probe>> {
        self.calls.probes.iter()
    }

    /// Returns the defined probes, in the order of their definition.
    pub(crate) fn probes(&self) -> impl Iterator<Item = &Arc<Probe>> {
        self.set.iter()
    }

    /// Returns the function at `address`; `None` if there is none that can be read.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn live(&mut self, address: u64) -> Result<Option<Live>, AllocError> {
        Live::at(address, &mut self.names, self.set.originals())
    }

    /// Compiles the filter `text` for an event with `layout`.
    ///
    /// # Errors
    ///
    /// The refusal of the filter.
    ///
    /// Context: process, may sleep.
    pub(crate) fn compile_filter(
        &mut self,
        text: &[u8],
        layout: &Layout,
    ) -> Result<Filter, Refusal> {
        Filter::compile(text, layout, &mut KernelFunctions(Some(&mut self.names)))
    }

    /// Adds similar names to the refusal of the function `name`, which does not exist.
    ///
    /// Context: process, may sleep.
    pub(crate) fn no_symbol(&mut self, refusal: Refusal, name: &[u8]) -> Refusal {
        location::no_symbol(refusal, None, name, &mut self.names)
    }

    /// Writes the tracepoints, as [`points::write_all`].
    ///
    /// # Errors
    ///
    /// The errors of `out`, also when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn write_tracepoints(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        points::write_all(&self.points, &mut self.types, out)
    }

    /// Returns the functions that `f` events can probe now.
    ///
    /// # Errors
    ///
    /// Why there are none.
    ///
    /// Context: process, may sleep.
    pub(crate) fn all_functions(&mut self) -> Result<Vec<functions::Group>, Refusal> {
        functions::all(&mut self.names)
    }

    /// Returns the events, in the order of their first definition.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Arc<Event>> {
        self.instances.top.files.events()
    }

    /// Returns all events that can have triggers in the instance `of`: the defined ones, and
    /// the one of marks.
    fn triggered(&self, of: InstanceId) -> impl Iterator<Item = &Arc<Event>> {
        let instance = self.instances.get(of).ok();
        let marks = instance.map(|instance| &instance.marks.event);
        Iterator::chain(self.events(), marks)
    }

    /// Returns whether `event` is still defined: a file may be open while its event is
    /// removed.
    pub(crate) fn has(&self, event: &Event) -> bool {
        let marks = self.instances.iter();
        let marks = marks.map(|(_, instance)| &instance.marks.event);
        Iterator::chain(self.events(), marks).any(|defined| ptr::eq(&**defined, event))
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
        let (changes, undone) = self.switched(of, &which, enabled)?;
        let room = self.room_for(&changes)?;
        let at_last = if enabled {
            self.make_changes(of, changes, room);
            if let Err(error) = self.set_armed(&which, true) {
                self.undo(of, undone);
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
        }
        if let Some((changes, room)) = at_last {
            self.make_changes(of, changes, room);
        }
        for probe in self.all_probes().filter(|probe| which(&probe.event)) {
            if probe.event.in_instance(of)?.is_held() {
                probe.choose_tier();
            }
        }
        self.watch();
        Ok(())
    }

    /// Arms or disarms the probes of the events that `which` selects: all of them or, if
    /// one fails, none.
    ///
    /// # Errors
    ///
    /// As for [`Probe::set_armed`].
    fn set_armed(&self, which: impl Fn(&Event) -> bool, enabled: bool) -> Result {
        let mut changed = Vec::new();
        let mut result = Ok(());
        self.functions.hold();
        for probe in self.all_probes().filter(|probe| which(&probe.event)) {
            if probe.is_armed() == enabled {
                continue;
            }
            result = changed.push(probe.clone()).map_err(Error::from);
            if result.is_ok() {
                result = probe.set_armed(enabled);
            }
            if result.is_err() {
                break;
            }
        }
        self.functions.apply_after(result, || {
            for probe in &changed {
                // Restores the previous state.
                let _ = probe.set_armed(!enabled);
            }
        })
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
        let mut plans = Vec::new();
        for (event, filter) in filters {
            let filter = filter.map(|filter| Arc::new(filter, GFP_KERNEL));
            let file = event.in_instance(of)?;
            let actions = file.actions(|_| true)?;
            let plan = file.plan_with(actions, filter.transpose()?, stacks)?;
            plans.push((event, plan))?;
        }
        for (event, _) in plans.iter() {
            event.in_instance(of)?.set_refused_filter(None);
        }
        self.set_plans(of, plans)
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
        self.set_plans(of, plans)?;
        self.instances.get_mut(of)?.tasks = tasks;
        Ok(())
    }

    /// Returns the kernel's tracepoints.
    pub(crate) fn points(&self) -> &Arc<Tracepoints> {
        &self.points
    }

    /// Returns a new number for a write, or for a set of events.
    fn next_write(&mut self) -> u64 {
        self.writes = self.writes.wrapping_add(1);
        self.writes
    }

    /// Removes all events, enabled or not, and their files. No event can be defined
    /// afterwards. Returns the watch; the caller drops it after it has released the
    /// registry lock.
    pub(crate) fn shut_down(&mut self) -> Option<KBox<dyn Watch>> {
        self.functions.hold();
        for probe in self.all_probes() {
            // If this fails, the removal disarms it.
            let _ = probe.set_armed(false);
        }
        // As above.
        let _ = self.functions.apply();
        let mut all = Draft::new(self.next_write(), None);
        all.delete_all(&mut self.set, |_| true);
        // Without memory, the removal waits for them in parts.
        let _ = all.reserve(&mut self.set);
        all.apply(&mut self.set);
        self.calls.shut_down();
        self.spares.clear();
        for instance in self.instances.iter_mut() {
            instance.files.shut_down();
        }
        self.watch.take()
    }

    /// Applies the lines of a write by `owner`, or by everybody, all or none.
    ///
    /// # Errors
    ///
    /// The [`Failure`] of the first line that fails.
    ///
    /// Context: process, may sleep.
    pub(crate) fn apply(&mut self, text: &[u8], owner: Option<&Arc<Owner>>) -> Result<(), Failure> {
        let mut draft = Draft::new(self.next_write(), owner.cloned());
        let drafted = self.lines(&mut draft, text);
        // A line before the one that failed may be refused for this.
        ask_for_sites(&draft, text)?;
        drafted?;
        self.accept(draft).map_err(|error| {
            let refusal = Refusal::registration(errno(error), 0);
            Failure::refused(refusal, text.trim_ascii())
        })
    }

    /// Applies the lines of `text` to `draft`.
    fn lines(&mut self, draft: &mut Draft, text: &[u8]) -> Result<(), Failure> {
        for line in lex::lines(text) {
            if context::is_being_killed() {
                return Err(Failure::Interrupted);
            }
            draft.open.begin_line(line.number);
            let command =
                Command::new(line.text).map_err(|refusal| Failure::refused(refusal, line.text))?;
            if !command.is_empty() {
                self.line(draft, &command)
                    .map_err(|refusal| Failure::refused(refusal, command.text()))?;
            }
        }
        Ok(())
    }

    /// Applies one line to `draft`.
    fn line(&mut self, draft: &mut Draft, command: &Command) -> Result<(), Refusal> {
        match parse::request(command, MACHINE)? {
            Request::Create(definition) if definition.place.is_each() => {
                self.create_each(draft, command, &definition)
            }
            Request::Create(definition) => {
                let probe = self.create(draft, command, definition)?;
                draft.add(probe)
            }
            Request::Delete(deletion) => draft.delete(&mut self.set, &deletion),
        }
    }

    /// Makes the changes of `draft`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of arming new probes of enabled events; then nothing has
    /// changed.
    fn accept(&mut self, mut draft: Draft) -> Result {
        let write = draft.write();
        // Everything that can fail comes before anything is removed.
        let removed = draft.reserve(&mut self.set)?;
        self.reserve_formats(draft.added().len(), removed.len())?;
        // Removed probes keep their spares until the next write.
        let all = Iterator::chain(self.set.in_modules(), draft.added().in_modules());
        self.spares.keep(all)?;
        self.change_files(&draft, !removed.is_empty())?;
        report_waiting(draft.added());
        let arms = draft.added().iter().any(|probe| probe.is_armed());
        let new = self.next_write();
        self.add_formats(draft.added(), new);
        draft.apply(&mut self.set);
        self.retire_formats(&removed, write);
        if arms {
            self.watch();
        }
        Ok(())
    }
}

impl Registry {
    /// Arms the new probes of enabled events: all of them or, if one fails, none.
    fn arm(&self, probes: &Set) -> Result {
        let mut armed = Vec::new();
        let mut result = Ok(());
        self.functions.hold();
        for probe in probes.iter() {
            if !probe.event.is_needed() || probe.is_armed() {
                continue;
            }
            result = armed.push(probe).map_err(Error::from);
            if result.is_ok() {
                result = probe.set_armed(true);
            }
            if result.is_err() {
                break;
            }
        }
        self.functions.apply_after(result, || {
            for probe in &armed {
                // Restores the previous state.
                let _ = probe.set_armed(false);
            }
        })
    }

    /// Removes all events that are everybody's.
    ///
    /// # Errors
    ///
    /// `FILE_IN_USE` if one is enabled or has to do with a trigger; then none is removed.
    /// `NO_MEMORY`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn clear(&mut self) -> Result<(), Refusal> {
        let is_common = |event: &Event| event.owner().is_none();
        if let Some(refusal) = in_use::refusal(&self.set, is_common) {
            return Err(refusal);
        }
        let mut none = Draft::new(self.next_write(), None);
        none.delete_all(&mut self.set, is_common);
        let accepted = self.accept(none);
        accepted.map_err(|error| Refusal::registration(errno(error), 0))
    }
}

impl Failure {
    fn refused(refusal: Refusal, command: &[u8]) -> Self {
        Self::Refused {
            refusal,
            command: Vec::from_slice(command).unwrap_or_default(),
        }
    }

    /// Returns whether the refusal is that no event id is free.
    pub(crate) fn is_for_numbers(&self) -> bool {
        matches!(self, Self::Refused { refusal, .. } if refusal.kind == Kind::NoNumber)
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
    let line = lex::lines(text).find(|line| line.number == number);
    let line = line.map_or(&b""[..], |line| line.text);
    Err(match Command::new(line) {
        Ok(command) => Failure::refused(refusal, command.text()),
        Err(_) => Failure::refused(refusal, line),
    })
}
