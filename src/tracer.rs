// SPDX-License-Identifier: GPL-2.0

//! What all files of the directory share.
//!
//! Locks, each taken only before those behind it:
//!
//! 1. a file's own, for the text of one opening
//! 2. the buffer's, for its readers
//! 3. the registry
//! 4. the error log, the choice of a map, which event a file is of
//! 5. the buffer's, for what is mapped; a task that maps holds the lock of its
//!    addresses before it, and none of the others
//!
//! The work that looks at the rates of probes takes the registry; so it is ended
//! by who does not hold that. Creating and removing files takes locks of debugfs
//! inside the registry's; so no file's `open` takes the registry's, except those of
//! `kprobe_events` and `set_event`, which are not removed under it.

use crate::{
    buffer::{Buffer, Side},
    errors::ErrorLog,
    kapi::clock::{self, Clock},
    limit::HitLimit,
    options::{Flag, Options},
    registry::Registry,
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// The state of the tracer.
#[pin_data]
pub(crate) struct Tracer {
    /// Where events are recorded.
    pub(crate) buffer: Arc<Buffer>,
    /// The defined events.
    #[pin]
    pub(crate) registry: Mutex<Registry>,
    /// How events are recorded and printed.
    pub(crate) options: Options,
    /// How often a probe may be hit.
    pub(crate) hit_limit: HitLimit,
    /// The refusals.
    #[pin]
    pub(crate) errors: Mutex<ErrorLog>,
    /// The address whose function `placement` shows.
    #[pin]
    pub(crate) mapped: Mutex<Option<u64>>,
}

impl Tracer {
    /// A tracer without events, that records.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(buffer_kilobytes: usize, hit_limit: u64) -> Result<Arc<Self>> {
        let buffer = Buffer::new(buffer_kilobytes, clock::calibrate())?;
        Arc::pin_init(
            pin_init!(Self {
                buffer,
                options: Options::new(),
                hit_limit: HitLimit::new(hit_limit),
                registry <- new_mutex!(Registry::new()),
                errors <- new_mutex!(ErrorLog::new()),
                mapped <- new_mutex!(None),
            }),
            GFP_KERNEL,
        )
    }

    /// Takes the times of events from `clock`, and forgets all recorded events.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_clock(&self, clock: Clock) -> Result {
        self.buffer.set_clock(clock)?;
        self.forget_formats();
        Ok(())
    }

    /// Switches an option.
    ///
    /// # Errors
    ///
    /// `EINVAL` for one that cannot be switched so.
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

    /// Forgets the recorded events of all CPUs, and the formats only they
    /// needed, or the events of `cpu`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn clear_buffer(&self, cpu: Option<u32>) {
        self.buffer.clear(Side::Live, cpu);
        if cpu.is_none() {
            self.forget_formats();
        }
    }

    /// Forgets the formats of removed events, of which nothing is left, unless a
    /// snapshot may have some.
    fn forget_formats(&self) {
        if !self.buffer.has_snapshot() {
            self.registry.lock().forget_retired();
        }
    }
}
