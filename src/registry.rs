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

mod files;

use crate::{
    control::filter::KernelFunctions,
    engine::{
        ast::{self, Definition, Deletion, Place, Request},
        btf::Btf,
        error::{Error as Refusal, Kind},
        fetch::{self, PathOffsets, Program, Target},
        filter::Filter,
        lex::{self, Command},
        parse,
        text::Plain,
    },
    event::{Event, Format},
    kapi::{debugfs::Dir, paths},
    limit::Watch,
    names::Names,
    place::{self, c_string, Found, MACHINE},
    probe::{errno, Probe},
    sys::{AllocError, Vec},
    tracer::Tracer,
    types,
};
use core::{mem::MaybeUninit, ptr};
use files::Files;
use kernel::{
    prelude::*,
    sync::{Arc, UniqueArc},
};

/// Event numbers begin here: far above those that the kernel gives its own
/// events, which a tool might open by number.
const FIRST_ID: u16 = 0x8000;

/// Formats of removed events that are kept for their records in the buffer.
const MAX_RETIRED: usize = 1024;

/// The defined events and their files.
pub(crate) struct Registry {
    /// In the order of their definition.
    probes: Vec<Arc<Probe>>,
    files: Files,
    retired: Vec<Retired>,
    /// Memory for probes that wait, one for each that lies in a module: when that goes,
    /// nothing may fail.
    spares: Vec<UniqueArc<MaybeUninit<Probe>>>,
    types: types::Cache,
    names: Names,
    last_id: u16,
    /// How many sets were tried so far.
    sets: u64,
    /// What looks at the armed probes once a second.
    watch: Option<Watch>,
}

