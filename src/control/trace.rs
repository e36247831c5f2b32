// SPDX-License-Identifier: GPL-2.0

//! `trace` and `per_cpu/cpuN/trace`: the events in the buffer, or of one CPU,
//! which reading leaves there; truncating the file, or any write, clears them.
//!
//! The text is made as it is read, from a snapshot of each CPU's ring that is
//! taken at the first read.

use super::scope::Scope;
use crate::{
    buffer::Snapshots,
    engine::{format, text::Appender},
    kapi::{
        debugfs::{File, OpenFile},
        percpu,
    },
    options::Flag,
    print::Printer,
    sys::Vec,
    tracer::Tracer,
};
use core::pin::Pin;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, ArcBorrow, Mutex},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// Bytes of text that are made ahead of the reader.
const AHEAD: usize = 16 * 1024;

/// The file.
pub(crate) struct Trace;

/// One opening.
#[pin_data(PinnedDrop)]
pub(crate) struct Open {
    scope: Arc<Scope>,
    /// Nothing is recorded as long as it is open.
    pauses: bool,
    #[pin]
    listing: Mutex<Option<Listing>>,
}

/// The text of one pass over the buffer.
struct Listing {
    events: Snapshots,
    printer: Printer,
    /// Text that is made and not yet read; it begins at `offset` of the file.
    text: Vec<u8>,
    offset: usize,
    /// CPUs whose first event was passed, when that is to be told.
    started: Option<Vec<u32>>,
}

#[pinned_drop]
impl PinnedDrop for Open {
    fn drop(self: Pin<&mut Self>) {
        if self.pauses {
            self.scope.tracer.buffer.resume();
        }
    }
}

impl Listing {
    fn new(scope: &Scope) -> Result<Self> {
        let (events, stats) = scope.tracer.buffer.snapshots(scope.cpu)?;
        let online = percpu::possible_cpus().filter(|&cpu| percpu::is_online(cpu));
        let options = &scope.tracer.options;
        let mut text = Vec::new();
        if options.has(Flag::ContextInfo) {
            format::write_trace_header(
                &mut Appender(&mut text),
                stats.entries,
                stats.entries.wrapping_add(stats.overrun),
                // CAST: A number of CPUs.
                online.count() as u32,
                options.has(Flag::IrqInfo),
            )
            .map_err(|_| ENOMEM)?;
        }
        let annotated = stats.overrun > 0 && options.has(Flag::Annotate);
        Ok(Self {
            events,
            printer: Printer::new(),
            text,
            offset: 0,
            started: annotated.then(Vec::new),
        })
    }

    /// Makes more text; false at the end.
    fn fill(&mut self, tracer: &Tracer) -> Result<bool> {
        let mut any = false;
        let clock = self.events.clock;
        while self.text.len() < AHEAD {
            let Some((cpu, event)) = self.events.peek() else {
                break;
            };
            let mut out = Appender(&mut self.text);
            if let Some(started) = &mut self.started {
                if !started.contains(&cpu) {
                    // Not before the very first event.
                    if !started.is_empty() {
                        format::write_buffer_started(&mut out, cpu).map_err(|_| ENOMEM)?;
                    }
                    started.push(cpu)?;
                }
            }
            self.printer
                .event(tracer, &mut out, (clock, cpu), &event)
                .map_err(|_| ENOMEM)?;
            self.events.advance();
            any = true;
        }
        Ok(any)
    }
}

impl File for Trace {
    type Data = Scope;
    type Open = Open;

    fn open(scope: ArcBorrow<'_, Scope>, file: &OpenFile) -> Result<Pin<KBox<Open>>> {
        let scope: Arc<Scope> = scope.into();
        let (tracer, cpu) = (scope.tracer.clone(), scope.cpu);
        let pauses = file.is_readable() && tracer.options.has(Flag::PauseOnTrace);
        // What can fail comes first.
        let open = KBox::pin_init(
            pin_init!(Open {
                scope,
                pauses,
                listing <- new_mutex!(None),
            }),
            GFP_KERNEL,
        )?;
        if file.truncates() {
            tracer.clear_buffer(cpu);
        }
        if pauses {
            tracer.buffer.pause();
        }
        Ok(open)
    }

    fn read(
        open: &Open,
        _file: &OpenFile,
        to: &mut UserSliceWriter,
        offset: &mut i64,
    ) -> Result<usize> {
        let at = usize::try_from(*offset).map_err(|_| EINVAL)?;
        let mut guard = open.listing.lock();
        // A reader that goes back sees the buffer anew.
        if at == 0 || guard.as_ref().is_some_and(|listing| at < listing.offset) {
            *guard = None;
        }
        let listing = match &mut *guard {
            Some(listing) => listing,
            empty => empty.insert(Listing::new(&open.scope)?),
        };
        loop {
            let skip = at.saturating_sub(listing.offset);
            if let Some(rest) = listing.text.get(skip..).filter(|rest| !rest.is_empty()) {
                let length = rest.len().min(to.len());
                to.write_slice(rest.get(..length).unwrap_or_default())?;
                // CAST: A length in memory.
                *offset = offset.wrapping_add(length as i64);
                return Ok(length);
            }
            listing.offset = listing.offset.saturating_add(listing.text.len());
            listing.text.clear();
            if !listing.fill(&open.scope.tracer)? {
                return Ok(0);
            }
        }
    }

    fn write(_open: &Open, _file: &OpenFile, _from: UserSliceReader) -> Result {
        // Opening it cleared the buffer.
        Ok(())
    }
}
