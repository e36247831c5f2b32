// SPDX-License-Identifier: GPL-2.0

//! The state that all instances share.
//!
//! Locks, in the order in which they are taken:
//!
//! 1. the lock of a file, for the text of one opening; the lock of the instances, while one
//!    is made or removed
//! 2. the lock of the clock `local`, while rings are made or aligned
//! 3. the readers' lock of the buffer, the locks of the followed tasks and of
//!    the processes
//! 4. the lock of the definitions, while files of events are made or removed
//! 5. the registry lock
//! 6. the locks of the formats, of the error log, of the address that `placement` shows,
//!    of the event that a file belongs to, of the files of a group of ready-made events; behind
//!    them that of the pool of event ids, that of the tracepoints of modules, and that of uprobes,
//!    behind which the kernel takes the locks of address spaces
//! 7. the lock of the buffer's mappings; a task that maps holds the lock of its
//!    address space before it, and none of the others
//!
//! The work that checks the rates of probes takes the registry lock, so its owner stops
//! it without holding that lock. Removing a file waits until no call of its `open` runs,
//! which may take the registry lock, so files of events are removed without it: see
//! [`Tracer::change`]. The lock of the definitions is held meanwhile, and no `open` takes
//! that, except the one of `kprobe_events`, which is removed without any of these locks.

use crate::{
    buffer::{now_by, Buffer, LocalClock},
    engine::{
        definition::{
            parse::Grammar,
            ready::{ReadyGroup, ReadyRow},
        },
        refusal::error::{Error as Refusal, Kind},
    },
    errors::ErrorLog,
    events::{
        event::Event,
        event_file::InstanceId,
        owner::Owner,
        rate::HitLimit,
        registry::{Failure, InInstance, Registry, Removed},
    },
    formats::Formats,
    kapi::clock::{self, Clock},
    options::DumpOnOops,
};
use core::fmt;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

#[pin_data]
pub(crate) struct Tracer {
    /// The clock of all buffers.
    pub(crate) local_clock: Arc<LocalClock>,
    /// The buffer of the instance of the top directory.
    pub(crate) buffer: Arc<Buffer>,
    /// The formats of events that may have records in the buffer.
    pub(crate) formats: Arc<Formats>,
    /// Held while files of events are made or removed.
    #[pin]
    definitions: Mutex<()>,
    /// The defined events.
    #[pin]
    pub(crate) registry: Mutex<Registry>,
    /// The limit of hits per second.
    pub(crate) hit_limit: HitLimit,
    /// The settings of `dump_on_oops`.
    pub(crate) dump_on_oops: DumpOnOops,
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
    #[inline(never)]
    pub(crate) fn new(
        buffer_kilobytes: usize,
        hit_limit: u64,
        dump_on_oops: u32,
    ) -> Result<Arc<Self>> {
        let usual = clock::calibrate();
        let local_clock = LocalClock::new()?;
        // Nothing aligns the clock yet.
        let buffer = Buffer::new(
            buffer_kilobytes,
            usual,
            (&local_clock, &local_clock.making()),
        )?;
        let formats = Formats::new()?;
        let top = InInstance::new(buffer.clone(), formats.clone())?;
        let registry = Registry::new(top)?;
        Arc::pin_init(
            pin_init!(Self {
                local_clock,
                buffer,
                formats,
                hit_limit: HitLimit::new(hit_limit),
                dump_on_oops: DumpOnOops::new(dump_on_oops),
                definitions <- new_mutex!(()),
                registry <- new_mutex!(registry),
                errors <- new_mutex!(ErrorLog::new()),
                mapped <- new_mutex!(None),
            }),
            GFP_KERNEL,
        )
    }

