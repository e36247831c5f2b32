// SPDX-License-Identifier: GPL-2.0

//! A probe of an event: placed in the kernel, or waiting for a module.

use crate::{
    buffer::Buffer,
    counters::Totals,
    engine::{
        ast::{Definition, ProbeKind},
        error::{Errno, Error as Refusal, Kind},
        filter::Filter,
    },
    event::{Event, Format},
    handler::Recorder,
    kapi::{kprobe, kretprobe, lockdown, percpu},
    limit::{Rate, Seen},
    place::{Found, Original},
    sys::Vec,
};
use core::{
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
};
use kernel::{prelude::*, sync::Arc};

/// A probe.
pub(crate) struct Probe {
    /// Whose probe it is.
    pub(crate) event: Arc<Event>,
    definition: Arc<Definition>,
    format: Arc<Format>,
    placed: Option<Placed>,
    armed: AtomicBool,
    /// It was disarmed because it was hit too often, and not armed since.
    limited: AtomicBool,
    /// What was counted where it was placed before.
    before: Counts,
}

/// A probe that the kernel knows.
struct Placed {
    registration: Registration,
    /// The module it lies in.
    module: Option<Vec<u8>>,
    /// What stood at its place, if that is known.
    original: Option<Original>,
    /// When it was last looked at how often it is hit.
    seen: Seen,
}

/// What a probe does at the moment.
#[derive(Clone, Copy)]
pub(crate) enum State {
    /// It waits for its module.
    Waiting,
    /// It serves hits.
    Armed,
    /// It does not.
    Disarmed,
    /// Nor does this, because it was hit too often.
    Limited,
}

enum Registration {
    Entry(Pin<KBox<kprobe::Registration<Recorder>>>),
    Return(Pin<KBox<kretprobe::Registration<Recorder>>>),
}

/// What a probe has counted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    /// How the hits ended on which the handler was called.
    pub(crate) hits: Totals,
    /// Hits on which the kernel could not call the handler.
    pub(crate) missed: u64,
}

impl Probe {
    /// Registers the probe of `definition`, disarmed, at the place that was
    /// `found`; where none was, the probe waits for its module.
    ///
    /// # Errors
    ///
    /// Why the place cannot be probed, in the kernel's words where it is the
    /// kernel that refuses.
    ///
    /// Context: process, may sleep.
    pub(crate) fn new(
        event: Arc<Event>,
        definition: Arc<Definition>,
        found: Option<&Found>,
        format: Arc<Format>,
        buffer: &Arc<Buffer>,
    ) -> Result<Self, Refusal> {
        let placed = match found {
            Some(found) => Some(Placed::new(&event, &definition, found, &format, buffer)?),
            None => None,
        };
        Ok(Self {
            event,
            definition,
            format,
            placed,
            armed: AtomicBool::new(false),
            limited: AtomicBool::new(false),
            before: Counts::default(),
        })
    }

    /// The same probe, waiting for its module.
    pub(crate) fn unplaced(&self) -> Self {
        Self {
            event: self.event.clone(),
            definition: self.definition.clone(),
            format: self.format.clone(),
            placed: None,
            armed: AtomicBool::new(false),
            limited: AtomicBool::new(false),
            before: self.counts(),
        }
    }

