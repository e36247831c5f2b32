// SPDX-License-Identifier: GPL-2.0

//! `trace_pipe` and `per_cpu/cpuN/trace_pipe`: the events of all CPUs in the order
//! of their times, or those of one, each read once; a reader waits for them.

use super::{rejected, scope::Scope};
use crate::{
    engine::seq_buf::TextBuf,
    kapi::{
        debugfs::{File, OpenFile, READABLE},
        wake::PollTable,
    },
    print::Printer,
};
use core::{
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, ArcBorrow, Mutex},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// Most bytes of text that are made at once.
const CHUNK: usize = 16 * 1024;

/// The file.
pub(crate) struct TracePipe;

/// One opening.
#[pin_data]
pub(crate) struct Open {
    scope: Arc<Scope>,
    /// Something has been read.
    begun: AtomicBool,
    #[pin]
    text: Mutex<Pending>,
}

/// Text of consumed events that has not been read.
struct Pending {
    text: TextBuf,
    read: usize,
    printer: Printer,
}

impl Pending {
    /// Consumes events, about as many as fill `room` bytes.
    fn fill(&mut self, scope: &Scope, room: usize) -> Result {
        let instance = &scope.instance;
        self.text.clear();
        self.read = 0;
        let (text, printer) = (&mut self.text, &mut self.printer);
        let consumed = instance.buffer.consume(scope.cpu, |clock, cpu, event| {
            text.add(|buf| printer.event(instance, buf, (clock, cpu), event))?;
            Ok(text.len() < room)
        });
        printer.forget();
        consumed
    }

    fn is_empty(&self) -> bool {
        self.read >= self.text.len()
    }

    fn copy(&mut self, to: &mut UserSliceWriter) -> Result<usize> {
        let rest = self.text.as_bytes().get(self.read..).unwrap_or_default();
        let length = rest.len().min(to.len());
        to.write_slice(rest.get(..length).unwrap_or_default())?;
        self.read = self.read.saturating_add(length);
        Ok(length)
    }
}

impl File for TracePipe {
    type Data = Scope;
    type Open = Open;

    const SEEKABLE: bool = false;

    fn open(scope: ArcBorrow<'_, Scope>, _file: &OpenFile) -> Result<Pin<KBox<Open>>> {
        KBox::pin_init(
            pin_init!(Open {
                scope: scope.into(),
                begun: AtomicBool::new(false),
                text <- new_mutex!(Pending {
                    text: TextBuf::new(),
                    read: 0,
                    printer: Printer::new(),
                }),
            }),
            GFP_KERNEL,
        )
    }

    fn read(
        open: &Open,
        file: &OpenFile,
        to: &mut UserSliceWriter,
        _offset: &mut i64,
    ) -> Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        let buffer = &open.scope.instance.buffer;
        buffer.wait(|| {
            // Before the last look at the buffer: what came until then is read.
            let ends = !buffer.is_on() && open.begun.load(Ordering::Relaxed);
            {
                let mut pending = open.text.lock();
                if pending.is_empty() {
                    let filled = pending.fill(&open.scope, to.len().min(CHUNK));
                    // What was consumed before memory ran out is still read.
                    if pending.text.is_empty() {
                        filled?;
                    }
                }
                if !pending.text.is_empty() {
                    let length = pending.copy(to)?;
                    open.begun.store(true, Ordering::Relaxed);
                    return Ok(Some(length));
                }
            }
            // As the kernel's: the end, once recording is off and something was
            // read.
            if ends {
                return Ok(Some(0));
            }
            if file.is_nonblocking() {
                return Err(EAGAIN);
            }
            Ok(None)
        })
    }

    fn write(open: &Open, file: &OpenFile, from: UserSliceReader) -> Result {
        rejected::read_only(&*open.scope, file, from)
    }

    fn poll<'open>(open: &'open Open, file: &OpenFile, table: &PollTable<'open>) -> u32 {
        let buffer = &open.scope.instance.buffer;
        buffer.register(file, table);
        let pending = open.text.lock();
        if !pending.is_empty() || buffer.is_readable(open.scope.cpu) {
            READABLE
        } else {
            0
        }
    }
}