/// The format of records that no event makes any more.
struct Retired {
    format: Arc<Format>,
    /// The last time that such a record can have: later ones with its number are
    /// those of the event that was defined anew.
    until: u64,
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
            files: Files::new(),
            retired: Vec::new(),
            spares: Vec::new(),
            types: types::Cache::new(),
            names: Names::new(),
            last_id: u16::MAX,
            sets: 0,
            watch: None,
        }
    }

    /// Sets the directory in which events get theirs; without one no event can
    /// be defined.
    pub(crate) fn set_directory(&mut self, directory: Option<Arc<Dir>>) {
        self.files.set_directory(directory);
    }

    /// Sets what looks at the probes as long as one is armed. It holds the tracer,
    /// until [`Registry::shut_down`] gives it back.
    pub(crate) fn set_watch(&mut self, watch: Watch) {
        self.watch = Some(watch);
        self.watch();
    }

    /// Sees to it that armed probes are looked at.
    pub(crate) fn watch(&self) {
        if let Some(watch) = &self.watch {
            if self.probes.iter().any(|probe| probe.is_armed()) {
                watch.start();
            }
        }
    }

    /// Disables the events with a probe that was hit more often than `limit` a
    /// second on a CPU, and says so; returns whether any probe is armed still.
    pub(crate) fn disarm_above(&self, limit: u64) -> bool {
        /// Events that one call names in the kernel's log.
        const NAMED: u32 = 10;
        let mut disabled = 0u32;
        for probe in self.probes.iter().filter(|probe| probe.is_armed()) {
            let Some(rate) = probe.rate().filter(|rate| rate.weighted > limit) else {
                continue;
            };
            let event = &probe.event;
            // One that cannot be disarmed is tried again.
            if self
                .set_enabled(|other| other.id() == event.id(), false)
                .is_err()
            {
                continue;
            }
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
        self.probes.iter().any(|probe| probe.is_armed())
    }

    /// The probes, in the order of their definition.
    pub(crate) fn probes(&self) -> &[Arc<Probe>] {
        &self.probes
    }

    /// The events, in the order of their first definition.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Arc<Event>> {
        self.files.events()
    }

    /// Whether `event` is still defined: a file may be open while its event is
    /// removed.
    pub(crate) fn has(&self, event: &Event) -> bool {
        self.events().any(|defined| ptr::eq(&**defined, event))
    }

    /// How records with the number `id` of the time `ts` are read, and the last
    /// time for which that is so.
    pub(crate) fn format(&self, id: u16, ts: u64) -> Option<(Arc<Format>, u64)> {
        let mut retired = self.retired.iter();
        let retired = retired.find(|old| old.format.id == id && ts <= old.until);
        if let Some(old) = retired {
            return Some((old.format.clone(), old.until));
        }
        let mut defined = self.events().map(|event| &event.format);
        let format = defined.find(|format| format.id == id)?;
        Some((format.clone(), u64::MAX))
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
        self.watch();
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
    /// defined. Returns what looked at the probes, for the caller to drop when
    /// the registry is held no more.
    pub(crate) fn shut_down(&mut self) -> Option<Watch> {
        for probe in &self.probes {
            // Fails only if the probed code is gone.
            let _ = probe.set_armed(false);
        }
        Probe::remove_all(core::mem::take(&mut self.probes));
        self.spares.clear();
        self.files.shut_down();
        self.watch.take()
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
        self.watch();
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
        let in_modules = self.probes.iter().filter(|probe| probe.is_in_module());
        let spares = in_modules.count().saturating_add(1);
        self.keep_spares(spares)
            .map_err(|_| Refusal::new(Kind::NoMemory, at))?;
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
            // There is one for each.
            if let Some(spare) = self.spares.pop() {
                *slot = spare.write(slot.unplaced()).into();
            }
        }
    }

    /// Makes or frees spares until there are `count`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then there are more than before, or as many.
    fn keep_spares(&mut self, count: usize) -> Result {
        while self.spares.len() > count {
            self.spares.pop();
        }
        while self.spares.len() < count {
            self.spares.push(UniqueArc::new_uninit(GFP_KERNEL)?)?;
        }
        Ok(())
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
        match parse::request(command, MACHINE)? {
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
                // Most have the same group.
                *other.event == *definition.event && *other.group == *definition.group
            })
        };
        let described = siblings().map(|probe| ast::Probe {
            definition: probe.definition(),
            layout: probe.format().program.layout(),
        });
        definition.check_append(program.layout(), command, described)?;
        let known = siblings().next().map(|probe| probe.event.clone());
        let (event, format) = match known {
            Some(event) => {
                let format = new_format(&definition, event.id(), program)?;
                (event, format)
            }
            None => self.new_event(probes, &definition, program)?,
        };
        let no_memory = |_| Refusal::new(Kind::NoMemory, 0);
        let definition = Arc::new(definition, GFP_KERNEL).map_err(no_memory)?;
        let probe = Probe::new(event, definition, found.as_ref(), format, &tracer.buffer)?;
        Arc::new(probe, GFP_KERNEL).map_err(no_memory)
    }

    /// Makes the event of `definition`, whose probe is not among `probes`. One of
    /// that name that this write has deleted passes its number and its filter on.
    fn new_event(
        &mut self,
        probes: &[Arc<Probe>],
        definition: &Definition,
        program: Program,
    ) -> Result<(Arc<Event>, Arc<Format>), Refusal> {
        let mut events = self.events();
        let before = events.find(|event| event.format.is_of(definition)).cloned();
        drop(events);
        let Some(before) = before else {
            let format = new_format(definition, self.next_id(probes), program)?;
            return Ok((Event::new(format.clone())?, format));
        };
        let format = new_format(definition, before.id(), program)?;
        let event = Event::new(format.clone())?;
        if let Some(filter) = before.filter().as_ref() {
            let layout = format.program.layout();
            let fitting = Filter::compile(filter.text(), layout, &mut KernelFunctions);
            let fitting = fitting.map_err(|refusal| match refusal.kind {
                Kind::NoMemory => refusal,
                kind => Refusal::new(Kind::FilterLost, 0).with_detail(format_args!(
                    "{}: {}",
                    Plain(filter.text()),
                    kind.text()
                )),
            })?;
            let no_memory = |_| Refusal::new(Kind::NoMemory, 0);
            event.set_filter(Arc::new(Some(fitting), GFP_KERNEL).map_err(no_memory)?);
        }
        Ok((event, format))
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
        })?
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
        })?
    }

    /// Calls `work` with what is known of the probed place.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory to read type information.
    fn with_target<R>(
        &mut self,
        needs_types: bool,
        at_entry: bool,
        found: Option<&Found>,
        work: impl FnOnce(&mut Target<'_>) -> R,
    ) -> Result<R, AllocError> {
        let names = &mut self.names;
        let work = |btf: Option<Btf<'_>>| {
            work(&mut Target {
                arch: MACHINE.arch,
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
            Ok(work(None))
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
            let retired = self.retired.iter().map(|old| &old.format);
            if !Iterator::chain(formats, retired).any(taken) {
                return id;
            }
        }
    }

    /// Makes `probes` the set: some of those that were in it, in their order, and new
    /// ones behind them.
    fn accept(&mut self, tracer: &Arc<Tracer>, probes: Vec<Arc<Probe>>) -> Result {
        let mut before = self.probes.iter();
        let stays = |probe: &&Arc<Probe>| before.any(|other| Arc::ptr_eq(other, probe));
        let kept = probes.iter().take_while(stays).count();
        self.sets = self.sets.wrapping_add(1);
        let set = self.sets;
        probes.iter().for_each(|probe| probe.event.put_in(set));
        let mut gone = Vec::new();
        for event in self.events().filter(|event| !event.is_in(set)) {
            gone.push(event.clone())?;
        }
        self.retired.reserve(gone.len())?;
        // Those that are removed have theirs until the next time.
        let in_modules =
            Iterator::chain(self.probes.iter(), probes.get(kept..).unwrap_or_default());
        let spares = in_modules.filter(|probe| probe.is_in_module()).count();
        self.keep_spares(spares)?;
        // All that can fail comes before anything is taken away.
        let new = probes.get(kept..).unwrap_or_default();
        let made = self.files.make(tracer, new);
        match made.and_then(|files| arm(new).map(|()| files)) {
            Ok(made) => self.files.accept(&probes, set, made),
            Err(error) => {
                self.files.drop_empty_groups();
                return Err(error);
            }
        }
        let mut removed = core::mem::replace(&mut self.probes, probes);
        let mut kept = self.probes.iter().take(kept).rev().peekable();
        drop_where(&mut removed, |probe| {
            kept.next_if(|other| Arc::ptr_eq(other, probe)).is_some()
        });
        Probe::remove_all(removed);
        // Nothing is recorded any more by what was removed, and nothing yet by
        // what is new.
        let now = tracer.buffer.clock().now();
        for event in gone {
            let goes_on = self.events().any(|other| other.id() == event.id());
            if self.retired.len() >= MAX_RETIRED {
                self.retired.take(0);
            }
            // Reserved above.
            let _ = self.retired.push(Retired {
                format: event.format.clone(),
                until: if goes_on { now } else { u64::MAX },
            });
        }
        self.watch();
        Ok(())
    }
}

/// Drops what `is_gone` of `items`, the last first.
fn drop_where<T>(items: &mut Vec<T>, mut is_gone: impl FnMut(&T) -> bool) {
    let mut index = items.len();
    while let Some(next) = index.checked_sub(1) {
        index = next;
        if items.get(index).is_some_and(&mut is_gone) {
            items.take(index);
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

/// The group that `deletion` means where it names an event and no group: that in
/// which events are defined without one, or else the only one with such an event.
///
/// # Errors
///
/// `AMBIGUOUS_EVENT`, with the caret at column `at`, where there are several.
fn one_group(
    probes: &[Arc<Probe>],
    deletion: &Deletion,
    at: usize,
) -> Result<Option<Vec<u8>>, Refusal> {
    if deletion.group.is_some() {
        return Ok(None);
    }
    let mut matching = probes
        .iter()
        .map(|probe| probe.definition())
        .filter(|definition| deletion.matches(definition));
    let Some(first) = matching.clone().next() else {
        return Ok(None);
    };
    let usual = matching.find(|definition| *definition.group == *parse::DEFAULT_GROUP);
    let mut others = probes.iter().map(|probe| probe.definition());
    let other = others.find(|other| deletion.matches(other) && *other.group != *first.group);
    match (usual, other) {
        (Some(_), _) => Ok(Some(Vec::from_slice(parse::DEFAULT_GROUP)?)),
        (None, Some(other)) => {
            let refusal = Refusal::new(Kind::AmbiguousEvent, at);
            Err(refusal.with_detail(format_args!(
                "{}, {}",
                Plain(&first.group),
                Plain(&other.group)
            )))
        }
        (None, None) => Ok(None),
    }
}

/// Takes what `deletion` names out of `probes`. An event that is enabled keeps
/// its last probe.
fn delete(probes: &mut Vec<Arc<Probe>>, deletion: &Deletion) -> Result<(), Refusal> {
    /// Where the names stand, behind `-:`.
    const NAMES: usize = 2;

    let group = one_group(probes, deletion, NAMES)?;
    let named = |probe: &Arc<Probe>| {
        let definition = probe.definition();
        deletion.matches(definition) && group.as_ref().is_none_or(|g| **g == *definition.group)
    };
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
    drop_where(probes, named);
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
