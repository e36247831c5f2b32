// SPDX-License-Identifier: GPL-2.0

//! The set of defined events, and how a write to `kprobe_events` changes it.
//!
//! A write is all or nothing: its lines are applied one after the other to a
//! copy of the set, and only if every line succeeds does the copy become the
//! set. Probes that are new are registered, disarmed, on the way; those that
//! are removed stay registered until the copy is accepted.
//!
//! The set is one of probes. Those of the same group and name belong to one
//! event, which exists as long as it has a probe.

use crate::{
    control::event_files::{EventFiles, Group},
    engine::{
        ast::{self, Definition, Deletion, Place, Request},
        btf::Btf,
        error::{Error as Refusal, Kind},
        fetch::{self, PathOffsets, Program, Target},
        filter::Filter,
        lex::{self, Command},
        parse,
    },
    event::{Event, Format},
    kapi::{debugfs::Dir, paths},
    names::Names,
    place::{self, c_string, Found, ARCH},
    probe::{errno, Probe},
    sys::Vec,
    tracer::Tracer,
    types,
};
use kernel::{prelude::*, sync::Arc};

/// Event numbers begin here: far above those that the kernel gives its own
/// events, which a tool might open by number.
const FIRST_ID: u16 = 0x8000;

/// Formats of removed events that are kept for their records in the buffer.
const MAX_RETIRED: usize = 1024;

/// The defined events and their files.
pub(crate) struct Registry {
    /// In the order of their definition.
    probes: Vec<Arc<Probe>>,
    /// One for each event, in the order of their first definition.
    files: Vec<EventFiles>,
    groups: Vec<Arc<Group>>,
    retired: Vec<Arc<Format>>,
    types: types::Cache,
    names: Names,
    last_id: u16,
    /// The directory `events`; `None` once the module is being unloaded.
    directory: Option<Arc<Dir>>,
}

/// Why a write was refused, and where.
struct Failure {
    refusal: Refusal,
    command: Vec<u8>,
}

impl Registry {
    /// No events.
    pub(crate) const fn new() -> Self {
        Self {
            probes: Vec::new(),
            files: Vec::new(),
            groups: Vec::new(),
            retired: Vec::new(),
            types: types::Cache::new(),
            names: Names::new(),
            last_id: u16::MAX,
            directory: None,
        }
    }

    /// Sets the directory in which events get theirs; without one no event can
    /// be defined.
    pub(crate) fn set_directory(&mut self, directory: Option<Arc<Dir>>) {
        self.directory = directory;
    }

    /// The probes, in the order of their definition.
    pub(crate) fn probes(&self) -> &[Arc<Probe>] {
        &self.probes
    }

