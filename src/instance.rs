// SPDX-License-Identifier: GPL-2.0

//! An instance: a buffer with its options.

use crate::{
    buffer::{Buffer, Side},
    followed::Followed,
    hit::plan::Stacks,
    kapi::{clock::Clock, wake::Waker},
    options::{Flag, Options},
    processes::Processes,
    tracer::Tracer,
};
use kernel::{prelude::*, sync::Arc};

/// A buffer with its options, and what most files are of: ftrace's `struct trace_array`.
/// There is one.
#[pin_data]
pub(crate) struct Instance {
    /// The state that all instances share.
    pub(crate) tracer: Arc<Tracer>,
    /// The buffer in which events are recorded.
    pub(crate) buffer: Arc<Buffer>,
    /// The options of recording and printing.
    pub(crate) options: Options,
    /// The tasks whose hits count.
    #[pin]
    pub(crate) followed: Followed,
    /// The processes of threads.
    #[pin]
    pub(crate) processes: Processes,
    /// Where those wait who wait for histograms. No hit wakes them: they look from time to
    /// time.
    #[pin]
    pub(crate) counted: Waker,
}

impl Instance {
    /// Makes the instance whose buffer the probes of `tracer` record in.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(tracer: Arc<Tracer>) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                buffer: tracer.buffer.clone(),
                options: Options::new(),
                followed <- Followed::new(),
                processes <- Processes::new(),
                counted <- Waker::new(),
                tracer,
            }),
            GFP_KERNEL,
        )
    }

    /// Takes the times of events from `clock`, and clears the buffer.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_clock(&self, clock: Clock) -> Result {
        self.buffer.set_clock(clock)?;
        self.tracer.forget_formats();
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
                registry.set_stack(Stacks::KERNEL, on)?;
            }
            Flag::UserStackTrace => {
                let mut registry = self.tracer.registry.lock();
                registry.set_stack(Stacks::USER, on)?;
            }
            _ => {}
        }
        self.options.set(flag, on);
        Ok(())
    }

    /// Clears the buffer of all CPUs, or of `cpu`, and forgets the formats that only
    /// those records needed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn clear_buffer(&self, cpu: Option<u32>) {
        self.buffer.clear(Side::Live, cpu);
        self.tracer.forget_formats();
    }
}
