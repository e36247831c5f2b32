// SPDX-License-Identifier: GPL-2.0

//! The events of system calls, which exist from when the module is loaded until it goes.

use super::{set::Set, Registry};
use crate::{
    engine::{
        ast::{Definition, Place, ProbeKind, Which},
        error::Error as Refusal,
        fetch::Program,
        record::Layout,
        syscall::{Call, Copies, DEFAULT_COPIED},
    },
    events::{event::Event, event_file::EventFile, format::Format, probe::Probe},
    hit::{
        calls::CallRecorder,
        plan::Plan,
        prepared::Prepared,
        whole_calls::{InProgress, WholeCallRecorder},
    },
    kapi::{
        stack::Function,
        tracepoint::{
            syscall::{Calls, When},
            Tracepoints,
        },
    },
    source::{
        machine::MACHINE,
        registered::{Registered, Removal},
        syscalls,
    },
    sys::{Box, Vec},
};
use core::mem;
use kernel::{prelude::*, sync::Arc};

/// The system calls and their events.
pub(super) struct SystemCalls {
    pub(super) probes: Set,
    /// Has room for the probes, so that their removal needs no memory.
    removal: Removal,
    /// `None` without events.
    tables: Option<Tables>,
}

/// What serves the calls.
struct Tables {
    /// Those that begin and those that return.
    sides: Arc<Calls<CallRecorder>>,
    /// Whole calls.
    whole: Arc<Calls<WholeCallRecorder>>,
    in_progress: Arc<InProgress>,
}

impl Tables {
    fn new(points: &Tracepoints) -> Result<Self> {
        Ok(Self {
            sides: Calls::new(points, DEFAULT_COPIED)?,
            whole: Calls::new(points, DEFAULT_COPIED)?,
            in_progress: Arc::new(InProgress::new(), GFP_KERNEL)?,
        })
    }
}

impl SystemCalls {
    /// Makes a table without events.
    pub(super) const fn new() -> Self {
        Self {
            probes: Set::new(),
            removal: Removal::new(),
            tables: None,
        }
    }

    /// Returns whether one of the events has the names of `definition`.
    pub(super) fn have(&self, definition: &Definition) -> bool {
        let groups = [ProbeKind::Enter, ProbeKind::Call].map(ProbeKind::default_group);
        groups.contains(&&*definition.group) && self.probes.has(definition)
    }

    /// Removes all events.
    pub(super) fn shut_down(&mut self) {
        while let Some(probe) = self.probes.pop() {
            probe.remove(&mut self.removal);
        }
        self.removal.end();
        self.tables = None;
    }
}

impl Registry {
    /// Makes the events of all system calls, with their files. Returns false if this kernel
    /// does not describe its system calls.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of creating files; then there are none.
    ///
    /// Context: process, may sleep.
    pub(crate) fn add_system_calls(&mut self) -> Result<bool> {
        let tables = match Tables::new(&self.points) {
            Err(error) if error == ENOENT => return Ok(false),
            tables => tables?,
        };
        let plan = Plan::recording(None)?;
        let caller = |name: &[u8]| -> Result<Function> {
            let point = self.points.find(name)?;
            Ok(point.map_or_else(Function::default, |point| Function::at(point.iterator())))
        };
        let (enter, exit) = (caller(b"sys_enter")?, caller(b"sys_exit")?);
        let mut probes = Set::new();
        let mut names = mem::replace(&mut self.names, crate::source::names::Names::new());
        let all = syscalls::each(&mut names, |number, call| {
            let (program, layout, copies) = call.enter(MACHINE.arch)?;
            let made = (&call, number, ProbeKind::Enter, program, layout);
            self.add_call(&mut probes, &plan, made, |mut recorder| {
                recorder.set_function(enter);
                let recorder = CallRecorder::new(recorder, copies);
                Registered::of_call(&tables.sides, (number, &[When::Enter]), recorder)
            })?;
            let (program, layout) = call.exit(MACHINE.arch)?;
            let made = (&call, number, ProbeKind::Exit, program, layout);
            self.add_call(&mut probes, &plan, made, |mut recorder| {
                recorder.set_function(exit);
                let recorder = CallRecorder::new(recorder, Copies::default());
                Registered::of_call(&tables.sides, (number, &[When::Exit]), recorder)
            })?;
            let (program, layout, copies) = call.whole(MACHINE.arch)?;
            let made = (&call, number, ProbeKind::Call, program, layout);
            self.add_call(&mut probes, &plan, made, |mut recorder| {
                recorder.set_function(if call.returns() { exit } else { enter });
                let in_progress = tables.in_progress.clone();
                let copies = (copies, call.returns());
                let recorder = WholeCallRecorder::new(recorder, copies, in_progress);
                // The returns first: of calls in progress only these are seen.
                let sides: &[When] = match call.returns() {
                    true => &[When::Exit, When::Enter],
                    false => &[When::Enter],
                };
                Registered::of_whole_call(&tables.whole, (number, sides), recorder)
            })
        });
        self.names = names;
        if !all? {
            return Ok(false);
        }
        let mut removal = Removal::new();
        removal.expect_only(probes.iter().map(|probe| probe.definition().kind))?;
        self.reserve_formats(probes.len(), 0)?;
        let mut events = Vec::new();
        for probe in probes.iter() {
            events.push(probe.event.clone())?;
            probe.event.set_has_files();
        }
        // There is no other instance yet.
        let files = &mut self.instances.top.files;
        let made = files.make(&events)?;
        files.accept(&probes, None, made);
        for probe in probes.iter() {
            self.add_format(&probe.event);
        }
        self.calls = SystemCalls {
            probes,
            removal,
            tables: Some(tables),
        };
        Ok(true)
    }

