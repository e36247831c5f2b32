// SPDX-License-Identifier: GPL-2.0

//! Setting, changing and removing histograms.

use super::Registry;
use crate::{
    engine::{
        filter::Filter,
        hist::{
            self, Decision, Existing, FieldHistogram, HistRequest, HistScope, Histogram,
            KnownHistogram, Spec, SynthField,
        },
        language::{lex::Span, trigger::Count},
        refusal::error::{Error as Refusal, Kind},
    },
    events::{event::Event, event_file::InstanceId},
    hit::{
        action::{Action, ActionKind},
        inter_event::InterEventHistogram,
        sinks::ValueSink,
    },
    kapi::{
        percpu::{self, PerCpu},
        rcu, stack,
    },
    source::machine::errno,
    sys::{AllocError, Vec},
};
use kernel::{prelude::*, sync::Arc};

/// Makes a histogram with empty tables.
///
/// # Errors
///
/// `HIST_NO_MEMORY`.
fn counting(spec: Spec, is_paused: bool, at: usize) -> Result<Arc<Histogram>, Refusal> {
    let present = || percpu::possible_cpus().filter(|&cpu| percpu::is_present(cpu));
    let all_present = percpu::possible_cpus().all(percpu::is_present);
    let kilobytes = spec.bytes(present().count(), all_present).div_ceil(1024);
    let no_memory = |_: Error| {
        Refusal::new(Kind::HistNoMemory, at).with_detail(format_args!(
            "it takes {kilobytes} KiB: write a smaller size=, or remove other histograms"
        ))
    };
    allocated(spec, is_paused).map_err(no_memory)
}

fn allocated(spec: Spec, is_paused: bool) -> Result<Arc<Histogram>> {
    let own = PerCpu::new(|cpu| Ok(spec.own_table(percpu::is_present(cpu))?))?;
    let shared = spec.shared_table(&own)?;
    Ok(Arc::new(
        Histogram::inter_event(spec, (own, shared), is_paused)?,
        GFP_KERNEL,
    )?)
}

/// The outcome of parsing a trigger.
enum Chosen {
    /// Remove the histogram with this index, if there is one.
    Remove(Option<usize>),
    /// Another histogram must be set first.
    Before(FieldHistogram),
    /// Any other change.
    Decided(Decision),
}

fn failed(error: Error) -> Refusal {
    Refusal::registration(errno(error), 0)
}

/// An existing histogram.
pub(super) struct HistTrigger {
    pub(super) event: Arc<Event>,
    pub(super) histogram: Arc<Histogram>,
    /// The action that counts in it.
    pub(super) action: Arc<Action>,
}

impl HistTrigger {
    pub(super) fn filter(&self) -> Option<&[u8]> {
        self.action.filter().map(Filter::text)
    }
}

impl Registry {
    /// Returns the histograms of `event`, then those of all other events of `instance`.
    pub(super) fn hist_triggers(
        &self,
        instance: InstanceId,
        event: &Arc<Event>,
    ) -> Result<Vec<HistTrigger>, AllocError> {
        let mut hists = Vec::new();
        let others = self
            .instances
            .triggered(instance)
            .filter(|other| !Arc::ptr_eq(other, event));
        for event in Iterator::chain(core::iter::once(event), others) {
            let plan = event.file(instance).map(|file| file.plan());
            for action in plan.iter().flat_map(|plan| plan.actions()) {
                if let Some(histogram) = action.counts() {
                    hists.push(HistTrigger {
                        event: event.clone(),
                        histogram: histogram.clone(),
                        action: action.clone(),
                    })?;
                }
            }
        }
        Ok(hists)
    }

