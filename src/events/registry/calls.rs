// SPDX-License-Identifier: GPL-2.0

//! The events of system calls, which exist from when the module is loaded until it goes.

use super::{set::Set, Registry};
use crate::{
    engine::{
        ast::{Definition, Place, ProbeKind},
        error::Error as Refusal,
        fetch::Program,
        record::Layout,
        syscall::{Call, Copies, DEFAULT_COPIED},
    },
    events::{event::Event, format::Format, probe::Probe},
    hit::{calls::CallRecorder, plan::Plan},
    kapi::tracepoint::syscall::{Calls, When},
    source::{machine::MACHINE, registered::Removal, syscalls},
    sys::Vec,
};
use core::mem;
use kernel::{prelude::*, sync::Arc};

/// The system calls and their events.
pub(super) struct SystemCalls {
    pub(super) probes: Set,
    /// Has room for the probes, so that their removal needs no memory.
    removal: Removal,
    /// `None` without events.
    table: Option<Arc<Calls<CallRecorder>>>,
}

impl SystemCalls {
    /// Makes a table without events.
    pub(super) const fn new() -> Self {
        Self {
            probes: Set::new(),
            removal: Removal::new(),
            table: None,
        }
    }

    /// Removes all events.
    pub(super) fn shut_down(&mut self) {
        while let Some(probe) = self.probes.pop() {
            probe.remove(&mut self.removal);
        }
        self.removal.end();
        self.table = None;
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
        let table = match Calls::new(&self.points, DEFAULT_COPIED) {
            Err(error) if error == ENOENT => return Ok(false),
            table => table?,
        };
        let plan = Plan::all()?;
        let mut probes = Set::new();
        let mut names = mem::replace(&mut self.names, crate::source::names::Names::new());
        let all = syscalls::each(&mut names, |number, call| {
            let (program, layout, copies) = call.enter(MACHINE.arch)?;
            self.add_call(
                &mut probes,
                (&call, number, ProbeKind::Enter),
                (program, layout, copies),
                (&table, &plan),
            )?;
            let (program, layout) = call.exit(MACHINE.arch)?;
            self.add_call(
                &mut probes,
                (&call, number, ProbeKind::Exit),
                (program, layout, Copies::default()),
                (&table, &plan),
            )
        });
        self.names = names;
        if !all? {
            return Ok(false);
        }
        let mut removal = Removal::new();
        removal.expect_only(probes.iter().map(|probe| probe.definition().kind))?;
        self.formats.reserve(probes.len(), 0)?;
        let made = self.files.make(&probes)?;
        self.files.accept(&probes, None, made);
        for probe in probes.iter() {
            self.formats.add(probe.event.format.clone());
        }
        self.calls = SystemCalls {
            probes,
            removal,
            table: Some(table),
        };
        Ok(true)
    }

    /// Adds the probe of one event to `probes`.
    fn add_call(
        &self,
        probes: &mut Set,
        (call, number, kind): (&Call, u32, ProbeKind),
        (program, layout, copies): (Program, Layout, Copies),
        (table, plan): (&Arc<Calls<CallRecorder>>, &Arc<Plan>),
    ) -> Result {
        let no_memory = |_: Refusal| ENOMEM;
        let (prefix, when): (&[u8], _) = match kind {
            ProbeKind::Exit => (b"sys_exit_", When::Exit),
            _ => (b"sys_enter_", When::Enter),
        };
        let mut event = Vec::from_slice(prefix)?;
        event.extend_from_slice(call.name.strip_prefix(b"sys_").unwrap_or(&call.name))?;
        let definition = Definition {
            kind,
            group: Vec::from_slice(kind.default_group())?,
            event,
            place: Place::Symbol {
                name: Vec::from_slice(&call.name)?,
                offset: 0,
            },
            place_at: 0,
            args: Vec::new(),
        };
        let number_of_event = self.numbers.take().map_err(no_memory)?;
        let format = Format::new(&definition, number_of_event, layout).map_err(no_memory)?;
        let event = Event::new(format.clone(), plan.clone()).map_err(no_memory)?;
        let probe = Probe::of_call(
            (event, Arc::new(definition, GFP_KERNEL)?),
            (format, program, copies),
            &self.buffer,
            (table, number, when),
        )?;
        probes.reserve(1)?;
        probes.push(Arc::new(probe, GFP_KERNEL)?);
        Ok(())
    }

    /// Returns the number of bytes of user memory that events of system calls record of an
    /// argument; `None` if there are no such events.
    pub(crate) fn call_limit(&self) -> Option<u32> {
        self.calls.table.as_ref().map(|table| table.limit())
    }

    /// Sets that number, for system calls from now on.
    pub(crate) fn set_call_limit(&self, limit: u32) {
        if let Some(table) = &self.calls.table {
            table.set_limit(limit);
        }
    }

    /// Returns the number of 32-bit system calls that were not recorded.
    pub(crate) fn skipped_calls(&self) -> u64 {
        self.calls.table.as_ref().map_or(0, |table| table.skipped())
    }
}
