// SPDX-License-Identifier: GPL-2.0

//! A probe of an event: placed in the kernel, or waiting for a module.

use crate::{
    buffer::Buffer,
    engine::{
        definition::{ast::Definition, event_names::ModuleName},
        language::types::Type,
        program::fetch::{self, Program},
        refusal::error::{Error as Refusal, Kind},
    },
    events::{
        attachment::Attachment,
        event::Event,
        rate::{Rate, SeenCounters},
    },
    formats::Format,
    hit::{
        caused_event::CausedEvent,
        counters::Totals,
        pair::Pair,
        plan::{Plan, ReplacedPlans},
        recorder::Recorder,
        recorder_builder::RecorderBuilder,
    },
    kapi::{
        functions::{self, ProbedFunctions},
        lockdown, percpu,
        rcu::Replaced,
        tracepoint,
    },
    source::{
        live::Original,
        location::Found,
        machine::errno,
        registered::{ProbeSource, Registered, Removal, Sources},
    },
    sys::{Box, Vec},
};
use core::sync::atomic::{AtomicBool, Ordering};
use kernel::{prelude::*, sync::Arc};

pub(crate) struct Probe {
    /// The event of the probe.
    pub(crate) event: Arc<Event>,
    definition: Arc<Definition>,
    format: Arc<Format>,
    placed: Option<PlacedProbe>,
    armed: AtomicBool,
    /// Whether `hit_limit` has disarmed the probe.
    limited: AtomicBool,
    /// Counts of former placements: before its module was unloaded and loaded again.
    before: Counts,
    /// The attachments to other events, in the order in which those must start to send hits.
    attachments: Vec<Attachment>,
    /// The beginnings, for a pair.
    pair: Option<Arc<Pair>>,
}

/// A probe that is registered with the kernel.
struct PlacedProbe {
    registered: Registered,
    address: u64,
    /// The module of its location.
    module: Option<Vec<u8>>,
    /// The original instruction bytes, if known.
    original: Option<Original>,
    /// The counters at the last check of `hit_limit`.
    seen: SeenCounters,
}

/// The state of a probe.
#[derive(Clone, Copy)]
pub(crate) enum ProbeState {
    /// Waiting for its module.
    Waiting,
    Armed,
    Disarmed,
    /// Disarmed by `hit_limit`.
    Limited,
}

/// Counters of a probe.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Hits on which the handler was called, by how they ended.
    pub(crate) hits: Totals,
    /// Misses: hits on which the kernel could not call the handler.
    pub(crate) missed: u64,
}

impl Probe {
    /// Registers the probe of `definition`, disarmed, at the location that was `found`. Without a
    /// location, the probe waits for its module.
    ///
    /// # Errors
    ///
    /// The reason why the location cannot be probed; the kernel's reason if the kernel refuses.
    ///
    /// Context: process, may sleep.
    pub(crate) fn new(
        event: Arc<Event>,
        definition: Arc<Definition>,
        found: Option<&Found>,
        (format, program): (Arc<Format>, Box<Program>),
        sources: &Sources<'_>,
    ) -> Result<Arc<Self>, Refusal> {
        let placed = match found {
            Some(found) => Some(PlacedProbe::new(
                &event,
                &definition,
                found,
                (&format, program),
                sources,
            )?),
            None => None,
        };
        let probe = init!(Self {
            event,
            definition,
            format,
            placed,
            armed: AtomicBool::new(false),
            limited: AtomicBool::new(false),
            before: Counts::default(),
            attachments: Vec::new(),
            pair: None,
        });
        Arc::init(probe, GFP_KERNEL).map_err(|_| Refusal::new(Kind::NoMemory, 0))
    }

