// SPDX-License-Identifier: GPL-2.0

//! `trace_pipe` and `trace_json`, and those in `per_cpu/cpuN`: the events of all CPUs by time, or
//! those of one CPU, each read once, as text or as JSON. Readers wait for events.

use super::{scope::Scope, text};
use crate::{
    engine::{print::Renderer, util::seq_buf::TextBuf},
    kapi::{
        tree::{File, OpenFile, ReadTo, READABLE},
        user_room::UserRoom,
        wake::PollTable,
    },
    print::Printer,
};
use core::{
    marker::PhantomData,
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
    uaccess::UserSliceReader,
};

/// Maximum number of bytes of text that are made at once.
const CHUNK: usize = 16 * 1024;

/// The file whose events are rendered by `R`.
pub(crate) struct TracePipe<R>(PhantomData<R>);

#[pin_data]
pub(crate) struct OpenPipe<R> {
    scope: Arc<Scope>,
    /// Something has been read.
    begun: AtomicBool,
    #[pin]
    text: Mutex<Pending<R>>,
}

/// Text of consumed events that has not been read.
struct Pending<R> {
    text: TextBuf,
    read: usize,
    printer: Printer<R>,
}

impl<R: Renderer> Pending<R> {
    /// Consumes events that fill about `room` bytes.
    fn fill(&mut self, scope: &Scope, room: usize) -> Result {
        let instance = &scope.instance;
        self.text.clear();
        self.read = 0;
        let (text, printer) = (&mut self.text, &mut self.printer);
        let consumed = instance.buffer.consume(scope.cpu, |clock, cpu, event| {
            printer.add(instance, text, (clock, cpu), event)?;
            Ok(text.len() < room)
        });
        let filled = printer.fill_delay(text, None);
        printer.forget();
        consumed.and(filled.map_err(Into::into))
    }

    fn is_empty(&self) -> bool {
        self.read >= self.text.len()
    }

    /// [`Pending::fill`] if there is no text. Returns whether there is text now.
    fn refill(&mut self, scope: &Scope, room: usize) -> Result<bool> {
        if self.is_empty() {
            let filled = self.fill(scope, room.min(CHUNK));
            // Text made before memory ran out is still read.
            if self.text.is_empty() {
                filled?;
            }
        }
        Ok(!self.is_empty())
    }

    /// Passes up to `most` bytes of the text to `put`, and removes them.
    fn take(&mut self, most: usize, put: impl FnOnce(&[u8]) -> Result) -> Result<usize> {
        let rest = self.text.as_bytes().get(self.read..).unwrap_or_default();
        let length = rest.len().min(most);
        put(rest.get(..length).unwrap_or_default())?;
        self.read = self.read.saturating_add(length);
        Ok(length)
    }
}

impl<R: Renderer> OpenPipe<R> {
    /// Calls `attempt` until it returns text, waiting in between unless `nonblocking`; returns
    /// `None` at the end of the file.
    fn wait<T>(
        &self,
        nonblocking: bool,
        mut attempt: impl FnMut(&mut Pending<R>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let buffer = &self.scope.instance.buffer;
        buffer.wait(|| {
            // Checked before the last look at the buffer, so that everything recorded until then is
            // read.
            let ends = !buffer.is_on() && self.begun.load(Ordering::Relaxed);
            if let Some(done) = attempt(&mut self.text.lock())? {
                return Ok(Some(Some(done)));
            }
            // As in the kernel: the end, when recording is off and something was read.
            if ends {
                return Ok(Some(None));
            }
            if nonblocking {
                return Err(EAGAIN);
            }
            Ok(None)
        })
    }
}

impl<R: Renderer> File for TracePipe<R> {
    type Data = Arc<Scope>;
    type Open = OpenPipe<R>;

    const SEEKABLE: bool = false;
    const SPLICEABLE: bool = true;
    const WHOLE_PIECES: bool = false;

    fn open(scope: &Arc<Scope>, _file: &OpenFile) -> Result<Pin<KBox<OpenPipe<R>>>> {
        KBox::pin_init(
            pin_init!(OpenPipe {
                scope: scope.clone(),
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

    fn read_at_once(open: &OpenPipe<R>, to: &UserRoom) -> Option<usize> {
        if to.length() == 0 {
            return None;
        }
        let mut pending = open.text.lock();
        // `read` returns the error again.
        if !pending.refill(&open.scope, to.length()).ok()? {
            return None;
        }
        let put = |text: &[u8]| to.put_at_once(text).then_some(()).ok_or(EFAULT);
        let length = pending.take(to.length(), put).ok()?;
        open.begun.store(true, Ordering::Relaxed);
        Some(length)
    }

    fn read(
        open: &OpenPipe<R>,
        file: &OpenFile,
        to: &mut ReadTo<'_>,
        _offset: &mut i64,
    ) -> Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        let length = open.wait(file.is_nonblocking(), |pending| {
            if !pending.refill(&open.scope, to.len())? {
                return Ok(None);
            }
            let length = pending.take(to.len(), |text| to.write_slice(text))?;
            open.begun.store(true, Ordering::Relaxed);
            Ok(Some(length))
        })?;
        Ok(length.unwrap_or(0))
    }

    fn splice_ready(open: &OpenPipe<R>, _file: &OpenFile, nonblocking: bool) -> Result<bool> {
        let ready = open.wait(nonblocking, |pending| {
            Ok(pending.refill(&open.scope, CHUNK)?.then_some(()))
        })?;
        Ok(ready.is_some())
    }

    fn take(open: &OpenPipe<R>, page: &mut [u8]) -> Result<usize> {
        let mut pending = open.text.lock();
        if !pending.refill(&open.scope, CHUNK)? {
            return Ok(0);
        }
        let length = pending.take(page.len(), |text| {
            if let Some(to) = page.get_mut(..text.len()) {
                to.copy_from_slice(text);
            }
            Ok(())
        })?;
        open.begun.store(true, Ordering::Relaxed);
        Ok(length)
    }

    fn write(open: &OpenPipe<R>, file: &OpenFile, from: UserSliceReader) -> Result {
        text::read_only(&open.scope.instance.tracer, file, from)
    }

    fn poll<'open>(open: &'open OpenPipe<R>, file: &OpenFile, table: &PollTable<'open>) -> u32 {
        let buffer = &open.scope.instance.buffer;
        buffer.register(file, table);
        // A reader holds the lock while its memory is paged in, which may take long. Events that it
        // leaves are reported at the next wake-up.
        let pending = open.text.try_lock();
        let is_left = pending.is_some_and(|pending| !pending.is_empty());
        if is_left || buffer.is_readable(open.scope.cpu) {
            READABLE
        } else {
            0
        }
    }
}