    /// The events, in the order of their first definition.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Arc<Event>> {
        self.files.iter().map(EventFiles::event)
    }

    /// Whether `event` is still defined: a file may be open while its event is
    /// removed.
    pub(crate) fn has(&self, event: &Event) -> bool {
        self.files.iter().any(|files| files.id() == event.id())
    }

    /// How records with the number `id` are read.
    pub(crate) fn format(&self, id: u16) -> Option<Arc<Format>> {
        let defined = self.events().map(|event| &event.format);
        let mut known = Iterator::chain(defined, self.retired.iter());
        known.find(|format| format.id == id).cloned()
    }

    /// Forgets the formats of removed events: no record of them is left.
    pub(crate) fn forget_retired(&mut self) {
        self.retired.clear();
    }

    /// Arms or disarms the probes of the events that `which` names: all or, if
    /// one of them fails, none.
    ///
    /// # Errors
    ///
    /// As for [`Probe::set_armed`].
    pub(crate) fn set_enabled(&self, which: impl Fn(&Event) -> bool, enabled: bool) -> Result {
        let mut changed = Vec::new();
        let mut result = Ok(());
        for probe in self.probes.iter().filter(|probe| which(&probe.event)) {
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
        if result.is_err() {
            for probe in &changed {
                // It was so before.
                let _ = probe.set_armed(!enabled);
            }
            return result;
        }
        for event in self.events().filter(|event| which(event)) {
            event.set_enabled(enabled);
        }
        Ok(())
    }

    /// Puts `filter`, or none, in force for `event`.
    pub(crate) fn set_filter(&self, event: &Event, filter: Arc<Option<Filter>>) {
        for probe in &self.probes {
            if probe.event.id() == event.id() {
                probe.set_filter(&filter);
            }
        }
        event.set_filter(filter);
    }

    /// Removes all events.
    ///
    /// # Errors
    ///
    /// `EBUSY` if one is enabled; then none is removed. `ENOMEM`.
    pub(crate) fn clear(&mut self, tracer: &Arc<Tracer>) -> Result {
        if self.events().any(|event| event.is_enabled()) {
            return Err(EBUSY);
        }
        self.accept(tracer, Vec::new())
    }

    /// Removes all events, enabled or not, and their files; no more can be
    /// defined.
    pub(crate) fn shut_down(&mut self) {
        for probe in &self.probes {
            // Fails only if the probed code is gone.
            let _ = probe.set_armed(false);
        }
        self.probes.clear();
        self.files.clear();
        self.groups.clear();
        self.directory = None;
    }

    /// Places the probes that wait for the module `name`, which is there now,
    /// and arms those of enabled events.
    ///
    /// Context: process, may sleep.
    pub(crate) fn module_coming(&mut self, tracer: &Tracer, name: &[u8]) {
        for index in 0..self.probes.len() {
            let Some(probe) = self.probes.get(index).filter(|probe| probe.is_waiting()) else {
                continue;
            };
            let probe = probe.clone();
            match probe.definition().place.symbol() {
                // Defined with the name of another module.
                Some((Some(module), _)) if *module != *name => continue,
                Some(_) => {}
                // An address meant code that is gone.
                None => continue,
            }
            match self.place_again(tracer, &probe, name) {
                Ok(Some(placed)) => {
                    if let Some(slot) = self.probes.get_mut(index) {
                        *slot = placed;
                    }
                }
                Ok(None) => {}
                Err(refusal) => pr_warn!(
                    "event {} stays without its probe in module {}: {}\n",
                    probe.event.format.name(),
                    core::str::from_utf8(name).unwrap_or("?"),
                    refusal.kind.text()
                ),
            }
        }
    }

    /// Places `probe` in the module `name`; `None` if it lies elsewhere.
    fn place_again(
        &mut self,
        tracer: &Tracer,
        probe: &Probe,
        name: &[u8],
    ) -> Result<Option<Arc<Probe>>, Refusal> {
        let definition = probe.definition();
        let originals = self.probes.iter().filter_map(|probe| probe.original());
        let found = match place::find(definition, &mut self.names, originals) {
            Ok(Some(found)) if found.module() == Some(name) => found,
            Ok(_) => return Ok(None),
            // A symbol without a module's name may be of any.
            Err(_)
                if definition
                    .place
                    .symbol()
                    .is_some_and(|(module, _)| module.is_none()) =>
            {
                return Ok(None)
            }
            Err(refusal) => return Err(refusal),
        };
        let at = definition.place_at;
        // Addresses and types may differ from those of the last time.
        let program = self.compile(definition, Some(&found))?;
        if let Some(index) = program
            .layout()
            .difference(probe.event.format.program.layout())
        {
            let at = definition.args.get(index).map_or(at, |arg| arg.at);
            return Err(Refusal::new(Kind::DiffArgType, at));
        }
        let format = new_format(definition, probe.event.id(), program)?;
        let placed = probe.replaced(&found, format, &tracer.buffer)?;
        if probe.event.is_enabled() {
            let armed = placed.set_armed(true);
            armed.map_err(|error| Refusal::registration(errno(error), at))?;
        }
        let placed = Arc::new(placed, GFP_KERNEL).map_err(|_| Refusal::new(Kind::NoMemory, at))?;
        Ok(Some(placed))
    }

    /// Takes back the probes in the module `name`, which is about to be gone:
    /// they wait until it is there again.
    ///
    /// Context: process, may sleep.
    pub(crate) fn module_going(&mut self, name: &[u8]) {
        for slot in self.probes.iter_mut().filter(|probe| probe.is_in(name)) {
            match Arc::new(slot.unplaced(), GFP_KERNEL) {
                Ok(waiting) => *slot = waiting,
                // The kernel keeps the probe, dead, until its event is removed.
                Err(_) => pr_warn!(
                    "no memory to place event {} again\n",
                    slot.event.format.name()
                ),
            }
        }
    }

    /// Applies the lines of `text`, all or none.
    fn apply(&mut self, tracer: &Arc<Tracer>, text: &[u8]) -> Result<(), Failure> {
        let mut probes = Vec::from_slice(&self.probes).map_err(Failure::no_memory)?;
        for line in lex::lines(text) {
            let command = Command::new(line.text).map_err(|refusal| Failure {
                refusal,
                command: Vec::from_slice(line.text).unwrap_or_default(),
            })?;
            if command.is_empty() {
                continue;
            }
            self.line(tracer, &mut probes, &command)
                .map_err(|refusal| Failure {
                    refusal,
                    command: Vec::from_slice(command.text()).unwrap_or_default(),
                })?;
        }
        self.accept(tracer, probes).map_err(|error| Failure {
            refusal: Refusal::registration(errno(error), 0),
            command: Vec::from_slice(text.trim_ascii()).unwrap_or_default(),
        })
    }

    /// Applies one line to `probes`.
    fn line(
        &mut self,
        tracer: &Arc<Tracer>,
        probes: &mut Vec<Arc<Probe>>,
        command: &Command,
    ) -> Result<(), Refusal> {
        match parse::request(command, ARCH)? {
            Request::Create(definition) => {
                let probe = self.create(tracer, probes, command, definition)?;
                probes.push(probe)?;
                Ok(())
            }
            Request::Delete(deletion) => delete(probes, &deletion),
        }
    }

    /// Makes the probe of `definition`: of the event of that name if `probes`
    /// has one, else of a new event.
    fn create(
        &mut self,
        tracer: &Arc<Tracer>,
        probes: &[Arc<Probe>],
        command: &Command,
        mut definition: Definition,
    ) -> Result<Arc<Probe>, Refusal> {
        if is_taken(&definition) {
            return Err(Refusal::new(Kind::EventExist, 0));
        }
        let known = Iterator::chain(self.probes.iter(), probes);
        let originals = known.filter_map(|probe| probe.original());
        let found = place::find(&definition, &mut self.names, originals)?;
        self.expand(&mut definition, found.as_ref())?;
        let program = self.compile(&definition, found.as_ref())?;
        let siblings = || {
            probes.iter().filter(|probe| {
                let other = probe.definition();
                *other.group == *definition.group && *other.event == *definition.event
            })
        };
        let described = siblings().map(|probe| ast::Probe {
            definition: probe.definition(),
            layout: probe.format().program.layout(),
        });
        definition.check_append(program.layout(), command, described)?;
        let known = siblings().next().map(|probe| probe.event.clone());
        let id = match &known {
            Some(event) => event.id(),
            None => self.next_id(probes),
        };
        let format = new_format(&definition, id, program)?;
        let event = match known {
            Some(event) => event,
            None => Event::new(format.clone())?,
        };
        let no_memory = |_| Refusal::new(Kind::NoMemory, 0);
        let definition = Arc::new(definition, GFP_KERNEL).map_err(no_memory)?;
        let probe = Probe::new(event, definition, found.as_ref(), format, &tracer.buffer)?;
        Arc::new(probe, GFP_KERNEL).map_err(no_memory)
    }

    /// Compiles the arguments of `definition`, whose place was `found`, unless
    /// its module is not loaded.
    fn compile(
        &mut self,
        definition: &Definition,
        found: Option<&Found>,
    ) -> Result<Program, Refusal> {
        let needs_types = types::are_needed(definition);
        let at_entry = is_at_entry(definition, found);
        self.with_target(needs_types, at_entry, found, |target| {
            fetch::compile(definition, target)
        })
    }

    /// Names the arguments of `definition` that stand for parameters.
    fn expand(
        &mut self,
        definition: &mut Definition,
        found: Option<&Found>,
    ) -> Result<(), Refusal> {
        let needs_types = types::are_needed(definition);
        let at_entry = is_at_entry(definition, found);
        self.with_target(needs_types, at_entry, found, |target| {
            fetch::expand(definition, target)
        })
    }

    /// Calls `work` with what is known of the probed place.
    fn with_target<R>(
        &mut self,
        needs_types: bool,
        at_entry: bool,
        found: Option<&Found>,
        work: impl FnOnce(&mut Target<'_>) -> R,
    ) -> R {
        let names = &mut self.names;
        let work = |btf: Option<Btf<'_>>| {
            work(&mut Target {
                arch: ARCH,
                at_entry,
                symbols: names,
                paths: PathOffsets {
                    dentry_name: paths::DENTRY_NAME,
                    file_dentry: paths::FILE_DENTRY,
                },
                btf,
                function: found.and_then(Found::function),
            })
        };
        if needs_types {
            self.types.with(found.and_then(Found::module), work)
        } else {
            work(None)
        }
    }

    /// A number that neither an event nor a record in the buffer has.
    fn next_id(&mut self, probes: &[Arc<Probe>]) -> u16 {
        loop {
            self.last_id = self
                .last_id
                .checked_add(1)
                .unwrap_or(FIRST_ID)
                .max(FIRST_ID);
            let id = self.last_id;
            let taken = |format: &Arc<Format>| format.id == id;
            let defined = Iterator::chain(self.probes.iter(), probes);
            let formats = defined.map(|probe| &probe.event.format);
            // Fewer are taken than there are: memory runs out before.
            if !Iterator::chain(formats, self.retired.iter()).any(taken) {
                return id;
            }
        }
    }

    /// Makes `probes` the set.
    fn accept(&mut self, tracer: &Arc<Tracer>, probes: Vec<Arc<Probe>>) -> Result {
        let is_in = |set: &[Arc<Probe>], id: u16| set.iter().any(|probe| probe.event.id() == id);
        let mut retired = Vec::new();
        for event in self.events().filter(|event| !is_in(&probes, event.id())) {
            retired.push(event.format.clone())?;
        }
        self.retired.reserve(retired.len())?;
        // Files of removed events go first: a new one may have the same name.
        self.keep_files(|id| is_in(&probes, id));
        let made = self.add_files(tracer, &probes).and_then(|()| arm(&probes));
        if let Err(error) = made {
            self.restore_files(tracer);
            return Err(error);
        }
        let removed = core::mem::replace(&mut self.probes, probes);
        for format in retired {
            if self.retired.len() >= MAX_RETIRED {
                self.retired.take(0);
            }
            // Reserved above.
            let _ = self.retired.push(format);
        }
        drop(removed);
        self.drop_empty_groups();
        Ok(())
    }

    /// Removes the files of all events but those whose number `is_kept`.
    fn keep_files(&mut self, is_kept: impl Fn(u16) -> bool) {
        let mut index = self.files.len();
        while let Some(next) = index.checked_sub(1) {
            index = next;
            if self
                .files
                .get(index)
                .is_some_and(|files| !is_kept(files.id()))
            {
                self.files.take(index);
            }
        }
    }

    /// Makes the files of those events of `probes` that have none.
    fn add_files(&mut self, tracer: &Arc<Tracer>, probes: &[Arc<Probe>]) -> Result {
        for probe in probes {
            if !self.has(&probe.event) {
                self.make_files(tracer, &probe.event)?;
            }
        }
        Ok(())
    }

    fn make_files(&mut self, tracer: &Arc<Tracer>, event: &Arc<Event>) -> Result {
        let directory = self.directory.clone().ok_or(ENODEV)?;
        let known = self
            .groups
            .iter()
            .find(|group| *group.name == *event.format.group);
        let group = match known {
            Some(group) => group.clone(),
            None => {
                let group = Group::new(tracer, &directory, &event.format.group)?;
                self.groups.push(group.clone())?;
                group
            }
        };
        let files = EventFiles::new(tracer, &group, event)?;
        Ok(self.files.push(files)?)
    }

    /// After a change that failed: gives exactly the events of the set files.
    fn restore_files(&mut self, tracer: &Arc<Tracer>) {
        let Ok(probes) = Vec::from_slice(&self.probes) else {
            return;
        };
        self.keep_files(|id| probes.iter().any(|probe| probe.event.id() == id));
        if self.add_files(tracer, &probes).is_err() {
            pr_warn!("no memory for the files of all events\n");
        }
        self.drop_empty_groups();
    }

    fn drop_empty_groups(&mut self) {
        let mut index = self.groups.len();
        while let Some(next) = index.checked_sub(1) {
            index = next;
            let empty = self.groups.get(index).is_some_and(|group| {
                !self
                    .files
                    .iter()
                    .any(|files| *files.event().format.group == *group.name)
            });
            if empty {
                self.groups.take(index);
            }
        }
    }
}