    /// Adds the probe of one event to `probes`.
    fn add_call(
        &self,
        probes: &mut Set,
        plan: &Arc<Plan>,
        (call, number, kind, program, layout): (&Call, u32, ProbeKind, Program, Layout),
        register: impl FnOnce(Prepared) -> Result<Registered>,
    ) -> Result {
        let no_memory = |_: Refusal| ENOMEM;
        let prefix: &[u8] = match kind {
            ProbeKind::Enter => b"sys_enter_",
            ProbeKind::Exit => b"sys_exit_",
            _ => b"",
        };
        let mut event = Vec::from_slice(prefix)?;
        event.extend_from_slice(call.name.strip_prefix(b"sys_").unwrap_or(&call.name))?;
        let definition = Definition {
            kind,
            group: Vec::from_slice(kind.default_group())?,
            event,
            place: Place::Symbol {
                name: Vec::from_slice(&call.name)?,
                which: Which::Only,
                offset: 0,
            },
            place_at: 0,
            args: Vec::new(),
        };
        let number_of_event = self.numbers.take().map_err(no_memory)?;
        let format = Format::new(&definition, number_of_event, layout).map_err(no_memory)?;
        let mut files = Vec::new();
        files.push(Some(EventFile::new(plan.clone())?))?;
        let buffer = self.instances.top.buffer.clone();
        let event = Event::new(format.clone(), (files, buffer), None).map_err(no_memory)?;
        let probe = Probe::of_call(
            (event, Arc::new(definition, GFP_KERNEL)?),
            (format, Box::new(program)?),
            number,
            register,
        )?;
        probes.reserve(1)?;
        probes.push(Arc::new(probe, GFP_KERNEL)?);
        Ok(())
    }

    /// Returns the number of bytes of user memory that events of system calls record of an
    /// argument; `None` if there are no such events.
    pub(crate) fn call_limit(&self) -> Option<u32> {
        self.calls
            .tables
            .as_ref()
            .map(|tables| tables.sides.limit())
    }

    /// Sets that number, for system calls from now on.
    pub(crate) fn set_call_limit(&self, limit: u32) {
        if let Some(tables) = &self.calls.tables {
            tables.sides.set_limit(limit);
            tables.whole.set_limit(limit);
        }
    }

    /// Returns the number of 32-bit system calls that were not recorded, and of calls whose
    /// beginning could not be noted.
    pub(crate) fn skipped_calls(&self) -> (u64, u64) {
        let tables = self.calls.tables.as_ref();
        tables.map_or((0, 0), |tables| {
            let skipped = tables.sides.skipped().max(tables.whole.skipped());
            (skipped, tables.in_progress.not_noted())
        })
    }
}
