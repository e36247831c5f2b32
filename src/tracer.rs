// SPDX-License-Identifier: GPL-2.0

//! The state that all instances share.
//!
//! Locks, in the order in which they are taken:
//!
//! 1. the lock of a file, for the text of one opening; the lock of the instances, while one
//!    is made or removed
//! 2. the readers' lock of the buffer, the locks of the followed tasks and of
//!    the processes
//! 3. the registry lock
//! 4. the locks of the formats, of the error log, of the address that `placement` shows,
//!    of the event that a file belongs to; behind them that of the pool of event ids
//! 5. the lock of the buffer's mappings; a task that maps holds the lock of its
//!    address space before it, and none of the others
//!
//! The work that checks the rates of probes takes the registry lock, so its owner stops
//! it without holding that lock. Creating and removing files takes locks of debugfs with
//! the registry lock held, so no file's `open` takes the registry lock, except those of
//! `kprobe_events` and `set_event`, which are not removed under it.

use crate::{
    buffer::{now_by, Buffer},
    engine::error::Error as Refusal,
    errors::ErrorLog,
    events::{
        formats::Formats,
        owner::Owner,
        rate::HitLimit,
        registry::{Failure, InInstance, Registry},
    },
    kapi::clock::{self, Clock},
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// The state that all instances share.
#[pin_data]
pub(crate) struct Tracer {
    /// The buffer of the instance of the top directory.
    pub(crate) buffer: Arc<Buffer>,
    /// The formats of the events that may be in it.
    pub(crate) formats: Arc<Formats>,
    /// The defined events.
    #[pin]
    pub(crate) registry: Mutex<Registry>,
    /// The limit of hits per second.
    pub(crate) hit_limit: HitLimit,
    /// The log of refusals.
    #[pin]
    pub(crate) errors: Mutex<ErrorLog>,
    /// The address whose function `placement` shows.
    #[pin]
    pub(crate) mapped: Mutex<Option<u64>>,
}

impl Tracer {
    /// Makes a tracer without events, with recording on.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(buffer_kilobytes: usize, hit_limit: u64) -> Result<Arc<Self>> {
        let buffer = Buffer::new(buffer_kilobytes, clock::calibrate())?;
        let formats = Formats::new()?;
        let top = InInstance::new(buffer.clone(), formats.clone())?;
        let registry = Registry::new(top)?;
        Arc::pin_init(
            pin_init!(Self {
                buffer,
                formats,
                hit_limit: HitLimit::new(hit_limit),
                registry <- new_mutex!(registry),
                errors <- new_mutex!(ErrorLog::new()),
                mapped <- new_mutex!(None),
            }),
            GFP_KERNEL,
        )
    }

    /// Applies a write to `private_events` by `owner`, or to `kprobe_events` or
    /// `dynamic_events`.
    ///
    /// # Errors
    ///
    /// The [`Failure`] of the first line that fails; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn define(&self, text: &[u8], owner: Option<&Arc<Owner>>) -> Result<(), Failure> {
        let mut result = self.registry.lock().apply(text, owner);
        // Some ids may belong to removed events without records.
        if matches!(&result, Err(failure) if failure.is_for_numbers()) && self.forget_formats() {
            result = self.registry.lock().apply(text, owner);
        }
        self.forget_many_formats();
        result
    }

    /// Removes all events that are everybody's.
    ///
    /// # Errors
    ///
    /// As for [`Registry::clear`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn clear_definitions(&self) -> Result<(), Refusal> {
        self.registry.lock().clear()?;
        self.forget_many_formats();
        Ok(())
    }

    /// Removes the events of `owner`, enabled or not.
    ///
    /// Context: process, may sleep.
    pub(crate) fn remove_private(&self, owner: &Arc<Owner>) {
        self.registry.lock().remove_owned(owner);
        self.forget_many_formats();
    }

    /// Forgets unneeded formats of removed events, if there are many.
    fn forget_many_formats(&self) {
        if self.formats.are_many() {
            self.forget_formats();
        }
    }

    /// Forgets the formats of removed events without records in any instance, and frees their
    /// ids. Returns whether there were any: false without memory, or if the task is killed
    /// meanwhile.
    ///
    /// Context: process, may sleep.
    pub(crate) fn forget_formats(&self) -> bool {
        let Ok(buffers) = self.registry.lock().buffers() else {
            return false;
        };
        let mut any = false;
        for (buffer, formats) in &buffers {
            any |= forget_formats(buffer, formats);
        }
        any
    }

    /// Adds the refusal of `command` to the log, with the time by the clock of the
    /// events, or by the clock `local` if the former does not count nanoseconds.
    ///
    /// Context: process, may sleep.
    pub(crate) fn log_refusal(&self, refusal: &Refusal, command: &[u8]) {
        let clock = Some(self.buffer.clock()).filter(|clock| clock.is_nanoseconds());
        let now = now_by(clock.unwrap_or(Clock::Local));
        self.errors.lock().add(refusal, now, command);
    }
}

/// Forgets those of `formats` that are of removed events without records in `buffer`. Returns
/// whether there were any: false without memory, or if the task is killed meanwhile.
///
/// Context: process, may sleep.
pub(crate) fn forget_formats(buffer: &Buffer, formats: &Formats) -> bool {
    let Ok(Some(mut needed)) = formats.question() else {
        return false;
    };
    // Formats of events that are removed from now on are not among them.
    let looked = buffer.each_record(|id, ts| needed.see(id, ts));
    looked.is_ok() && formats.forget(&needed)
}