    /// Removes all histograms of `event` in `instance`. As in the kernel, removes none if another
    /// histogram refers to a variable of one.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then some are left.
    ///
    /// Context: process, may sleep.
    pub(crate) fn remove_histograms(&mut self, instance: InstanceId, event: &Arc<Event>) -> Result {
        let hists = self.hist_triggers(instance, event)?;
        let mut own = hists.iter().filter(|it| Arc::ptr_eq(&it.event, event));
        if own.any(|it| is_referred_to(it, &hists)) {
            return Ok(());
        }
        self.remove_trigger(instance, event, |action| action.counts().is_some(), None)?;
        self.remove_unneeded(instance, event)
    }

    /// Executes the trigger `hist:TEXT` of `event` in `instance`.
    ///
    /// # Errors
    ///
    /// A refusal; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(super) fn change_histograms(
        &mut self,
        instance: InstanceId,
        event: &Arc<Event>,
        text: Span<'_>,
        removes: bool,
    ) -> Result<(), Refusal> {
        let result = loop {
            let needed = match self.change_one(instance, event, text, (removes, false)) {
                Ok(None) => break Ok(()),
                Ok(Some(needed)) => needed,
                Err(refusal) => break Err(refusal),
            };
            // Parse the trigger again, now that the histogram exists.
            if let Err(refusal) = self.set_needed(instance, &needed) {
                break Err(refusal);
            }
        };
        if removes || result.is_err() {
            // If this fails, unused histograms remain, which do no harm.
            let _ = self.remove_unneeded(instance, event);
        }
        result
    }

    /// Sets a histogram that another one requires.
    fn set_needed(&mut self, instance: InstanceId, needed: &FieldHistogram) -> Result<(), Refusal> {
        let Some(event) = self
            .triggered_with(instance, &needed.group, &needed.event)
            .cloned()
        else {
            return Ok(());
        };
        let text = Span {
            bytes: &needed.text,
            at: 0,
        };
        let result = self.change_one(instance, &event, text, (false, true));
        result
            .map(|_| ())
            .map_err(|refusal| needed.refused(&refusal))
    }

    /// Executes one trigger; `is_of_field` if the histogram saves a field for another one. Returns
    /// a histogram that must be set first, and then has changed nothing.
    fn change_one(
        &mut self,
        instance: InstanceId,
        event: &Arc<Event>,
        text: Span<'_>,
        (removes, is_of_field): (bool, bool),
    ) -> Result<Option<FieldHistogram>, Refusal> {
        let layout = &event.format.layout;
        let hists = self.hist_triggers(instance, event)?;
        let (mut request, chosen) = self.choose((instance, event), text, removes, &hists)?;
        let filter = request
            .filter
            .map(|text| self.definitions.compile_filter(text, layout));
        let filter = filter.transpose()?;
        let decision = match chosen {
            Chosen::Before(needed) => return Ok(Some(needed)),
            Chosen::Remove(index) => {
                if let Some(found) = index.and_then(|index| hists.get(index)) {
                    self.remove_one(instance, found, &hists)?;
                }
                return Ok(None);
            }
            Chosen::Decided(decision) => decision,
        };
        if request.spec.takes_stack() {
            stack::prepare();
        }
        match decision {
            Decision::Share { with, is_paused } => {
                if let Some(shared) = hists.get(with) {
                    let histogram = shared.histogram.clone();
                    let first = &shared.event.format.layout;
                    if !histogram.spec().has_same_fields(first, layout) {
                        return Err(Refusal::new(Kind::NamedMismatch, text.at));
                    }
                    // Pause it first: it also counts the hits of this event from the next step on.
                    let was_paused = histogram.is_paused();
                    histogram.set_paused(was_paused || is_paused);
                    let result = self.count_in(instance, event, (&histogram, filter), is_of_field);
                    result.map_err(|error| {
                        histogram.set_paused(was_paused);
                        failed(error)
                    })?;
                }
            }
            Decision::SetPaused { index, is_paused } => {
                if let Some(it) = hists.get(index) {
                    it.histogram.set_paused(is_paused);
                }
            }
            Decision::Set { is_paused } => {
                let histogram = counting(request.spec, is_paused, text.at)?;
                histogram.begin(self.gone_code(instance));
                self.count_in(instance, event, (&histogram, filter), is_of_field)
                    .map_err(failed)?;
            }
            Decision::Clear { index } => {
                let Some(former) = hists.get(index).map(|it| &it.histogram) else {
                    return Ok(None);
                };
                if former.var_table().is_some() {
                    former.clear_inter_event(rcu::synchronize);
                    // The registry lock is held, so no module is unloaded meanwhile.
                    former.begin(self.gone_code(instance));
                    return Ok(None);
                }
                // They differ in size only.
                request.spec.size = former.spec().size;
                let new = counting(request.spec, former.is_paused(), text.at)?;
                new.begin(self.gone_code(instance));
                self.replace(instance, former, &new).map_err(failed)?;
            }
        }
        Ok(None)
    }

    /// Returns the number of unloaded code ranges at which a new histogram begins,
    /// see [`FormerCode`](crate::former_code::FormerCode).
    fn gone_code(&self, instance: InstanceId) -> u64 {
        let instance = self.instances.get(instance);
        instance.map_or(0, |instance| instance.former_code.gone())
    }

    /// Parses a trigger of `event`, and compares it with the existing `hists`.
    #[inline(never)]
    fn choose<'a>(
        &self,
        (instance, event): (InstanceId, &Arc<Event>),
        text: Span<'a>,
        removes: bool,
        hists: &[HistTrigger],
    ) -> Result<(HistRequest<'a>, Chosen), Refusal> {
        let layout = &event.format.layout;
        let scope = InstanceScope::new(self, (instance, event), removes, hists)?;
        let mut request = hist::parse(text, layout, &scope)?;
        let mut existing = Vec::new();
        for it in hists {
            existing.push(Existing {
                spec: it.histogram.spec(),
                filter: it.filter(),
                is_here: Arc::ptr_eq(&it.event, event),
            })?;
        }
        if removes {
            let found = hist::find(&request, &existing);
            return Ok((request, Chosen::Remove(found)));
        }
        let decision = hist::decide(&request, &existing, text.at)?;
        if let Decision::Set { .. } = decision {
            if let Some(needed) = request.bind(layout, &scope)? {
                return Ok((request, Chosen::Before(needed)));
            }
        }
        Ok((request, Chosen::Decided(decision)))
    }

    /// Removes a histogram.
    fn remove_one(
        &mut self,
        instance: InstanceId,
        it: &HistTrigger,
        all: &[HistTrigger],
    ) -> Result<(), Refusal> {
        if is_referred_to(it, all) {
            return Err(Refusal::new(Kind::HistInUse, 0));
        }
        let is_it = |action: &Action| counts_in(action, &it.histogram);
        self.remove_trigger(instance, &it.event, is_it, None)
            .map_err(failed)
    }

    /// Adds a trigger to `event` that counts hits accepted by `filter` in `histogram`.
    fn count_in(
        &mut self,
        instance: InstanceId,
        event: &Arc<Event>,
        (histogram, filter): (&Arc<Histogram>, Option<Filter>),
        is_of_field: bool,
    ) -> Result {
        let what = match histogram.var_table() {
            None => ActionKind::Count(histogram.clone()),
            Some(_) => {
                let sink = |name: &[u8]| -> Option<Arc<dyn ValueSink>> {
                    Some(self.definitions.synthetic(name)?.clone())
                };
                let snapshots = self.instances.get(instance)?.snapshots.clone();
                let shared = (snapshots, self.definitions.nesting());
                let inter_event =
                    InterEventHistogram::new(histogram.clone(), sink, shared, is_of_field)?;
                ActionKind::InterEvent(Arc::new(inter_event, GFP_KERNEL)?)
            }
        };
        let action = Action::new(what, filter, Count::Unlimited)?;
        self.add_trigger(instance, event, action, None)
    }

    /// Removes histograms that saved a field for another one, which has been removed. `event` may
    /// be any event.
    pub(super) fn remove_unneeded(&mut self, instance: InstanceId, event: &Arc<Event>) -> Result {
        loop {
            let hists = self.hist_triggers(instance, event)?;
            let mut of_fields = hists.iter().filter(|it| {
                let inter_event = it.action.inter_event();
                inter_event.is_some_and(|inter_event| inter_event.is_of_field)
            });
            let Some(unneeded) = of_fields.find(|it| !is_referred_to(it, &hists)) else {
                return Ok(());
            };
            let is_it = |action: &Action| counts_in(action, &unneeded.histogram);
            self.remove_trigger(instance, &unneeded.event, is_it, None)?;
        }
    }

    /// Replaces `former` by `new` in all events that share it. After an error some events may still
    /// count in `former`, although the others show `new`.
    fn replace(
        &mut self,
        instance: InstanceId,
        former: &Arc<Histogram>,
        new: &Arc<Histogram>,
    ) -> Result {
        let mut events = Vec::new();
        for event in self.instances.triggered(instance) {
            let plan = event.in_instance(instance)?.plan();
            if plan
                .actions()
                .iter()
                .any(|action| counts_in(action, former))
            {
                events.push(event.clone())?;
            }
        }
        for event in &events {
            let mut all = Vec::new();
            for action in event.in_instance(instance)?.plan().actions() {
                all.push(if counts_in(action, former) {
                    action.with_histogram(new)?
                } else {
                    action.clone()
                })?;
            }
            self.hold(instance, event, all, None)?;
        }
        Ok(())
    }
}

