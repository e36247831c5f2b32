// SPDX-License-Identifier: GPL-2.0

//! The text of files that show the events of a buffer without consuming them.
//!
//! It is made as it is read, from a snapshot of each CPU's ring at the first read.

use super::scope::Scope;
use crate::{
    buffer::{Iterators, Side},
    engine::{print::PrintedText, record::format, ring::Stats, util::seq_buf::TextBuf},
    instance::Instance,
    kapi::{context, parameters, percpu, tree::ReadTo},
    options::Flag,
    print::Printer,
    sys::{AllocError, Vec},
};
use core::fmt::{self, Write as _};
use kernel::{new_mutex, prelude::*, sync::Mutex};

/// Number of bytes of text that are made ahead of the reader.
const AHEAD: usize = 16 * 1024;

/// The text of one open file.
#[pin_data]
pub(super) struct Listing {
    #[pin]
    pass: Mutex<Option<ListingPass>>,
}

/// The text of one pass over the buffer.
struct ListingPass {
    /// The remaining events; `None` if there is nothing to show.
    events: Option<Iterators>,
    printer: Printer<PrintedText>,
    /// Text that is not yet read; it begins at `offset` of the file.
    text: TextBuf,
    offset: usize,
    /// CPUs whose first event was passed, if the start of each CPU is to be marked.
    started: Option<Vec<u32>>,
}

impl ListingPass {
    fn new(scope: &Scope) -> Result<Self> {
        if scope.side == Side::Snapshot {
            // A reader expects the snapshot that a trigger has requested.
            scope.instance.buffer.take_requested_snapshot();
        }
        let found = scope.instance.buffer.iterators(scope.side, scope.cpu)?;
        match (scope.side, found) {
            (Side::Snapshot, Some((_, stats))) if stats.entries == 0 => {
                Self::of_nothing(scope, true)
            }
            (_, Some((events, stats))) => Self::of(scope, events, &stats),
            (_, None) => Self::of_nothing(scope, false),
        }
    }

    /// The text for a missing or empty snapshot.
    fn of_nothing(scope: &Scope, allocated: bool) -> Result<Self> {
        let mut text = TextBuf::new();
        text.add(|buf| {
            let _ = explain(buf, scope.cpu, allocated);
        })?;
        Ok(Self {
            events: None,
            printer: Printer::new().counted_from_zero(),
            text,
            offset: 0,
            started: None,
        })
    }

    fn of(scope: &Scope, events: Iterators, stats: &Stats) -> Result<Self> {
        let online = percpu::possible_cpus().filter(|&cpu| percpu::is_online(cpu));
        let options = &scope.instance.options;
        let mut text = TextBuf::new();
        if options.has(Flag::ContextInfo) {
            let columns = (options.has(Flag::IrqInfo), options.has(Flag::RecordTgid));
            let written = stats.entries.wrapping_add(stats.overrun);
            // CAST: A number of CPUs.
            let online = online.count() as u32;
            let is_verbose = options.has(Flag::Verbose);
            let is_latency = options.has(Flag::LatencyFormat);
            text.add(|buf| {
                let _ = if is_latency {
                    write_latency_header(buf, (stats.entries, written), online, is_verbose)
                } else if is_verbose {
                    buf.write_str(format::TRACE_HEADER)
                } else {
                    format::write_trace_header(buf, stats.entries, written, online, columns)
                };
            })?;
        }
        let annotated = stats.overrun > 0 && options.has(Flag::Annotate);
        Ok(Self {
            events: Some(events),
            printer: Printer::new().counted_from_zero(),
            text,
            offset: 0,
            started: annotated.then(Vec::new),
        })
    }

    /// Makes more text; returns false at the end.
    fn fill(&mut self, instance: &Instance) -> Result<bool> {
        let mut any = false;
        let Some(events) = &mut self.events else {
            return Ok(false);
        };
        let clock = events.clock;
        while self.text.len() < AHEAD {
            let Some((cpu, event)) = events.peek() else {
                break;
            };
            let text = &mut self.text;
            let made = mark_start(&mut self.started, text, cpu)
                .and_then(|()| self.printer.add(instance, text, (clock, cpu), &event));
            match made {
                Ok(()) => events.advance(),
                // The reader gets the text made so far first, and then the error.
                Err(_) if any => break,
                Err(error) => return Err(error.into()),
            }
            any = true;
        }
        let next = events.peek().map(|(_, event)| event.ts);
        self.printer.fill_delay(&mut self.text, next)?;
        self.printer.forget();
        Ok(any)
    }
}

