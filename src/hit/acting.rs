// SPDX-License-Identifier: GPL-2.0

//! What happens on a hit of an event that has triggers or a filter.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`].

use crate::{
    buffer::Buffer,
    engine::{
        filter::{self, Filter},
        hist::{Histogram, Moment, ProbeHit, RegisterHit, STACK_DEPTH},
        record::Header,
    },
    hit::{
        action::{Action, OnHit},
        context::Hit,
        counters::End,
        plan::{Acting, Rest},
        recorder::{Passed, Recorder},
        tier::Recording,
    },
    kapi::context::{self, Entry, OnCpu},
};

impl Recorder {
    /// Serves a hit of an event that is disabled and has one trigger without a filter, where
    /// this takes few instructions: there is nothing to do, or an entry of a histogram counts
    /// the hit. Returns false otherwise; then nothing has happened.
    ///
    /// It calls nothing, so that nothing has to be saved on the stack.
    #[inline(always)]
    pub(super) fn acts_fast(&self, hit: &Hit<impl Passed>, here: &OnCpu) -> bool {
        let Rest::Act(acting) = &self.plan.get(here).rest else {
            return false;
        };
        let Some(action) = acting.quick_action() else {
            return false;
        };
        let is_done = match action.histogram() {
            Some(histogram) => {
                let hit = RegisterHit {
                    program: &self.program,
                    env: hit,
                    pid: || context::current().pid(),
                    cpu: || here.number(),
                };
                histogram.update_fast(&hit, here)
            }
            None => action.is_idle(self.buffer.get(here)),
        };
        if is_done {
            self.counters.count(End::Off, here);
        }
        is_done
    }

    /// Returns whether a hit has ended, because the filter rejects it or because triggers have
    /// run, which also record it; then it is counted.
    #[inline(never)]
    pub(super) fn ends<A: Passed>(
        &self,
        rest: &Rest,
        hit: &Hit<A>,
        entry: Entry,
        here: &OnCpu,
    ) -> bool {
        let buffer = self.buffer.get(here);
        let end = match rest {
            Rest::Record => return false,
            Rest::Filter(filter) => {
                if filter.matches(&self.program, hit, &self.known(hit, entry, here)) {
                    return false;
                }
                End::Filtered
            }
            // What filters need to know takes longer than most actions.
            Rest::Act(acting) if acting.is_simple() => {
                if self.acts_fast(hit, here) {
                    return true;
                }
                for action in acting.actions.iter() {
                    self.run(action, (hit, buffer), entry, here);
                }
                End::Off
            }
            Rest::Act(acting) if acting.stacks.are_any() => {
                self.act_with_stacks((acting, buffer), hit, entry, here)
            }
            Rest::Act(acting) => self.act((acting, buffer), hit, entry, here),
            Rest::Several(_)
                if !A::HAS_STAGE_OF_TEXT && self.serve_several_text(hit, entry, here) =>
            {
                return true;
            }
            Rest::Several(several) => self.serve_several(several, hit, entry, here),
            Rest::OfTasks(tasks, plan) => {
                if tasks.have(context::current().pid()) {
                    if matches!(plan.rest, Rest::Record) && self.serve_task(hit, entry, here) {
                        return true;
                    }
                    return self.ends(&plan.rest, hit, entry, here);
                }
                End::Filtered
            }
        };
        self.counters.count(end, here);
        buffer.wake();
        true
    }

    /// Whether only the hits of other tasks count.
    #[inline(always)]
    pub(super) fn rejects_task(&self, here: &OnCpu) -> bool {
        let rejected = match &self.plan.get(here).rest {
            Rest::OfTasks(tasks, _) => !tasks.have(context::current().pid()),
            _ => false,
        };
        if rejected {
            self.counters.count(End::Filtered, here);
        }
        rejected
    }

    /// Serves a hit of a task whose hits count, which the plan otherwise records, where nothing
    /// about it is unusual. Returns false otherwise; then nothing has happened.
    #[inline(never)]
    pub(super) fn serve_task<A: Passed>(&self, hit: &Hit<A>, entry: Entry, here: &OnCpu) -> bool {
        if Self::short(&self.program).is_none() {
            return false;
        }
        let next = self.record_short::<false>(hit, || entry, here);
        self.is_served(next, here)
    }