    /// The same probe, which waits for its module, in the place that was
    /// `found` now that the module is there; disarmed.
    ///
    /// # Errors
    ///
    /// As for [`Probe::new`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn replaced(
        &self,
        found: &Found,
        format: Arc<Format>,
        buffer: &Arc<Buffer>,
    ) -> Result<Self, Refusal> {
        let placed = Placed::new(&self.event, &self.definition, found, &format, buffer)?;
        Ok(Self {
            event: self.event.clone(),
            definition: self.definition.clone(),
            format,
            placed: Some(placed),
            armed: AtomicBool::new(false),
            limited: AtomicBool::new(false),
            before: self.before,
        })
    }

    /// Whether it waits for its module.
    pub(crate) fn is_waiting(&self) -> bool {
        self.placed.is_none()
    }

    /// Whether it lies in a module.
    pub(crate) fn is_in_module(&self) -> bool {
        self.placed
            .as_ref()
            .is_some_and(|placed| placed.module.is_some())
    }

    /// Whether it lies in the module `name`.
    pub(crate) fn is_in(&self, name: &[u8]) -> bool {
        let module = self
            .placed
            .as_ref()
            .and_then(|placed| placed.module.as_ref());
        module.is_some_and(|module| **module == *name)
    }

    /// What stood at its place; `None` if it waits, or where that is not known.
    pub(crate) fn original(&self) -> Option<Original> {
        self.placed.as_ref()?.original
    }

    /// Whether it is armed; one that waits never is.
    pub(crate) fn is_armed(&self) -> bool {
        self.armed.load(Ordering::Relaxed)
    }

    /// What it does at the moment.
    pub(crate) fn state(&self) -> State {
        if self.is_waiting() {
            State::Waiting
        } else if self.is_armed() {
            State::Armed
        } else if self.limited.load(Ordering::Relaxed) {
            State::Limited
        } else {
            State::Disarmed
        }
    }

    /// Notes that it was disarmed because it was hit too often.
    pub(crate) fn set_limited(&self) {
        self.limited.store(true, Ordering::Relaxed);
    }

    /// How often it was hit since the last call, or since it was armed; `None`
    /// where that is not a second ago. The caller holds the registry.
    pub(crate) fn rate(&self) -> Option<Rate> {
        let placed = self.placed.as_ref()?;
        placed.seen.is_due().then(|| placed.look())
    }

    /// Arms or disarms it, unless it waits. The caller holds the registry.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the probed code is gone; `EPERM` for arming where the kernel is
    /// locked down.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_armed(&self, armed: bool) -> Result {
        let Some(placed) = &self.placed else {
            return Ok(());
        };
        if armed == self.is_armed() {
            return Ok(());
        }
        if armed {
            lockdown::kprobes()?;
            placed.begin();
            self.limited.store(false, Ordering::Relaxed);
        }
        match (&placed.registration, armed) {
            (Registration::Entry(probe), true) => probe.enable()?,
            (Registration::Entry(probe), false) => probe.disable()?,
            (Registration::Return(probe), true) => probe.enable()?,
            (Registration::Return(probe), false) => probe.disable()?,
        }
        self.armed.store(armed, Ordering::Relaxed);
        Ok(())
    }

    /// Puts `filter`, or none, in force for all hits from now on. The caller holds the
    /// registry.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_filter(&self, filter: &Arc<Option<Filter>>) {
        if let Some(placed) = &self.placed {
            placed.recorder().set_filter(filter.clone());
            match &placed.registration {
                Registration::Entry(probe) => probe.follow(),
                Registration::Return(probe) => probe.follow(),
            }
        }
    }

    /// Unregisters `probes`, which nobody else has any more, waiting for the
    /// handlers of all of them at once.
    ///
    /// Context: process, may sleep.
    pub(crate) fn remove_all(mut probes: Vec<Arc<Self>>) {
        let (mut entries, mut returns) = (KVec::new(), KVec::new());
        while let Some(probe) = probes.pop() {
            let Some(mut probe) = Arc::into_unique_or_drop(probe) else {
                continue;
            };
            let placed = probe.placed.take();
            // Without memory for one more that one goes alone.
            match placed.map(|placed| placed.registration) {
                Some(Registration::Entry(probe)) => drop(entries.push(probe, GFP_KERNEL)),
                Some(Registration::Return(probe)) => drop(returns.push(probe, GFP_KERNEL)),
                None => {}
            }
        }
        kprobe::Registration::drop_all(entries);
        kretprobe::Registration::drop_all(returns);
    }

    /// What was asked for.
    pub(crate) fn definition(&self) -> &Definition {
        &self.definition
    }

    /// How its records are made.
    pub(crate) fn format(&self) -> &Format {
        &self.format
    }

    /// What it has counted so far.
    pub(crate) fn counts(&self) -> Counts {
        let now = self
            .placed
            .as_ref()
            .map_or_else(Counts::default, Placed::counts);
        Counts {
            hits: self.before.hits.plus(now.hits),
            missed: self.before.missed.wrapping_add(now.missed),
        }
    }
}

impl Placed {
    fn new(
        event: &Event,
        definition: &Definition,
        found: &Found,
        format: &Arc<Format>,
        buffer: &Arc<Buffer>,
    ) -> Result<Self, Refusal> {
        let no_memory = || Refusal::new(Kind::NoMemory, definition.place_at);
        lockdown::kprobes()
            .map_err(|error| Refusal::registration(errno(error), definition.place_at))?;
        let module = found.module().map(Vec::from_slice).transpose()?;
        let words = format.program.entry_words();
        let recorder = Recorder::new(
            format.clone(),
            buffer.clone(),
            event.filter(),
            found.address,
        )
        .map_err(|_| no_memory())?;
        let at = kprobe::Place::Address(found.address);
        let registration = match definition.kind {
            ProbeKind::Probe => kprobe::Registration::new(at, recorder).map(Registration::Entry),
            ProbeKind::Return { maxactive } => {
                let maxactive = i32::try_from(maxactive).unwrap_or(i32::MAX);
                kretprobe::Registration::new(at, maxactive, words, recorder)
                    .map(Registration::Return)
            }
        };
        Ok(Self {
            registration: registration
                .map_err(|error| found.explain(error, definition.place_at))?,
            module,
            original: found.original,
            seen: Seen::default(),
        })
    }

    fn recorder(&self) -> &Recorder {
        match &self.registration {
            Registration::Entry(probe) => probe.handler(),
            Registration::Return(probe) => probe.handler(),
        }
    }

    fn counts(&self) -> Counts {
        Counts {
            hits: self.recorder().totals(),
            missed: self.missed(),
        }
    }

    fn missed(&self) -> u64 {
        match &self.registration {
            Registration::Entry(probe) => probe.missed(),
            Registration::Return(probe) => probe.missed(),
        }
    }

    /// Its rate is that from here on.
    fn begin(&self) {
        self.recorder().most_since();
        self.seen.begin(self.missed());
    }

    /// How often it was hit since the last call, or since [`begin`](Self::begin).
    fn look(&self) -> Rate {
        let address = match &self.registration {
            Registration::Entry(probe) => probe.address(),
            Registration::Return(probe) => probe.address(),
        };
        self.seen.look(
            self.recorder().most_since(),
            self.missed(),
            percpu::online_cpus(),
            kprobe::is_breakpoint(address),
        )
    }
}

/// An errno of the kernel crate as the engine's.
pub(crate) fn errno(error: Error) -> Errno {
    Errno(error.to_errno().wrapping_neg())
}
