// SPDX-License-Identifier: GPL-2.0

//! The set of defined events, and how a write to `kprobe_events` changes it.
//!
//! A write is all or nothing: its lines are applied one after the other to a
//! copy of the set, and only if every line succeeds does the copy become the
//! set. Probes that are new are registered, disarmed, on the way; those that
//! are removed stay registered until the copy is accepted.

use crate::{
    control::event_files::{EventFiles, Group},
    engine::{
        ast::{Definition, Deletion, Request},
        btf::Btf,
        error::{Error as Refusal, Kind},
        fetch::{self, PathOffsets, Program, Symbols, Target},
        lex::{self, Command},
        parse,
    },
    event::{Event, Format},
    kapi::{debugfs::Dir, paths, symbol},
    place::{c_string, Found, ARCH},
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
    events: Vec<Arc<Event>>,
    files: Vec<EventFiles>,
    groups: Vec<Arc<Group>>,
    retired: Vec<Arc<Format>>,
    types: types::Cache,
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
            events: Vec::new(),
            files: Vec::new(),
            groups: Vec::new(),
            retired: Vec::new(),
            types: types::Cache::new(),
            last_id: u16::MAX,
            directory: None,
        }
    }

    /// Sets the directory in which events get theirs; without one no event can
    /// be defined.
    pub(crate) fn set_directory(&mut self, directory: Option<Arc<Dir>>) {
        self.directory = directory;
    }

    /// The events, in the order of their definition.
    pub(crate) fn events(&self) -> &[Arc<Event>] {
        &self.events
    }

    /// The events of the group `name`.
    pub(crate) fn group<'a>(
        &'a self,
        name: &'a CStr,
    ) -> impl Iterator<Item = &'a Arc<Event>> + Clone {
        self.events
            .iter()
            .filter(move |event| *event.format.group == *name)
    }

    /// How records with the number `id` are read.
    pub(crate) fn format(&self, id: u16) -> Option<Arc<Format>> {
        let defined = self.events.iter().map(|event| &event.format);
        let mut known = Iterator::chain(defined, self.retired.iter());
        known.find(|format| format.id == id).cloned()
    }

    /// Forgets the formats of removed events: no record of them is left.
    pub(crate) fn forget_retired(&mut self) {
        self.retired.clear();
    }

    /// Arms or disarms `events`, all or, if one of them fails, none.
    ///
    /// # Errors
    ///
    /// As for [`Event::set_enabled`].
    pub(crate) fn set_enabled<'a>(
        events: impl Iterator<Item = &'a Arc<Event>> + Clone,
        enabled: bool,
    ) -> Result {
        let changes = events.clone().filter(|event| event.is_enabled() != enabled);
        let mut changed = Vec::new();
        for event in changes {
            changed.push(event.clone())?;
        }
        for (done, event) in changed.iter().enumerate() {
            if let Err(error) = event.set_enabled(enabled) {
                for event in changed.iter().take(done) {
                    // It was so before.
                    let _ = event.set_enabled(!enabled);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Removes all events.
    ///
    /// # Errors
    ///
    /// `EBUSY` if one is enabled; then none is removed. `ENOMEM`.
    pub(crate) fn clear(&mut self, tracer: &Arc<Tracer>) -> Result {
        if self.events.iter().any(|event| event.is_enabled()) {
            return Err(EBUSY);
        }
        self.accept(tracer, Vec::new())
    }

    /// Removes all events, enabled or not, and their files; no more can be
    /// defined.
    pub(crate) fn shut_down(&mut self) {
        for event in &self.events {
            // Fails only if the probed code is gone.
            let _ = event.set_enabled(false);
        }
        self.events.clear();
        self.files.clear();
        self.groups.clear();
        self.directory = None;
    }

    /// Applies the lines of `text`, all or none.
    fn apply(&mut self, tracer: &Arc<Tracer>, text: &[u8]) -> Result<(), Failure> {
        let mut events = clone(&self.events).map_err(Failure::no_memory)?;
        for line in lex::lines(text) {
            let command = Command::new(line.text).map_err(|refusal| Failure {
                refusal,
                command: Vec::from_slice(line.text).unwrap_or_default(),
            })?;
            if command.is_empty() {
                continue;
            }
            self.line(tracer, &mut events, &command)
                .map_err(|refusal| Failure {
                    refusal,
                    command: Vec::from_slice(command.text()).unwrap_or_default(),
                })?;
        }
        self.accept(tracer, events)
            .map_err(|_| Failure::no_memory(crate::sys::AllocError))
    }

    /// Applies one line to `events`.
    fn line(
        &mut self,
        tracer: &Arc<Tracer>,
        events: &mut Vec<Arc<Event>>,
        command: &Command,
    ) -> Result<(), Refusal> {
        match parse::request(command, ARCH)? {
            Request::Create(definition) => {
                let event = self.create(tracer, events, definition)?;
                events.push(event)?;
                Ok(())
            }
            Request::Delete(deletion) => delete(events, &deletion),
        }
    }

    /// Makes the event of `definition`.
    fn create(
        &mut self,
        tracer: &Arc<Tracer>,
        events: &Vec<Arc<Event>>,
        definition: Definition,
    ) -> Result<Arc<Event>, Refusal> {
        let same = |event: &&Arc<Event>| {
            let other = event.definition();
            *other.group == *definition.group && *other.event == *definition.event
        };
        if events.iter().any(|event| same(&event)) {
            return Err(Refusal::new(Kind::EventExist, 0));
        }
        let probes = Iterator::chain(self.events.iter(), events.iter());
        let found = Found::new(&definition, probes.filter_map(|event| event.original))?;
        let program = self.compile(&definition, &found)?;
        let no_memory = || Refusal::new(Kind::NoMemory, 0);
        let format = Format {
            id: self.next_id(events),
            group: c_string(&definition.group).ok_or_else(no_memory)?,
            name: c_string(&definition.event).ok_or_else(no_memory)?,
            program,
        };
        let format = Arc::new(format, GFP_KERNEL).map_err(|_| no_memory())?;
        Event::new(definition, &found, format, tracer.buffer.clone())
    }

    /// Compiles the arguments of `definition`.
    fn compile(&mut self, definition: &Definition, found: &Found) -> Result<Program, Refusal> {
        let compile = |btf: Option<Btf<'_>>| {
            let mut target = Target {
                arch: ARCH,
                at_entry: found.at_entry,
                symbols: &mut KernelSymbols,
                paths: PathOffsets {
                    dentry_name: paths::DENTRY_NAME,
                    file_dentry: paths::FILE_DENTRY,
                },
                btf,
                function: found.function(),
            };
            fetch::compile(definition, &mut target)
        };
        if types::are_needed(definition) {
            self.types.with(found.module(), compile)
        } else {
            compile(None)
        }
    }

    /// A number that neither an event nor a record in the buffer has.
    fn next_id(&mut self, events: &[Arc<Event>]) -> u16 {
        loop {
            self.last_id = self
                .last_id
                .checked_add(1)
                .unwrap_or(FIRST_ID)
                .max(FIRST_ID);
            let id = self.last_id;
            let taken = |format: &Arc<Format>| format.id == id;
            let defined = Iterator::chain(self.events.iter(), events);
            let formats = defined.map(|event| &event.format);
            // Fewer are taken than there are: memory runs out before.
            if !Iterator::chain(formats, self.retired.iter()).any(taken) {
                return id;
            }
        }
    }

    /// Makes `events` the set.
    fn accept(&mut self, tracer: &Arc<Tracer>, events: Vec<Arc<Event>>) -> Result {
        let is_in = |set: &[Arc<Event>], id: u16| set.iter().any(|event| event.format.id == id);
        let mut retired = Vec::new();
        for event in self
            .events
            .iter()
            .filter(|event| !is_in(&events, event.format.id))
        {
            retired.push(event.format.clone())?;
        }
        self.retired.reserve(retired.len())?;
        // Files of removed events go first: a new one may have the same name.
        let mut index = self.files.len();
        while let Some(next) = index.checked_sub(1) {
            index = next;
            if self
                .files
                .get(index)
                .is_some_and(|files| !is_in(&events, files.id()))
            {
                self.files.take(index);
            }
        }
        let mut made = Ok(());
        for event in &events {
            if !self.files.iter().any(|files| files.id() == event.format.id) {
                made = self.make_files(tracer, event);
                if made.is_err() {
                    break;
                }
            }
        }
        if let Err(error) = made {
            self.restore_files(tracer);
            return Err(error);
        }
        let removed = core::mem::replace(&mut self.events, events);
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
        let mut index = self.files.len();
        while let Some(next) = index.checked_sub(1) {
            index = next;
            let id = self.files.get(index).map(EventFiles::id);
            if !self.events.iter().any(|event| Some(event.format.id) == id) {
                self.files.take(index);
            }
        }
        let Ok(events) = clone(&self.events) else {
            return;
        };
        for event in &events {
            let has = self.files.iter().any(|files| files.id() == event.format.id);
            if !has && self.make_files(tracer, event).is_err() {
                pr_warn!("no memory for the files of event {}\n", event.format.name());
            }
        }
        self.drop_empty_groups();
    }

    fn drop_empty_groups(&mut self) {
        let mut index = self.groups.len();
        while let Some(next) = index.checked_sub(1) {
            index = next;
            let empty = self.groups.get(index).is_some_and(|group| {
                !self
                    .events
                    .iter()
                    .any(|event| *event.format.group == *group.name)
            });
            if empty {
                self.groups.take(index);
            }
        }
    }
}

/// Applies a write to `kprobe_events`.
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

/// Takes what `deletion` names out of `events`.
fn delete(events: &mut Vec<Arc<Event>>, deletion: &Deletion) -> Result<(), Refusal> {
    /// Where the names stand, behind `-:`.
    const NAMES: usize = 2;

    let named = |event: &Arc<Event>| deletion.matches(event.definition());
    if !events.iter().any(named) {
        return Err(Refusal::new(Kind::NoSuchEvent, NAMES));
    }
    if events
        .iter()
        .any(|event| named(event) && event.is_enabled())
    {
        return Err(Refusal::new(Kind::EventBusy, NAMES));
    }
    let mut index = events.len();
    while let Some(next) = index.checked_sub(1) {
        index = next;
        if events.get(index).is_some_and(named) {
            events.take(index);
        }
    }
    Ok(())
}

fn clone(events: &[Arc<Event>]) -> Result<Vec<Arc<Event>>, crate::sys::AllocError> {
    Vec::from_slice(events)
}

impl Failure {
    fn no_memory(_: crate::sys::AllocError) -> Self {
        Self {
            refusal: Refusal::new(Kind::NoMemory, 0),
            command: Vec::new(),
        }
    }
}

/// The kernel's symbols.
struct KernelSymbols;

impl Symbols for KernelSymbols {
    fn address(&mut self, name: &[u8]) -> Option<u64> {
        symbol::lookup(&c_string(name)?)
    }
}