/// Applies a write to `kprobe_events` or `dynamic_events`.
///
/// # Errors
///
/// The errno of the first line that fails, which `error_log` explains. Then
/// the events are as before.
///
/// Context: process, may sleep.
pub(crate) fn write(tracer: &Arc<Tracer>, text: &[u8]) -> Result {
    let result = tracer.registry.lock().apply(tracer, text);
    result.map_err(|failure| {
        let mut errors = tracer.errors.lock();
        errors.add(&failure.refusal, &failure.command);
        Error::from_errno(failure.refusal.errno.0.wrapping_neg())
    })
}

/// How records of `definition` are made.
fn new_format(definition: &Definition, id: u16, program: Program) -> Result<Arc<Format>, Refusal> {
    let no_memory = || Refusal::new(Kind::NoMemory, 0);
    let format = Format {
        id,
        group: c_string(&definition.group).ok_or_else(no_memory)?,
        name: c_string(&definition.event).ok_or_else(no_memory)?,
        program,
    };
    Arc::new(format, GFP_KERNEL).map_err(|_| no_memory())
}

/// Whether `definition` is at the entry of a function, whose place was `found`,
/// unless its module is not loaded.
fn is_at_entry(definition: &Definition, found: Option<&Found>) -> bool {
    match (found, &definition.place) {
        (Some(found), _) => found.at_entry,
        (None, place) => matches!(place, Place::Symbol { offset: 0, .. }),
    }
}

