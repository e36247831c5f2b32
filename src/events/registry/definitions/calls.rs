// SPDX-License-Identifier: GPL-2.0

//! The events of system calls, which exist while the module is loaded.

use super::Definitions;
use crate::{
    buffer::Buffer,
    engine::{
        definition::{
            ast::{Definition, Place, Which},
            kind::ProbeKind,
        },
        program::{
            fetch::Program,
            syscall::{self, Call, Copies, Returns, DEFAULT_COPIED},
        },
        record::Layout,
        refusal::error::{Error as Refusal, Kind},
        util::text::Plain,
    },
    events::{
        event::Event,
        event_file::EventFile,
        probe::Probe,
        registry::{instances::Instances, set::Set},
    },
    formats::Format,
    hit::{
        calls::{CallRecorder, InProgress, WholeCallRecorder},
        plan::Plan,
        recorder_builder::RecorderBuilder,
    },
    kapi::{
        stack::StackFunction,
        tracepoint::{
            skipped::SkippedCalls,
            syscall::{Calls, When, KNOWS_TEXTS},
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
// The removal is dropped before the tables.
pub(crate) struct SystemCalls {
    pub(super) probes: Set,
    /// Has memory for removing the probes.
    removal: Removal,
    /// `None` if there are no events.
    tables: Option<CallTables>,
    /// `syscall_user_buf_size`, kept here while there are no events.
    limit: u32,
    /// `call_string_size`.
    whole_limit: u32,
}

/// The recorders of system calls.
struct CallTables {
    /// Entries and returns of calls.
    sides: Arc<Calls<CallRecorder>>,
    /// Whole calls, one record for entry and return.
    whole: Arc<Calls<WholeCallRecorder>>,
    in_progress: Arc<InProgress>,
    /// The 32-bit calls that the tables cannot record.
    skipped: Arc<SkippedCalls>,
}

impl CallTables {
    fn new(points: &Arc<Tracepoints>) -> Result<Self> {
        let in_progress = Arc::new(InProgress::new(points)?, GFP_KERNEL)?;
        let skipped = SkippedCalls::new()?;
        let no_calls = Arc::new((), GFP_KERNEL)?;
        Ok(Self {
            sides: Calls::new(points, DEFAULT_COPIED, no_calls, (&skipped, 0))?,
            whole: Calls::new(points, DEFAULT_COPIED, in_progress.clone(), (&skipped, 2))?,
            in_progress,
            skipped,
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
            limit: DEFAULT_COPIED,
            whole_limit: DEFAULT_COPIED,
        }
    }

    /// Returns whether a system call's event has the names of `definition`.
    pub(super) fn have(&self, definition: &Definition) -> bool {
        let groups = [ProbeKind::Enter, ProbeKind::Call].map(|kind| kind.default_group.as_bytes());
        groups.contains(&&*definition.group) && self.probes.has(definition)
    }

    /// If `definition` names a function of a system call that does not exist, or lacks the call's
    /// arguments, adds the call's event to `refusal` as advice.
    #[cold]
    #[inline(never)]
    pub(super) fn advise(&self, refusal: Refusal, definition: &Definition) -> Refusal {
        let Some((None, function)) = definition.place.symbol() else {
            return refusal;
        };
        let name = match refusal.kind {
            Kind::BadProbeAddr => Some(syscall::called(function)),
            Kind::NoBtfarg | Kind::NoBtfEntry => syscall::served_by(function),
            _ => None,
        };
        let is_call = |probe: &Arc<Probe>| {
            let other = probe.definition();
            other.kind == ProbeKind::Call && Some(&*other.event) == name
        };
        match name {
            Some(name) if self.probes.iter().any(is_call) => refusal.with_more(format_args!(
                "; the arguments of that system call are in events/calls/{}",
                Plain(name)
            )),
            _ => refusal,
        }
    }

    /// Removes all events. Calls may be served until the result is dropped, which waits for them.
    pub(super) fn shut_down(&mut self) -> Self {
        let mut all = mem::replace(self, Self::new());
        while let Some(probe) = all.probes.pop() {
            probe.remove(&mut all.removal);
        }
        all
    }
}

impl Definitions {
    /// Makes the events of all system calls, with their files. Returns false if the kernel does not
    /// describe its system calls.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of creating files; on an error no event has been made.
    ///
    /// Context: process, may sleep.
    #[inline(never)]
    pub(crate) fn add_system_calls(&mut self, instances: &mut Instances) -> Result<bool> {
        let tables = match CallTables::new(&self.points) {
            Err(error) if error == ENOENT || error == ENODEV => return Ok(false),
            tables => tables?,
        };
        let plan = Plan::recording(None)?;
        let buffer = instances.top().buffer.clone();
        let caller = |name: &[u8]| -> Result<StackFunction> {
            let point = self.points.find(name)?;
            Ok(point.map_or_else(StackFunction::default, |point| point.callers()))
        };
        let (enter, exit) = (caller(b"sys_enter")?, caller(b"sys_exit")?);
        let mut probes = Set::new();
        let mut names = mem::replace(&mut self.names, crate::source::names::Names::new());
        let all = syscalls::each(&mut names, |number, mut call| {
            let (program, layout, copies) = call.enter(MACHINE.arch)?;
            let made = (&call, number, ProbeKind::Enter, program, layout);
            self.add_call(&mut probes, (&plan, &buffer), made, |mut recorder| {
                recorder.set_function(enter);
                let recorder = CallRecorder::new(recorder, copies);
                Registered::of_call(&tables.sides, (number, &[When::Enter]), recorder)
            })?;
            let (program, layout) = call.exit(MACHINE.arch)?;
            let made = (&call, number, ProbeKind::Exit, program, layout);
            self.add_call(&mut probes, (&plan, &buffer), made, |mut recorder| {
                recorder.set_function(exit);
                let recorder = CallRecorder::new(recorder, Copies::default());
                Registered::of_call(&tables.sides, (number, &[When::Exit]), recorder)
            })?;
            for compat in call.compat_numbers(MACHINE.arch) {
                tables.whole.add_compat(compat, number);
            }
            // The events of entry and return record what the kernel's own events do.
            if !KNOWS_TEXTS {
                call.find_texts();
            }
            let (program, layout, copies) = call.whole(MACHINE.arch)?;
            let made = (&call, number, ProbeKind::Call, program, layout);
            self.add_call(&mut probes, (&plan, &buffer), made, |mut recorder| {
                let returns = call.returns();
                recorder.set_function(match returns {
                    Returns::Never => enter,
                    Returns::Once | Returns::Twice => exit,
                });
                let in_progress = tables.in_progress.clone();
                let about = (copies, returns, number);
                let recorder = WholeCallRecorder::new(recorder, about, in_progress);
                // Returns first: otherwise the return of a call in progress comes without its
                // entry.
                let sides: &[When] = match returns {
                    Returns::Never => &[When::Enter],
                    Returns::Once | Returns::Twice => &[When::Exit, When::Enter],
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
        instances.reserve_formats(probes.len(), 0)?;
        let mut events = Vec::new();
        for probe in probes.iter() {
            events.push(probe.event.clone())?;
        }
        // There is no other instance yet.
        let permanent = Arc::new(events, GFP_KERNEL)?;
        instances.make_permanent(&permanent)?;
        for probe in probes.iter() {
            instances.add_format(&probe.event);
        }
        self.calls = SystemCalls {
            probes,
            removal,
            tables: Some(tables),
            limit: DEFAULT_COPIED,
            whole_limit: DEFAULT_COPIED,
        };
        Ok(true)
    }

    /// Adds the probe of one event to `probes`.
    fn add_call(
        &self,
        probes: &mut Set,
        (plan, buffer): (&Arc<Plan>, &Arc<Buffer>),
        (call, number, kind, program, layout): (&Call, u32, ProbeKind, Program, Layout),
        register: impl FnOnce(RecorderBuilder) -> Result<Registered>,
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
            maxactive: 0,
            group: Vec::from_slice(kind.default_group.as_bytes())?,
            event,
            place: Place::Symbol {
                name: Vec::from_slice(&call.name)?,
                which: Which::Only,
                offset: 0,
            },
            place_at: 0,
            args: Vec::new(),
            condition: None,
        };
        let number_of_event = self.numbers.take().map_err(no_memory)?;
        let format = Format::new(&definition, number_of_event, layout).map_err(no_memory)?;
        let mut files = Vec::new();
        files.push(Some(EventFile::new(plan.clone())?))?;
        let event = Event::new(format.clone(), (files, buffer.clone()), None).map_err(no_memory)?;
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

    /// Returns numbers and names of the system calls, ascending.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn call_names(&mut self) -> Result<Vec<(u32, Vec<u8>)>> {
        let mut all = Vec::new();
        syscalls::each(&mut self.names, |number, call| {
            Ok(all.push((number, call.name))?)
        })?;
        Ok(all)
    }

    /// Returns the limit of user memory recorded per argument at the entry of a call, in bytes.
    pub(crate) fn call_limit(&self) -> u32 {
        self.calls.limit
    }

    /// Sets the limit of [`Definitions::call_limit`] for later calls.
    pub(crate) fn set_call_limit(&mut self, limit: u32) {
        self.calls.limit = limit;
        if let Some(tables) = &self.calls.tables {
            tables.sides.set_limit(limit);
        }
    }

    /// Returns the limit of user memory recorded per argument of a whole call, in bytes.
    pub(crate) fn whole_call_limit(&self) -> u32 {
        self.calls.whole_limit
    }

    /// Sets the limit of [`Definitions::whole_call_limit`] for later calls; at most
    /// [`MAX_STRING`](syscall::MAX_STRING).
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_whole_call_limit(&mut self, limit: u32) -> Result {
        if let Some(tables) = &self.calls.tables {
            // CAST: A small constant.
            if limit > syscall::MAX_COPIED as u32 {
                tables.in_progress.make_long_room()?;
            }
            tables.whole.set_limit(limit);
        }
        self.calls.whole_limit = limit;
        Ok(())
    }

    /// Returns how many system calls were not recorded, or not completely.
    pub(crate) fn call_losses(&self) -> CallLosses {
        let Some(tables) = &self.calls.tables else {
            return CallLosses::default();
        };
        let (sides, whole) = (&tables.sides, &tables.whole);
        let [not_noted, cut] = tables.in_progress.not_noted();
        CallLosses {
            skipped: tables.skipped.calls(),
            not_noted,
            cut,
            unread: sides.unread().wrapping_add(whole.unread()),
        }
    }
}

/// System calls that were not recorded, or not completely.
#[derive(Default)]
pub(crate) struct CallLosses {
    /// 32-bit calls, which are not recorded.
    pub(crate) skipped: u64,
    /// Whole calls whose entry could not be stored.
    pub(crate) not_noted: u64,
    /// Calls with strings that were cut for lack of memory for long ones.
    pub(crate) cut: u64,
    /// Records with an argument whose memory could not be read.
    pub(crate) unread: u64,
}