fn counts_in(action: &Action, histogram: &Arc<Histogram>) -> bool {
    let own = action.counts();
    own.is_some_and(|own| Arc::ptr_eq(own, histogram))
}

/// Returns whether another histogram of `all` refers to a variable of `it`. As in the kernel, `it`
/// may refer to its own.
fn is_referred_to(it: &HistTrigger, all: &[HistTrigger]) -> bool {
    let Some(table) = it.histogram.var_table() else {
        return false;
    };
    let mut others = all
        .iter()
        .filter(|other| !Arc::ptr_eq(&other.histogram, &it.histogram));
    others.any(|other| other.histogram.spec().refers_to(table))
}

/// The [`HistScope`] of a histogram in an instance.
pub(super) struct InstanceScope<'a> {
    registry: &'a Registry,
    event: &'a Event,
    instance: InstanceId,
    /// Whether the histogram is to be removed. Then events that it names may no longer exist.
    removes: bool,
    known: Vec<KnownHistogram<'a>>,
}

impl<'a> InstanceScope<'a> {
    /// Makes the scope of a histogram of `event`; `removes` if it is to be removed. `hists` is the
    /// result of [`Registry::hist_triggers`].
    pub(super) fn new(
        registry: &'a Registry,
        (instance, event): (InstanceId, &'a Event),
        removes: bool,
        hists: &'a [HistTrigger],
    ) -> Result<Self, AllocError> {
        let mut known = Vec::new();
        for it in hists {
            let (group, event) = it.event.names();
            known.push(KnownHistogram {
                group,
                event,
                histogram: &it.histogram,
                filter: it.filter(),
            })?;
        }
        Ok(Self {
            registry,
            event,
            instance,
            removes,
            known,
        })
    }
}

impl HistScope for InstanceScope<'_> {
    fn own(&self) -> (&[u8], &[u8]) {
        self.event.names()
    }

    fn histograms(&self) -> &[KnownHistogram<'_>] {
        &self.known
    }

    fn has_event(&self, group: &[u8], event: &[u8]) -> bool {
        let registry = self.registry;
        self.removes
            || registry
                .triggered_with(self.instance, group, event)
                .is_some()
    }

    fn synthetic(&self, name: &[u8]) -> Option<&[SynthField]> {
        let caused_event = self.registry.definitions.synthetic(name)?;
        Some(caused_event.fields())
    }
}