    /// Runs a trigger that accepts the hit, of the instance with the buffer.
    #[inline(always)]
    fn run<A: Passed>(
        &self,
        action: &Action,
        (hit, buffer): (&Hit<A>, &Buffer),
        entry: Entry,
        here: &OnCpu,
    ) {
        match action.histogram() {
            Some(histogram) => self.count_in(histogram, (hit, buffer), entry, here),
            None => action.act_blindly(buffer, here),
        }
    }

    /// Counts a hit in a histogram; apart, so that other triggers save no registers for it.
    #[inline(never)]
    fn count_in<A: Passed>(
        &self,
        histogram: &Histogram,
        (hit, buffer): (&Hit<A>, &Buffer),
        entry: Entry,
        here: &OnCpu,
    ) {
        let moment = At {
            recorder: self,
            buffer,
            hit,
            entry,
            here,
        };
        let hit = ProbeHit {
            program: &self.program,
            env: hit,
            moment: &moment,
        };
        histogram.update(&hit, here);
    }

    /// Runs the triggers of a hit, and records it if the event is enabled, all in one instance.
    /// A hit that is not recorded because it is disabled ends as if recording were off, unless
    /// no trigger's filter has accepted it.
    #[inline(never)]
    pub(super) fn act<A: Passed>(
        &self,
        (acting, buffer): (&Acting, &Buffer),
        hit: &Hit<A>,
        entry: Entry,
        here: &OnCpu,
    ) -> End {
        let known = self.known(hit, entry, here);
        let of = (acting, buffer);
        let (end, last, _) =
            self.act_and_record::<A, { Recording::ACT }>(of, (hit, &known), entry, here);
        if let Some(action) = last {
            action.act_blindly(buffer, here);
        }
        end
    }

    /// Does what [`act`](Self::act) does up to the record. Returns how the hit ends, the trigger
    /// that acts afterwards, and, unless `CALLER` is [`Recording::ACT`], the one that then records
    /// the stack.
    #[inline(always)]
    pub(super) fn act_and_record<'a, A: Passed, const CALLER: u8>(
        &self,
        (acting, buffer): (&'a Acting, &Buffer),
        (hit, known): (&Hit<A>, &filter::Hit),
        entry: Entry,
        here: &OnCpu,
    ) -> (End, Option<&'a Action>, Option<&'a Action>) {
        let program = &self.program;
        let on_hit = OnHit {
            program,
            env: hit,
            known,
        };
        let (mut last, mut stack) = (None, None);
        let mut is_accepted = acting.actions.is_empty();
        for action in acting.actions.iter() {
            if action.accepts(&on_hit) {
                is_accepted = true;
                if action.is_last() {
                    last = Some(&**action);
                } else if CALLER != Recording::ACT && action.is_stack() {
                    stack = Some(&**action);
                } else {
                    self.run(action, (hit, buffer), entry, here);
                }
            }
        }
        let accepts = |filter: &Filter| filter.matches(program, hit, known);
        let end = if !acting.switch.is_on() {
            if is_accepted {
                End::Off
            } else {
                End::Filtered
            }
        } else if acting.filter.as_deref().is_none_or(accepts) {
            self.record_slow::<A, CALLER>(buffer, hit, known.header, here)
        } else {
            End::Filtered
        };
        (end, last, stack)
    }
}

/// What a histogram can ask of a hit.
struct At<'a, A> {
    recorder: &'a Recorder,
    buffer: &'a Buffer,
    hit: &'a Hit<A>,
    entry: Entry,
    here: &'a OnCpu,
}

impl<A: Passed> Moment for At<'_, A> {
    #[inline(always)]
    fn pid(&self) -> i32 {
        context::current().pid()
    }

    fn header(&self) -> Header {
        self.recorder.header(self.hit, self.entry)
    }

    #[inline(always)]
    fn cpu(&self) -> u32 {
        self.here.number()
    }

    #[inline(always)]
    fn place(&self) -> u64 {
        self.recorder.place(&self.hit.0)
    }

    fn time(&self, in_usecs: bool) -> u64 {
        self.buffer.now(in_usecs, self.here)
    }

    fn stack(&self, frames: &mut [u64; STACK_DEPTH]) {
        self.recorder.save_stack(self.hit, self.entry, frames);
    }
}
