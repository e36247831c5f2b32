// SPDX-License-Identifier: GPL-2.0

//! An instance: a buffer with its options.

use crate::{
    buffer::{Buffer, Side},
    kapi::clock::Clock,
    options::{Flag, Options},
    tracer::Tracer,
};
use kernel::{prelude::*, sync::Arc};

/// A buffer with its options, and what most files are of: ftrace's `struct trace_array`.
/// There is one.
pub(crate) struct Instance {
    /// The state that all instances share.
    pub(crate) tracer: Arc<Tracer>,
    /// The buffer in which events are recorded.
    pub(crate) buffer: Arc<Buffer>,
    /// The options of recording and printing.
    pub(crate) options: Options,
}

impl Instance {
    /// Makes the instance whose buffer the probes of `tracer` record in.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(tracer: Arc<Tracer>) -> Result<Arc<Self>> {
        let instance = Self {
            buffer: tracer.buffer.clone(),
            options: Options::new(),
            tracer,
        };
        Ok(Arc::new(instance, GFP_KERNEL)?)
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
    /// `EINVAL` for a fixed option.
    pub(crate) fn set_option(&self, flag: Flag, on: bool) -> Result {
        if flag.is_fixed() && on != self.options.has(flag) {
            return Err(EINVAL);
        }
        if flag == Flag::Overwrite {
            self.buffer.set_overwrite(on);
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
