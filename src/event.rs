// SPDX-License-Identifier: GPL-2.0

//! A defined event: its format, its probe, and whether it is armed.

use crate::{
    buffer::Buffer,
    engine::{
        ast::{Definition, ProbeKind},
        error::{Errno, Error as Refusal, Kind},
        fetch::Program,
    },
    handler::{Recorder, Totals},
    kapi::{kprobe, kretprobe},
    place,
};
use core::{
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
};
use kernel::{prelude::*, str::CString, sync::Arc};

/// What is needed to read the records of an event; outlives the event for as
/// long as records of it may be in the buffer.
pub(crate) struct Format {
    /// The number in each record.
    pub(crate) id: u16,
    /// Name of the group.
    pub(crate) group: CString,
    /// Name of the event.
    pub(crate) name: CString,
    /// Fetches the arguments and knows their layout.
    pub(crate) program: Program,
}

impl Format {
    /// The event's name.
    pub(crate) fn name(&self) -> &str {
        // Names are identifiers.
        self.name.to_str().unwrap_or("?")
    }
}

/// A defined event.
pub(crate) struct Event {
    /// How its records are read.
    pub(crate) format: Arc<Format>,
    definition: Definition,
    probe: Probe,
    enabled: AtomicBool,
}

/// The probe of an event.
enum Probe {
    Entry(Pin<KBox<kprobe::Registration<Recorder>>>),
    Return(Pin<KBox<kretprobe::Registration<Recorder>>>),
}

impl Event {
    /// Registers the probe of `definition`, disarmed.
    ///
    /// # Errors
    ///
    /// Why the place cannot be probed, in the kernel's words where it is the
    /// kernel that refuses.
    ///
    /// Context: process, may sleep.
    pub(crate) fn new(
        definition: Definition,
        found: &place::Found,
        format: Arc<Format>,
        buffer: Arc<Buffer>,
    ) -> Result<Self, Refusal> {
        let no_memory = |_| Refusal::new(Kind::NoMemory, definition.place_at);
        let words = format.program.entry_words();
        let recorder = Recorder::new(format.clone(), buffer, found.shown).map_err(no_memory)?;
        let at = kprobe::Place::Address(found.address);
        let probe = match definition.kind {
            ProbeKind::Probe => kprobe::Registration::new(at, recorder).map(Probe::Entry),
            ProbeKind::Return { maxactive } => {
                let maxactive = i32::try_from(maxactive).unwrap_or(i32::MAX);
                kretprobe::Registration::new(at, maxactive, words, recorder).map(Probe::Return)
            }
        };
        match probe {
            Ok(probe) => Ok(Self {
                format,
                definition,
                probe,
                enabled: AtomicBool::new(false),
            }),
            Err(error) => Err(found.explain(error, definition.place_at)),
        }
    }

    /// Whether the probe is armed.
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    /// Arms or disarms the probe. The caller holds the registry.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the probed code is gone.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_enabled(&self, enabled: bool) -> Result {
        if enabled == self.is_enabled() {
            return Ok(());
        }
        match (&self.probe, enabled) {
            (Probe::Entry(probe), true) => probe.enable()?,
            (Probe::Entry(probe), false) => probe.disable()?,
            (Probe::Return(probe), true) => probe.enable()?,
            (Probe::Return(probe), false) => probe.disable()?,
        }
        self.enabled.store(enabled, Ordering::Relaxed);
        Ok(())
    }

    /// What was asked for.
    pub(crate) fn definition(&self) -> &Definition {
        &self.definition
    }

    /// How the hits ended on which the handler was called.
    pub(crate) fn totals(&self) -> Totals {
        match &self.probe {
            Probe::Entry(probe) => probe.handler().totals(),
            Probe::Return(probe) => probe.handler().totals(),
        }
    }

    /// Hits on which the kernel could not call the handler.
    pub(crate) fn missed(&self) -> u64 {
        match &self.probe {
            Probe::Entry(probe) => probe.missed(),
            Probe::Return(probe) => probe.missed(),
        }
    }
}

/// An errno of the kernel crate as the engine's.
pub(crate) fn errno(error: Error) -> Errno {
    Errno(error.to_errno().wrapping_neg())
}