    /// Calls `change` with the registry, and with the list to which it moves removed files. The
    /// files are removed after the registry lock is released, but before anyone can define an event
    /// of the same name.
    ///
    /// Context: process, may sleep.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Registry, &mut Removed) -> R) -> R {
        let mut removed = Removed::new();
        let definitions = self.definitions.lock();
        let result = change(&mut self.registry.lock(), &mut removed);
        drop(removed);
        drop(definitions);
        result
    }

    /// Removes all events, enabled or not, and their files. No event can be defined
    /// afterwards.
    ///
    /// Context: process, may sleep.
    pub(crate) fn shut_down(&self) {
        let remains = self.registry.lock().shut_down();
        // This may wait for user space, so the lock must be released.
        drop(remains);
        loop {
            // Release the lock before removing the files.
            let files = self.registry.lock().take_files();
            if files.is_none() {
                return;
            }
        }
    }

    /// Applies a write to `private_events` by `owner`, or to `kprobe_events`, `dynamic_events`
    /// or `synthetic_events`.
    ///
    /// # Errors
    ///
    /// The [`Failure`] of the first line that fails; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn define(
        &self,
        written: (&[u8], Grammar),
        owner: Option<&Arc<Owner>>,
    ) -> Result<(), Failure> {
        let apply = || self.change(|registry, removed| registry.apply(written, owner, removed));
        let mut result = apply();
        // Some ids may belong to removed events without records.
        if matches!(&result, Err(failure) if failure.is_for_numbers()) && self.forget_formats() {
            result = apply();
        }
        self.forget_many_formats();
        result
    }

    /// Removes all events without an owner that `which` selects.
    ///
    /// # Errors
    ///
    /// As for [`Registry::clear`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn clear_definitions(&self, which: &dyn Fn(&Event) -> bool) -> Result<(), Refusal> {
        self.change(|registry, removed| registry.clear(which, removed))?;
        self.forget_many_formats();
        Ok(())
    }

    /// Takes back what was set in `instance`, see [`Registry::reset`]. Writes to `told` what that
    /// is, before anything has changed.
    ///
    /// # Errors
    ///
    /// `NO_MEMORY` with nothing changed; otherwise the errors of [`Registry::reset`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn reset(
        &self,
        instance: InstanceId,
        told: &mut dyn fmt::Write,
    ) -> Result<(), Refusal> {
        self.change(|registry, removed| {
            let written = registry.write_set(instance, told);
            written.map_err(|_| Refusal::new(Kind::NoMemory, 0))?;
            registry.reset(instance, removed)
        })?;
        self.forget_many_formats();
        Ok(())
    }

    /// Makes the ready-made events that `which` selects, see [`Registry::make_ready`].
    ///
    /// # Errors
    ///
    /// Those of [`Registry::make_ready`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn make_ready(&self, which: &dyn Fn(&ReadyGroup, &ReadyRow) -> bool) -> Result {
        self.change(|registry, removed| registry.make_ready(which, removed))
    }

    /// Removes the events of `owner`, enabled or not.
    ///
    /// Context: process, may sleep.
    pub(crate) fn remove_private(&self, owner: &Arc<Owner>) {
        self.change(|registry, removed| registry.remove_owned(owner, removed));
        self.forget_many_formats();
    }

    /// Frees unneeded formats of removed events, if there are many.
    fn forget_many_formats(&self) {
        if self.formats.are_many() {
            self.forget_formats();
        }
    }

    /// Frees the formats of removed events without records in any instance, and their ids. Returns
    /// whether there were any; false without memory, or if the task is being killed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn forget_formats(&self) -> bool {
        let Ok(buffers) = self.registry.lock().instances.buffers() else {
            return false;
        };
        let mut any = false;
        for (buffer, formats) in &buffers {
            any |= forget_formats(buffer, formats);
        }
        any
    }

    /// Logs the refusal of `command`, with the time by the clock of the buffer, or by the clock
    /// `local` if the former does not count nanoseconds.
    ///
    /// Context: process, may sleep.
    pub(crate) fn log_refusal(&self, refusal: &Refusal, command: &[u8]) {
        let clock = Some(self.buffer.clock()).filter(|clock| clock.is_nanoseconds());
        let now = now_by(clock.unwrap_or(Clock::Local));
        self.errors.lock().add(refusal, now, command);
    }
}

/// Frees those of `formats` that belong to removed events without records in `buffer`. Returns
/// whether there were any; false without memory, or if the task is being killed.
///
/// Context: process, may sleep.
pub(crate) fn forget_formats(buffer: &Buffer, formats: &Formats) -> bool {
    let Ok(Some(mut needed)) = formats.question() else {
        return false;
    };
    // Formats of events that are removed later are not included.
    let looked = buffer.each_record(|id| needed.see(id));
    looked.is_ok() && formats.forget(&needed)
}
