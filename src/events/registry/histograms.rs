// SPDX-License-Identifier: GPL-2.0

//! Setting, changing and removing histograms.

use super::Registry;
use crate::{
    engine::{
        error::Error as Refusal,
        filter::Filter,
        hist::{self, Decision, Existing, Histogram, Source, Spec, Table},
        lex::Span,
        trigger::Count,
    },
    events::{event::Event, event_file::InstanceId},
    hit::action::{Action, What},
    kapi::{percpu::PerCpu, stack},
    source::{machine::errno, syscalls},
    sys::{AllocError, Vec},
};
use kernel::{prelude::*, sync::Arc};

/// Makes a histogram with empty tables.
fn counting(spec: Spec, is_paused: bool) -> Result<Arc<Histogram>> {
    let tables = PerCpu::new(|_| Ok(Table::new(&spec)?))?;
    Ok(Arc::new(
        Histogram::new(spec, tables, is_paused),
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
        if keys.any(|key| key.source == Source::Stack) {
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
                Action::new(What::Count(shared.clone()), filter, Count::Unlimited)
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
            Decision::Set { is_paused } => counting(request.spec, is_paused)
                .and_then(|histogram| Action::new(What::Count(histogram), filter, Count::Unlimited))
                .and_then(|action| self.add_trigger(of, event, action, None))
                .map_err(failed),
            Decision::Clear { index } => {
                let Some((former, _)) = counted.get(index) else {
                    return Ok(());
                };
                // They are alike but for the size.
                request.spec.size = former.spec().size;
                counting(request.spec, former.is_paused())
                    .and_then(|new| self.replace(of, former, &new))
                    .map_err(failed)
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

    /// Returns the names of the system calls with their numbers, ascending.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn call_names(&mut self) -> Result<Vec<(u32, Vec<u8>)>> {
        let mut all = Vec::new();
        syscalls::each(&mut self.names, |number, call| {
            Ok(all.push((number, call.name))?)
        })?;
        Ok(all)
    }
}

/// A histogram, and the action that counts in it.
type Counted = (Arc<Histogram>, Arc<Action>);

fn counts_in(action: &Action, histogram: &Arc<Histogram>) -> bool {
    let own = action.histogram();
    own.is_some_and(|own| Arc::ptr_eq(own, histogram))
}