    /// Makes the probe of a system call's event. `register` registers the recorder.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn of_call(
        (event, definition): (Arc<Event>, Arc<Definition>),
        (format, program): (Arc<Format>, Box<Program>),
        number: u32,
        register: impl FnOnce(RecorderBuilder) -> Result<Registered>,
    ) -> Result<Self> {
        // A record has the number in place of an address.
        let place = u64::from(number);
        let recorder = RecorderBuilder::new(&format, program, event.active(), place)?;
        let placed = PlacedProbe::nowhere(register(recorder)?);
        Ok(Self::with(event, definition, format, Some(placed)))
    }

    /// Makes the probe of an event that other events cause. `attachments` are empty for a synthetic
    /// event.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(super) fn of_caused_event(
        (event, definition): (Arc<Event>, Arc<Definition>),
        format: Arc<Format>,
        registered: Registered,
        (attachments, pair): (Vec<Attachment>, Option<Arc<Pair>>),
    ) -> Result<Arc<Self>> {
        let placed = PlacedProbe::nowhere(registered);
        let probe = Self {
            attachments,
            pair,
            ..Self::with(event, definition, format, Some(placed))
        };
        Ok(Arc::new(probe, GFP_KERNEL)?)
    }

    /// Makes a disarmed probe with zero counts and no attachments.
    fn with(
        event: Arc<Event>,
        definition: Arc<Definition>,
        format: Arc<Format>,
        placed: Option<PlacedProbe>,
    ) -> Self {
        Self {
            event,
            definition,
            format,
            placed,
            armed: AtomicBool::new(false),
            limited: AtomicBool::new(false),
            before: Counts::default(),
            attachments: Vec::new(),
            pair: None,
        }
    }

    /// Returns a waiting probe that replaces this one.
    pub(crate) fn unplaced(&self) -> Self {
        let (event, definition) = (self.event.clone(), self.definition.clone());
        Self {
            before: self.counts(),
            ..Self::with(event, definition, self.format.clone(), None)
        }
    }

    /// Registers this waiting probe, disarmed, at the location that was `found` in its loaded
    /// module. Returns the probe that replaces it.
    ///
    /// # Errors
    ///
    /// As for [`Probe::new`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn replaced(
        &self,
        found: &Found,
        (format, program): (Arc<Format>, Box<Program>),
        sources: &Sources<'_>,
    ) -> Result<Self, Refusal> {
        let recorded = (&format, program);
        let placed = PlacedProbe::new(&self.event, &self.definition, found, recorded, sources)?;
        let (event, definition) = (self.event.clone(), self.definition.clone());
        Ok(Self {
            before: self.before,
            ..Self::with(event, definition, format, Some(placed))
        })
    }

    /// Returns the function registration of a probe of many functions (`f`).
    pub(crate) fn functions(&self) -> Option<&dyn ProbedFunctions> {
        self.placed.as_ref()?.source().functions()
    }

    /// Returns the registration of a tracepoint probe.
    pub(crate) fn tracepoint(&self) -> Option<&tracepoint::PointRegistration<Recorder>> {
        self.placed.as_ref()?.source().tracepoint()
    }

    /// Returns the attachments to other events.
    pub(super) fn attachments(&self) -> &[Attachment] {
        &self.attachments
    }

    /// Returns the beginnings of a pair.
    pub(crate) fn pair(&self) -> Option<&Arc<Pair>> {
        self.pair.as_ref()
    }

    /// Returns the name of field `index` of the event that begins the pair, or of what its task has.
    pub(crate) fn begun_name(&self, index: u8) -> &[u8] {
        if let Some(name) = fetch::name_of_beginning(index) {
            return name;
        }
        let begin = self.attachments.first();
        let fields = begin.map(|begin| &begin.to().format.layout.fields);
        let field = fields.and_then(|fields| fields.get(usize::from(index)));
        field.map_or(b"?", |field| &field.name)
    }

    /// Returns the type of field `name` of the event that begins the pair.
    pub(crate) fn begun_type(&self, name: &[u8]) -> Option<Type> {
        let begin = self.attachments.first()?;
        let mut fields = begin.to().format.layout.fields.iter();
        let field = fields.find(|field| *field.name == *name)?;
        Some(field.base)
    }

    pub(super) fn is_attached_to(&self, event: &Event) -> bool {
        let mut all = self.attachments.iter();
        all.any(|attachment| attachment.to().id() == event.id())
    }

    /// Returns what other events cause, if this is such an event.
    pub(crate) fn caused_event(&self) -> Option<&Arc<CausedEvent>> {
        self.placed.as_ref()?.source().caused_event()
    }

    /// Returns whether it is the probe of a synthetic event that an action emits.
    pub(super) fn is_of_emitted_event(&self) -> bool {
        self.caused_event()
            .is_some_and(|caused_event| caused_event.is_used())
    }

    /// Returns the fetch program; `None` while waiting.
    pub(super) fn program(&self) -> Option<&Program> {
        Some(self.placed.as_ref()?.source().recorder().program())
    }

    /// Returns whether it waits for its module.
    pub(crate) fn is_waiting(&self) -> bool {
        self.placed.is_none()
    }

    /// Returns whether its location is in a module.
    pub(crate) fn is_in_module(&self) -> bool {
        self.placed
            .as_ref()
            .is_some_and(|placed| placed.module.is_some())
    }

    /// Returns whether the location of the probe is in module `name`.
    pub(crate) fn is_in(&self, name: &[u8]) -> bool {
        let module = self
            .placed
            .as_ref()
            .and_then(|placed| placed.module.as_ref());
        module.is_some_and(|module| **module == *name)
    }

    /// Returns whether the location of the probe, or one of its functions, is in module `name`.
    pub(crate) fn has_part_in(&self, name: ModuleName<'_>) -> bool {
        let Some(placed) = &self.placed else {
            return false;
        };
        let is_it = |owner: functions::SitesOwner<'_>| {
            let module = owner.module;
            module.is_some_and(|module| name.is(module.to_bytes()))
        };
        let module = placed.module.as_ref();
        module.is_some_and(|module| name.is(module))
            || self.functions().is_some_and(|all| all.has(&is_it))
    }

    /// Returns whether the kernel has given the probe up because the probed code is gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.placed
            .as_ref()
            .is_some_and(|placed| placed.source().is_gone())
    }

    /// Returns its address; `None` while waiting.
    pub(crate) fn address(&self) -> Option<u64> {
        self.placed.as_ref().map(|placed| placed.address)
    }

    /// Returns the original instruction bytes; `None` while waiting, or if unknown.
    pub(crate) fn original(&self) -> Option<Original> {
        self.placed.as_ref()?.original
    }

    /// Returns whether it is armed. A waiting probe is not.
    pub(crate) fn is_armed(&self) -> bool {
        self.armed.load(Ordering::Relaxed)
    }

    /// Returns its state.
    pub(crate) fn state(&self) -> ProbeState {
        let has_none = || {
            self.functions()
                .is_some_and(|functions| functions.is_empty())
        };
        if self.is_waiting() || has_none() {
            ProbeState::Waiting
        } else if self.is_armed() {
            ProbeState::Armed
        } else if self.limited.load(Ordering::Relaxed) {
            ProbeState::Limited
        } else {
            ProbeState::Disarmed
        }
    }

    /// Notes that `hit_limit` has disarmed it, or the event that it is attached to.
    pub(super) fn set_limited(&self) {
        self.limited.store(true, Ordering::Relaxed);
        self.event.set_limited(true);
    }

    /// Returns the rate of hits since the last call, or since the probe was armed; `None` if that is
    /// less than about a second ago. The caller holds the registry lock.
    pub(crate) fn rate(&self) -> Option<Rate> {
        let placed = self.placed.as_ref()?;
        placed.seen.is_due().then(|| placed.look())
    }

    /// Arms or disarms it, unless it waits or the probed code is gone. The caller holds the
    /// registry lock.
    ///
    /// # Errors
    ///
    /// `EPERM` for arming where the kernel is locked down; those of the kernel.
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
        }
        match placed.source().set_armed(armed) {
            // The code is gone: the probe is about to wait for its module.
            Err(_) if placed.source().is_gone() => {}
            result => {
                result?;
                self.armed.store(armed, Ordering::Relaxed);
                if armed {
                    self.limited.store(false, Ordering::Relaxed);
                    self.event.set_limited(false);
                }
            }
        }
        Ok(())
    }

    /// Replaces the plan. The former one goes to `replaced`; no hit uses it once that is dropped.
    /// The caller holds the registry lock.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_plan(&self, plan: Arc<Plan>, replaced: &mut ReplacedPlans) {
        if let Some(placed) = &self.placed {
            placed.source().recorder().set_plan(plan, replaced);
            placed.source().update_callback();
        }
    }

    /// Returns whether it records in `buffer`. Meaningless with a plan per instance.
    pub(crate) fn records_in(&self, buffer: &Arc<Buffer>) -> bool {
        let placed = self.placed.as_ref();
        placed.is_none_or(|placed| placed.source().recorder().records_in(buffer))
    }

    /// Makes it record in `buffer`, see [`Recorder::set_buffer`]. The caller holds the registry
    /// lock.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_buffer(&self, buffer: Arc<Buffer>, replaced: &mut Replaced<Buffer>) {
        if let Some(placed) = &self.placed {
            placed.source().recorder().set_buffer(buffer, replaced);
        }
    }

    /// Chooses the stage again after a change that it depends on. The caller holds the
    /// registry lock.
    ///
    /// Context: process.
    pub(crate) fn choose_stage(&self) {
        if let Some(placed) = &self.placed {
            placed.source().recorder().choose_stage();
            placed.source().update_callback();
        }
    }

    /// Unregisters it as part of `removal`, unless there are other references to it. Of several
    /// probes, pass the latest first.
    ///
    /// Context: process, may sleep.
    pub(crate) fn remove(self: Arc<Self>, removal: &mut Removal) {
        if let Some(mut probe) = Arc::into_unique_or_drop(self) {
            if let Some(placed) = probe.placed.take() {
                removal.take(placed.registered);
            }
        }
    }

    /// Returns the definition.
    pub(crate) fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Returns the format of its records.
    pub(crate) fn format(&self) -> &Format {
        &self.format
    }

    /// Returns its counters.
    pub(crate) fn counts(&self) -> Counts {
        let now = self
            .placed
            .as_ref()
            .map_or_else(Counts::default, PlacedProbe::counts);
        Counts {
            hits: self.before.hits.plus(now.hits),
            missed: self.before.missed.wrapping_add(now.missed),
        }
    }
}

