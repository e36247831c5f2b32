// SPDX-License-Identifier: GPL-2.0

//! An instance: a buffer with its options, and the events enabled for it.

use crate::{
    buffer::{Buffer, Cleared, Side},
    events::{event_file::InstanceId, marks::Marks, registry::InInstance},
    followed::Followed,
    formats::Formats,
    former_code::FormerCode,
    hit::plan::Stacks,
    kapi::{
        clock::{self, Clock},
        wake::Waker,
    },
    options::{Flag, Options},
    processes::Processes,
    sys::Vec,
    tracer::{self, Tracer},
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// A buffer with its options, to which most files belong: ftrace's `struct trace_array`. The top
/// directory is one; users make the others below `instances`.
#[pin_data]
pub(crate) struct Instance {
    /// The state that all instances share.
    pub(crate) tracer: Arc<Tracer>,
    /// The id of the instance.
    pub(crate) id: InstanceId,
    /// The buffer in which events are recorded.
    pub(crate) buffer: Arc<Buffer>,
    /// The formats of events that may have records in the buffer.
    pub(crate) formats: Arc<Formats>,
    /// Unloaded code that addresses in the buffer and in histograms may mean.
    pub(crate) former_code: Arc<FormerCode>,
    /// The event `print`.
    pub(crate) marks: Arc<Marks>,
    /// The options of recording and printing.
    pub(crate) options: Options,
    /// When the buffer was last emptied, by its clock.
    pub(crate) cleared: Cleared,
    /// The tasks whose hits count.
    #[pin]
    pub(crate) followed: Followed,
    /// The processes of threads.
    #[pin]
    pub(crate) processes: Processes,
    /// What the last write to `reset` has taken back, as text.
    #[pin]
    pub(crate) last_reset: Mutex<Vec<u8>>,
    /// Waits for changes of histograms. Hits do not wake it; waiters check from time to time.
    #[pin]
    pub(crate) counted: Waker,
}

impl Instance {
    /// Makes the instance of the top directory.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    #[inline(never)]
    pub(crate) fn top(tracer: Arc<Tracer>) -> Result<Arc<Self>> {
        let (buffer, formats) = (tracer.buffer.clone(), tracer.formats.clone());
        let (marks, former_code) = {
            let registry = tracer.registry.lock();
            let top = registry.instances.top();
            (top.marks.clone(), top.former_code.clone())
        };
        Self::with(
            tracer,
            InstanceId::TOP,
            (buffer, formats, former_code, marks),
        )
    }

    /// Makes an instance with a buffer of `kilobytes` for each CPU, and all events disabled. See
    /// [`Instance::remove`].
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn new(tracer: &Arc<Tracer>, kilobytes: usize) -> Result<Arc<Self>> {
        let local_clock = &tracer.local_clock;
        // Rings made now use the current clock `local`.
        let making = local_clock.making();
        let buffer = Buffer::new(kilobytes, clock::usual(), (local_clock, &making))?;
        let formats = Formats::new()?;
        let known = InInstance::new(buffer.clone(), formats.clone())?;
        let (marks, former_code) = (known.marks.clone(), known.former_code.clone());
        let id = tracer.registry.lock().add_instance(known)?;
        drop(making);
        let made = Self::with(tracer.clone(), id, (buffer, formats, former_code, marks));
        if made.is_err() {
            let removed = tracer.registry.lock().discard_instance(id);
            // Drop without the registry lock.
            drop(removed);
        }
        made
    }

    fn with(
        tracer: Arc<Tracer>,
        id: InstanceId,
        (buffer, formats, former_code, marks): (
            Arc<Buffer>,
            Arc<Formats>,
            Arc<FormerCode>,
            Arc<Marks>,
        ),
    ) -> Result<Arc<Self>> {
        let of = id;
        Arc::pin_init(
            pin_init!(Self {
                id,
                buffer,
                formats,
                former_code,
                marks,
                options: Options::new(),
                cleared: Cleared::new(),
                followed <- Followed::new(of),
                processes <- Processes::new(),
                last_reset <- new_mutex!(Vec::new()),
                counted <- Waker::new(),
                tracer,
            }),
            GFP_KERNEL,
        )
    }

    /// Disables the events of the instance and removes their files; not for the top directory. The
    /// caller removes the other files, none of which is open.
    ///
    /// # Errors
    ///
    /// As for [`Registry::remove_instance`](crate::events::registry::Registry::remove_instance);
    /// on failure the instance continues to exist, and some of its events may be disabled.
    ///
    /// Context: process, may sleep.
    pub(crate) fn remove(&self) -> Result {
        let removed = self.tracer.registry.lock().remove_instance(self.id)?;
        // Drop without the registry lock.
        drop(removed);
        Ok(())
    }

    /// Removes an instance that has not been used yet. Unlike [`Instance::remove`], needs no
    /// memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn discard(&self) {
        let removed = self.tracer.registry.lock().discard_instance(self.id);
        // Drop without the registry lock.
        drop(removed);
    }

    /// Switches to another clock, and clears the buffer.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_clock(&self, clock: Clock) -> Result {
        self.buffer.set_clock(clock)?;
        self.note_clearing();
        self.forget_formats();
        Ok(())
    }

    /// Switches an option.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a fixed option; `ENOMEM`; the errors of
    /// [`Followed::set_with_children`] and [`Processes::set_on`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_option(&self, flag: Flag, on: bool) -> Result {
        if flag.is_fixed() && on != self.options.has(flag) {
            return Err(EINVAL);
        }
        match flag {
            Flag::Overwrite => self.buffer.set_overwrite(on),
            Flag::EventFork => {
                let registry = &self.tracer.registry;
                self.followed.set_with_children(registry, on)?;
            }
            Flag::RecordTgid => self.processes.set_on(&self.tracer.registry, on)?,
            Flag::StackTrace => {
                let mut registry = self.tracer.registry.lock();
                registry.set_stack(self.id, Stacks::KERNEL, on)?;
            }
            Flag::UserStackTrace => {
                let mut registry = self.tracer.registry.lock();
                registry.set_stack(self.id, Stacks::USER, on)?;
            }
            _ => {}
        }
        self.options.set(flag, on);
        Ok(())
    }

    /// Clears the buffer of all CPUs, or of `cpu`, and frees formats of removed events that have no
    /// records any more.
    ///
    /// Context: process, may sleep.
    pub(crate) fn clear_buffer(&self, cpu: Option<u32>) {
        if cpu.is_none() {
            self.note_clearing();
        }
        self.buffer.clear(Side::Live, cpu);
        self.forget_formats();
    }

    /// Notes the current time, from which columns with relative times count.
    fn note_clearing(&self) {
        self.cleared.note(self.buffer.clock());
    }

    fn forget_formats(&self) {
        tracer::forget_formats(&self.buffer, &self.formats);
    }
}