/// Whether the directory of `definition` would have the name of a file.
fn is_taken(definition: &Definition) -> bool {
    let above: [&[u8]; 4] = [b"enable", b"ftrace", b"header_event", b"header_page"];
    let files: [&[u8]; 2] = [b"enable", b"filter"];
    above.contains(&&*definition.group)
        || files.contains(&&*definition.group)
        || files.contains(&&*definition.event)
}

/// Arms the new probes of enabled events: all or, if one of them fails, none.
fn arm(probes: &[Arc<Probe>]) -> Result {
    let mut armed = Vec::new();
    for probe in probes {
        if !probe.event.is_enabled() || probe.is_armed() {
            continue;
        }
        let result = armed.push(probe).map_err(Error::from);
        if let Err(error) = result.and_then(|()| probe.set_armed(true)) {
            for probe in &armed {
                // It was so before.
                let _ = probe.set_armed(false);
            }
            return Err(error);
        }
    }
    Ok(())
}

/// Takes what `deletion` names out of `probes`. An event that is enabled keeps
/// its last probe.
fn delete(probes: &mut Vec<Arc<Probe>>, deletion: &Deletion) -> Result<(), Refusal> {
    /// Where the names stand, behind `-:`.
    const NAMES: usize = 2;

    let named = |probe: &Arc<Probe>| deletion.matches(probe.definition());
    if !probes.iter().any(named) {
        return Err(Refusal::new(Kind::NoSuchEvent, NAMES));
    }
    let stays = |event: &Event| {
        let mut rest = probes.iter().filter(|probe| !named(probe));
        rest.any(|probe| probe.event.id() == event.id())
    };
    let is_busy = |probe: &Arc<Probe>| probe.event.is_enabled() && !stays(&probe.event);
    if probes.iter().any(|probe| named(probe) && is_busy(probe)) {
        return Err(Refusal::new(Kind::EventBusy, NAMES));
    }
    let mut index = probes.len();
    while let Some(next) = index.checked_sub(1) {
        index = next;
        if probes.get(index).is_some_and(named) {
            probes.take(index);
        }
    }
    Ok(())
}

impl Failure {
    fn no_memory(_: crate::sys::AllocError) -> Self {
        Self {
            refusal: Refusal::new(Kind::NoMemory, 0),
            command: Vec::new(),
        }
    }
}