impl PlacedProbe {
    fn new(
        event: &Event,
        definition: &Definition,
        found: &Found,
        (format, program): (&Arc<Format>, Box<Program>),
        sources: &Sources<'_>,
    ) -> Result<Self, Refusal> {
        let no_memory = || Refusal::new(Kind::NoMemory, definition.place_at);
        lockdown::kprobes()
            .map_err(|error| Refusal::registration(errno(error), definition.place_at))?;
        let module = found.module().map(Vec::from_slice).transpose()?;
        let recorder = RecorderBuilder::new(format, program, event.active(), found.address)
            .map_err(|_| no_memory())?;
        let registered = Registered::new(definition, found, sources, recorder)
            .map_err(|error| found.explain(error, definition.place_at))?;
        Ok(Self {
            registered,
            address: found.address,
            module,
            original: found.original,
            seen: SeenCounters::default(),
        })
    }

    /// Makes a placed probe without an address.
    fn nowhere(registered: Registered) -> Self {
        Self {
            registered,
            address: 0,
            module: None,
            original: None,
            seen: SeenCounters::default(),
        }
    }

    fn source(&self) -> &dyn ProbeSource {
        self.registered.source()
    }

    fn counts(&self) -> Counts {
        Counts {
            hits: self.source().recorder().totals(),
            missed: self.source().missed(),
        }
    }

    /// Starts to measure the rate of hits.
    fn begin(&self) {
        self.source().recorder().most_since();
        self.seen.begin(self.source().missed());
    }

    /// Returns the rate of hits since the last call, or since [`begin`](Self::begin).
    fn look(&self) -> Rate {
        let source = self.source();
        self.seen.look(
            source.recorder().most_since(),
            source.missed(),
            percpu::online_cpus(),
            source.is_breakpoint(),
        )
    }
}
