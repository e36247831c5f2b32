// SPDX-License-Identifier: GPL-2.0

//! A defined event: its format, its probe, and whether it is armed.

use crate::{
    buffer::Buffer,
    engine::{
        ast::{Definition, ProbeKind},
        error::{Errno, Error as Refusal, Kind},
        fetch::Program,
    },
    handler::Recorder,
    kapi::{kprobe, kretprobe},
    place,
    sys::Vec,
};
use core::{
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
};
use kernel::{
    new_mutex,
    prelude::*,
    str::CString,
    sync::{Arc, Mutex},
};

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
#[pin_data]
pub(crate) struct Event {
    /// How its records are read.
    pub(crate) format: Arc<Format>,
    definition: Definition,
    /// What stood at its place, if that is known.
    pub(crate) original: Option<place::Original>,
    probe: Probe,
    enabled: AtomicBool,
    /// What to show of the last filter, if it was refused.
    #[pin]
    pub(crate) refused_filter: Mutex<Option<Vec<u8>>>,
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
    ) -> Result<Arc<Self>, Refusal> {
        let no_memory = |_| Refusal::new(Kind::NoMemory, definition.place_at);
        let words = format.program.entry_words();
        let recorder = Recorder::new(format.clone(), buffer, found.address).map_err(no_memory)?;
        let at = kprobe::Place::Address(found.address);
        let probe = match definition.kind {
            ProbeKind::Probe => kprobe::Registration::new(at, recorder).map(Probe::Entry),
            ProbeKind::Return { maxactive } => {
                let maxactive = i32::try_from(maxactive).unwrap_or(i32::MAX);
                kretprobe::Registration::new(at, maxactive, words, recorder).map(Probe::Return)
            }
        };
        let probe = probe.map_err(|error| found.explain(error, definition.place_at))?;
        let place_at = definition.place_at;
        let event = pin_init!(Self {
            format,
            definition,
            original: found.original,
            probe,
            enabled: AtomicBool::new(false),
            refused_filter <- new_mutex!(None),
        });
        Arc::pin_init(event, GFP_KERNEL).map_err(|_| Refusal::new(Kind::NoMemory, place_at))
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

    /// What serves the hits.
    pub(crate) fn recorder(&self) -> &Recorder {
        match &self.probe {
            Probe::Entry(probe) => probe.handler(),
            Probe::Return(probe) => probe.handler(),
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