/// Marks the start of the events of `cpu`, unless `started` already contains it or marks are off.
///
/// # Errors
///
/// [`AllocError`] if out of memory; nothing is then added.
fn mark_start(
    started: &mut Option<Vec<u32>>,
    text: &mut TextBuf,
    cpu: u32,
) -> Result<(), AllocError> {
    let Some(started) = started.as_mut().filter(|started| !started.contains(&cpu)) else {
        return Ok(());
    };
    started.reserve(1)?;
    if !started.is_empty() {
        text.add(|buf| {
            let _ = format::write_buffer_started(buf, cpu);
        })?;
    }
    started.push(cpu)
}

impl Listing {
    /// Makes a listing of which nothing has been read.
    pub(super) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            pass <- new_mutex!(None),
        })
    }

    /// Reads at `offset` of the text for `scope`, and advances it.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an offset before the beginning, `ENOMEM`, `EFAULT`; `EINTR` if the
    /// task is killed.
    pub(super) fn read(
        &self,
        scope: &Scope,
        to: &mut ReadTo<'_>,
        offset: &mut i64,
    ) -> Result<usize> {
        let at = usize::try_from(*offset).map_err(|_| EINVAL)?;
        let mut guard = self.pass.lock();
        // A reader that seeks back sees the current events.
        if at == 0 || guard.as_ref().is_some_and(|pass| at < pass.offset) {
            *guard = None;
        }
        let pass = match &mut *guard {
            Some(pass) => pass,
            empty => empty.insert(ListingPass::new(scope)?),
        };
        loop {
            let skip = at.saturating_sub(pass.offset);
            if let Some(rest) = pass
                .text
                .as_bytes()
                .get(skip..)
                .filter(|rest| !rest.is_empty())
            {
                let length = rest.len().min(to.len());
                to.write_slice(rest.get(..length).unwrap_or_default())?;
                // CAST: A length in memory.
                *offset = offset.wrapping_add(length as i64);
                return Ok(length);
            }
            pass.offset = pass.offset.saturating_add(pass.text.len());
            pass.text.clear();
            if !pass.fill(&scope.instance)? {
                return Ok(0);
            }
            // A reader that starts at a large offset skips all events.
            if context::is_being_killed() {
                return Err(EINTR);
            }
        }
    }
}

/// Writes the header of `trace` in the kernel's latency format, for a buffer with the first of
/// `events` of the second; nothing for an empty buffer.
///
/// # Errors
///
/// The errors of `out`.
fn write_latency_header(
    out: &mut dyn fmt::Write,
    events: (u64, u64),
    online: u32,
    is_verbose: bool,
) -> fmt::Result {
    out.write_str(format::TRACE_HEADER)?;
    if events.0 == 0 {
        return Ok(());
    }
    let mut room = [0; 64];
    let bytes = room.iter_mut().zip(parameters::release());
    let length = bytes.map(|(to, byte)| *to = byte).count();
    let release = room.get(..length).unwrap_or_default();
    let machine = (release, PREEMPTION, online);
    format::write_latency_header(out, events, machine)?;
    match is_verbose {
        true => Ok(()),
        false => out.write_str(format::LATENCY_COLUMNS),
    }
}

/// The kernel's preemption model, as far as its configuration tells.
const PREEMPTION: &str = if cfg!(CONFIG_PREEMPT_RT) {
    "PREEMPT_RT"
} else if cfg!(CONFIG_PREEMPT_BUILD) {
    "PREEMPT"
} else if cfg!(CONFIG_PREEMPT_VOLUNTARY) {
    "VOLUNTARY"
} else {
    "NONE"
};

/// Explains an empty snapshot and what can be written.
///
/// # Errors
///
/// The errors of `out`.
fn explain(out: &mut dyn fmt::Write, cpu: Option<u32>, allocated: bool) -> fmt::Result {
    let state = if allocated { "allocated" } else { "freed" };
    let whose = if cpu.is_some() {
        "this CPU has"
    } else {
        "all CPUs have"
    };
    writeln!(out, "# tracer: nop\n#\n# * Snapshot is {state} *\n#")?;
    if cpu.is_none() {
        out.write_str("# echo 0 >snapshot: forgets it and frees its memory\n")?;
    }
    writeln!(out, "# echo 1 >snapshot: sets aside what {whose} recorded")?;
    out.write_str("# echo 2 >snapshot: forgets it\n")
}
