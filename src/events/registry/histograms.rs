// SPDX-License-Identifier: GPL-2.0

//! Setting, changing and removing histograms.

use super::Registry;
use crate::{
    engine::{
        error::{Error as Refusal, Kind},
        filter::Filter,
        hist::{self, Decision, Existing, Histogram, KeySource, Spec},
        lex::Span,
        trigger::Count,
    },
    events::{event::Event, event_file::InstanceId},
    hit::action::{Action, ActionKind},
    kapi::{
        percpu::{self, PerCpu},
        stack,
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
        Histogram::new(spec, (own, shared), is_paused),
        GFP_KERNEL,
    )?)
}

fn failed(error: Error) -> Refusal {
    Refusal::registration(errno(error), 0)
}

impl Registry {
    /// Removes all histograms of `event` in the instance `of`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then some are left.
    ///
    /// Context: process, may sleep.
    pub(crate) fn remove_histograms(&mut self, of: InstanceId, event: &Arc<Event>) -> Result {
        self.remove_trigger(of, event, |action| action.histogram().is_some(), None)
    }

    /// Does what a trigger `hist:TEXT` of `event` in the instance `of` requests.
    ///
    /// # Errors
    ///
    /// A refusal; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(super) fn change_histograms(
        &mut self,
        of: InstanceId,
        event: &Arc<Event>,
        text: Span<'_>,
        removes: bool,
    ) -> Result<(), Refusal> {
        let layout = &event.format.layout;
        let mut request = hist::parse(text, layout)?;
        let mut keys = request.spec.keys.iter();
        if keys.any(|key| key.source == KeySource::Stack) {
            stack::prepare();
        }
        let filter = request.filter.map(|text| {
            self.compile_filter(text.bytes, layout)
                .map_err(|mut refusal| {
                    refusal.at = refusal.at.saturating_add(text.at);
                    refusal
                })
        });
        let filter = filter.transpose()?;
        let plan = event.in_instance(of).map_err(failed)?.plan();
        let counted = self.counted(of, event, request.spec.name.is_some())?;
        let mut existing = Vec::new();
        for (histogram, action) in &counted {
            existing.push(Existing {
                spec: histogram.spec(),
                filter: action.filter().map(Filter::text),
                is_here: plan.actions().iter().any(|own| Arc::ptr_eq(own, action)),
            })?;
        }
        if removes {
            let found = hist::find(&request, &existing).and_then(|index| counted.get(index));
            let Some((found, _)) = found else {
                return Ok(());
            };
            return self
                .remove_trigger(of, event, |action| counts_in(action, found), None)
                .map_err(failed);
        }
        match hist::decide(&request, &existing, text.at)? {
            Decision::Share { with, is_paused } => {
                let Some((shared, _)) = counted.get(with) else {
                    return Ok(());
                };
                Action::new(ActionKind::Count(shared.clone()), filter, Count::Unlimited)
                    .and_then(|action| self.add_trigger(of, event, action, None))
                    .map_err(failed)?;
                if is_paused {
                    shared.set_paused(true);
                }
                Ok(())
            }
            Decision::SetPaused { index, is_paused } => {
                if let Some((histogram, _)) = counted.get(index) {
                    histogram.set_paused(is_paused);
                }
                Ok(())
            }
            Decision::Set { is_paused } => {
                let histogram = counting(request.spec, is_paused, text.at)?;
                Action::new(ActionKind::Count(histogram), filter, Count::Unlimited)
                    .and_then(|action| self.add_trigger(of, event, action, None))
                    .map_err(failed)
            }
            Decision::Clear { index } => {
                let Some((former, _)) = counted.get(index) else {
                    return Ok(());
                };
                // They are alike but for the size.
                request.spec.size = former.spec().size;
                let new = counting(request.spec, former.is_paused(), text.at)?;
                self.replace(of, former, &new).map_err(failed)
            }
        }
    }

    /// Returns the histograms of `event` with their actions; the histograms of all other
    /// events follow, if `with_others`.
    fn counted(
        &self,
        of: InstanceId,
        event: &Arc<Event>,
        with_others: bool,
    ) -> Result<Vec<Counted>, AllocError> {
        let mut counted = Vec::new();
        let others = self
            .triggered(of)
            .filter(|other| !Arc::ptr_eq(other, event));
        let others = others.filter(|_| with_others);
        for event in Iterator::chain(core::iter::once(event), others) {
            let plan = event.file(of).map(|file| file.plan());
            for action in plan.iter().flat_map(|plan| plan.actions()) {
                if let Some(histogram) = action.histogram() {
                    counted.push((histogram.clone(), action.clone()))?;
                }
            }
        }
        Ok(counted)
    }

    /// Makes `new` count in place of `former`, in all events that share it. On an error some
    /// events may still count in `former`, which is not shown any more by the others.
    fn replace(&mut self, of: InstanceId, former: &Arc<Histogram>, new: &Arc<Histogram>) -> Result {
        let mut events = Vec::new();
        for event in self.triggered(of) {
            let plan = event.in_instance(of)?.plan();
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
            for action in event.in_instance(of)?.plan().actions() {
                all.push(if counts_in(action, former) {
                    action.with_histogram(new)?
                } else {
                    action.clone()
                })?;
            }
            self.hold(of, event, all, None)?;
        }
        Ok(())
    }
}

/// A histogram, and the action that counts in it.
type Counted = (Arc<Histogram>, Arc<Action>);

fn counts_in(action: &Action, histogram: &Arc<Histogram>) -> bool {
    let own = action.histogram();
    own.is_some_and(|own| Arc::ptr_eq(own, histogram))
}
