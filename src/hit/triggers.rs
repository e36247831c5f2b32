// SPDX-License-Identifier: GPL-2.0

//! Runs the triggers and the filter of a hit.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`].

use crate::{
    buffer::Buffer,
    engine::{
        filter::{self, Filter},
        hist::{Histogram, Moment, NumberHit, ProbeHit, RegisterHit, STACK_DEPTH},
        record::Header,
    },
    hit::{
        action::{Action, OnHit, Sole},
        counters::HitEnd,
        inter_event::InterEventHistogram,
        plan::{Plan, PlanKind, Triggers},
        recorder::Recorder,
        sample::{HitContext, Sample, SentHit},
        source::Source,
        stacks::save_user_stack,
    },
    kapi::context::{self, OnCpu, PlainCount},
};

impl Recorder {
    /// Runs the sole action, if it takes few instructions: an entry of a histogram counts the hit,
    /// or what would be switched is switched already. Otherwise returns false, with no effect.
    ///
    /// It calls nothing, so that nothing has to be saved on the stack.
    #[inline(always)]
    pub(super) fn acts_fast(&self, source: impl Source, here: &OnCpu) -> bool {
        let is_done = match self.sole(here) {
            Some(Sole::Count(histogram)) => {
                let sample = source.sample();
                let hit = self.at_hand(&sample, here);
                histogram.update_fast(&hit, here)
            }
            // Most hits change nothing.
            Some(Sole::Trace(on)) => self.buffer.get(here).is_on() == *on,
            Some(Sole::Event(switch, on)) => switch.is_on() == *on,
            _ => false,
        };
        if is_done {
            self.counters.count(HitEnd::Off, here);
        }
        is_done
    }

    /// Counts a hit in an inter-event histogram, if that is the sole action and takes few
    /// instructions: it sets variables, or emits a synthetic event. Otherwise returns false, with
    /// no effect.
    #[inline(always)]
    pub(super) fn counts_inter_event(&self, source: impl Source, here: &OnCpu) -> bool {
        let Some(Sole::InterEvent(inter_event) | Sole::SaveTimestamp(inter_event)) =
            self.sole(here)
        else {
            return false;
        };
        let is_done = self.counts_inter_event_fast(inter_event, &source.sample(), here);
        if is_done {
            self.counters.count(HitEnd::Off, here);
        }
        is_done
    }

    /// Saves the time in a variable, if that is all that the sole action does, and the key is in a
    /// register. It calls nothing.
    #[inline(always)]
    pub(super) fn save_timestamp(&self, source: impl Source, here: &OnCpu) -> bool {
        let Some(Sole::SaveTimestamp(inter_event)) = self.sole(here) else {
            return false;
        };
        let histogram = &inter_event.histogram;
        let in_usecs = histogram.counts_usecs();
        let buffer = self.buffer.get(here);
        let sample = source.sample();
        let hit = self.at_hand(&sample, here);
        let is_done = histogram.stamp(&hit, || buffer.now_fast(in_usecs, here));
        if is_done {
            self.counters.count(HitEnd::Off, here);
        }
        is_done
    }

    /// Returns the sole action of the event, if that is disabled.
    #[inline(always)]
    fn sole<'a>(&'a self, here: &'a OnCpu) -> Option<&'a Sole> {
        match &self.plan.get(here).kind {
            PlanKind::Triggers(triggers) => triggers.sole(),
            _ => None,
        }
    }

    /// Returns what a histogram gets of a hit in few instructions.
    #[inline(always)]
    fn at_hand<'a>(
        &'a self,
        sample: &'a Sample<'a>,
        here: &'a OnCpu,
    ) -> RegisterHit<'a, Sample<'a>, impl Fn() -> i32, impl Fn() -> u32 + 'a> {
        RegisterHit {
            program: &self.program,
            env: sample,
            pid: || context::current().pid(),
            cpu: || here.number(),
        }
    }

    /// Sends a hit to all event probes, or counts it in an inter-event histogram. Returns false,
    /// with no effect, if more is to be done.
    #[inline(always)]
    pub(super) fn forward_or_count(&self, source: impl Source, here: &OnCpu) -> bool {
        self.forward_to_all(source, here) || self.counts_inter_event(source, here)
    }

    /// Sends a hit to an event probe, if that is the sole action. Otherwise returns false, with no
    /// effect.
    #[inline(always)]
    pub(super) fn forward_to_one(&self, source: impl Source, here: &OnCpu) -> bool {
        let Some(Sole::Send(send)) = self.sole(here) else {
            return false;
        };
        // Count first: then nothing has to be kept in registers while the hit is sent.
        self.counters.count(HitEnd::Off, here);
        send.to.receive_hit(&self.sent(&source.sample()), here);
        true
    }

    /// Notes that a hit begins a pair, if that is the sole action. Otherwise returns false, with no
    /// effect.
    #[inline(always)]
    pub(super) fn begin_pair(&self, source: impl Source, here: &OnCpu) -> bool {
        let Some(Sole::Begin(open)) = self.sole(here) else {
            return false;
        };
        self.counters.count(HitEnd::Off, here);
        if open.is_armed() {
            open.begin(&self.program, &source.sample(), here);
        }
        true
    }

    /// Sends a hit to event probes, if all actions do that, and records it if the event is enabled.
    /// Otherwise returns false, with no effect.
    #[inline(always)]
    fn forward_to_all(&self, source: impl Source, here: &OnCpu) -> bool {
        let PlanKind::Triggers(triggers) = &self.plan.get(here).kind else {
            return false;
        };
        if !triggers.only_forwards() {
            return false;
        }
        let is_on = triggers.switch.is_on();
        let sample = source.sample();
        let hit = self.sent(&sample);
        for sink in triggers.actions.iter().filter_map(|it| it.sink()) {
            sink.receive_hit(&hit, here);
        }
        match is_on {
            true => self.record_sent(&sample, here),
            false => self.counters.count(HitEnd::Off, here),
        }
        true
    }

    /// Records a hit that has been sent to event probes.
    #[inline(never)]
    fn record_sent(&self, sample: &Sample<'_>, here: &OnCpu) {
        if self.is_short {
            if self.record_short::<false>(sample, here).is_done() {
                return;
            }
        }
        let buffer = self.buffer.get(here);
        let end = self.record_slow(buffer, sample, self.header(sample), here);
        self.counters.count(end, here);
        buffer.wake();
    }

    /// Counts a hit in an inter-event histogram, if that takes few instructions. Otherwise returns
    /// false, with no effect.
    #[inline(never)]
    fn counts_inter_event_fast(
        &self,
        inter_event: &InterEventHistogram,
        sample: &Sample<'_>,
        here: &OnCpu,
    ) -> bool {
        let histogram = &inter_event.histogram;
        let hit = NumberHit(self.at_hand(sample, here));
        let in_usecs = histogram.counts_usecs();
        let buffer = self.buffer.get(here);
        let time = || buffer.now_fast(in_usecs, here);
        histogram.stamp(&hit, time)
            || histogram.update_inter_event_fast(
                &hit,
                time,
                &inter_event.outside((|| self.sent(sample), buffer), here),
            )
    }

    /// Asks the filter, or runs the triggers and records the hit. Returns true if the hit has been
    /// counted, false if it is still to be recorded.
    #[inline(never)]
    pub(super) fn ends(&self, kind: &PlanKind, sample: &Sample<'_>, here: &OnCpu) -> bool {
        let buffer = self.buffer.get(here);
        let end = match kind {
            PlanKind::Record => return false,
            PlanKind::Filter(filter) => {
                if filter.matches(&self.program, sample, &self.filter_hit(sample, here)) {
                    return false;
                }
                HitEnd::Filtered
            }
            // What filters need to know takes longer than most actions.
            PlanKind::Triggers(triggers) if triggers.only_acts() => {
                if self.acts_fast(sample, here) {
                    return true;
                }
                for action in triggers.actions.iter() {
                    self.run(action, (sample, buffer), here);
                }
                HitEnd::Off
            }
            PlanKind::Triggers(triggers) if triggers.stacks.are_any() => {
                self.act_with_stacks((triggers, buffer), sample, here)
            }
            PlanKind::Triggers(triggers) => self.act((triggers, buffer), sample, here),
            PlanKind::PerInstance(_) if self.serve_text_per_instance(sample, here) => return true,
            PlanKind::PerInstance(instances) => self.serve_per_instance(instances, sample, here),
            PlanKind::OfTasks(tasks, plan) => {
                if tasks.have(context::current().pid()) {
                    return self.ends(&plan.kind, sample, here);
                }
                self.send_apart(plan, sample, here);
                HitEnd::Filtered
            }
        };
        self.counters.count(end, here);
        buffer.wake();
        true
    }

    /// Sends a hit to the event probes and pairs of `plan`, where the hits of its task do not count
    /// in the instance: event probes and pairs choose their own tasks in each instance.
    #[inline(never)]
    pub(super) fn send_apart(&self, plan: &Plan, sample: &Sample<'_>, here: &OnCpu) {
        if !plan.forwards_any() {
            return;
        }
        let on_hit = OnHit {
            program: &self.program,
            sample,
            filter_hit: &self.filter_hit(sample, here),
        };
        for action in plan.actions() {
            if let Some(sink) = action.sink().filter(|_| action.accepts(&on_hit)) {
                sink.receive_hit(&self.sent(sample), here);
            }
        }
    }

    /// Rejects a hit of a task whose hits do not count. Returns whether it has, and then the hit is
    /// counted.
    #[inline(always)]
    pub(super) fn rejects_task(&self, here: &OnCpu) -> bool {
        let rejected = match &self.plan.get(here).kind {
            PlanKind::OfTasks(tasks, _) => !tasks.have(context::current().pid()),
            _ => false,
        };
        if rejected {
            self.counters.count(HitEnd::Filtered, here);
        }
        rejected
    }

    /// Runs an action on a hit that it accepts, in the instance with the buffer.
    #[inline(always)]
    fn run(&self, action: &Action, (sample, buffer): (&Sample<'_>, &Buffer), here: &OnCpu) {
        match action.histogram() {
            Some(histogram) => self.count_in(histogram, (sample, buffer), here),
            None => self.run_other(action, (sample, buffer), here),
        }
    }

    /// Returns a hit as it is sent to event probes.
    #[inline(always)]
    pub(super) fn sent<'a>(&'a self, sample: &'a Sample<'_>) -> SentHit<'a> {
        SentHit {
            program: &self.program,
            sample,
            plain: PlainCount::of(sample.way()),
            context: HitContext {
                way: sample.way(),
                irqs_disabled: sample.irqs_disabled(),
            },
            function: &self.function,
        }
    }

    /// Runs an action that does not count in a plain histogram.
    #[inline(never)]
    fn run_other(&self, action: &Action, (sample, buffer): (&Sample<'_>, &Buffer), here: &OnCpu) {
        let Some(inter_event) = action.inter_event() else {
            return action.act(&self.sent(sample), buffer, here);
        };
        if self.counts_inter_event_fast(inter_event, sample, here) {
            return;
        }
        self.count_inter_event(inter_event, (sample, buffer), here);
    }

    /// Calls `count` with what a histogram can ask of a hit.
    #[inline(always)]
    fn with_hit(
        &self,
        (sample, buffer): (&Sample<'_>, &Buffer),
        here: &OnCpu,
        count: impl FnOnce(&ProbeHit<'_, Sample<'_>, At<'_>>),
    ) {
        let moment = At {
            recorder: self,
            buffer,
            sample,
            here,
        };
        let hit = ProbeHit {
            program: &self.program,
            env: sample,
            moment: &moment,
        };
        count(&hit);
    }

    /// Counts a hit in an inter-event histogram. It is not inlined, so that fewer hits save
    /// registers for it.
    #[inline(never)]
    fn count_inter_event(
        &self,
        inter_event: &InterEventHistogram,
        (sample, buffer): (&Sample<'_>, &Buffer),
        here: &OnCpu,
    ) {
        let sent = || self.sent(sample);
        self.with_hit((sample, buffer), here, |hit| {
            inter_event.update(hit, (sent, buffer), here)
        });
    }

    /// Counts a hit in a histogram. It is not inlined, so that other triggers save no registers for
    /// it.
    #[inline(never)]
    fn count_in(
        &self,
        histogram: &Histogram,
        (sample, buffer): (&Sample<'_>, &Buffer),
        here: &OnCpu,
    ) {
        self.with_hit((sample, buffer), here, |hit| histogram.update(hit, here));
    }

    /// Runs the triggers of a hit, and records it if the event is enabled, all in one instance.
    /// A hit of a disabled event ends as off, or as filtered if no action has accepted it.
    #[inline(never)]
    pub(super) fn act(
        &self,
        (triggers, buffer): (&Triggers, &Buffer),
        sample: &Sample<'_>,
        here: &OnCpu,
    ) -> HitEnd {
        let hit = self.filter_hit(sample, here);
        let of = (triggers, buffer);
        let (end, later) = self.act_and_record(of, (sample, &hit), here);
        if let Some(action) = later.last {
            action.act(&self.sent(sample), buffer, here);
        }
        end
    }

    /// Does what [`act`](Self::act) does up to the record. Returns how the hit ends, and the
    /// triggers that act afterwards.
    #[inline(always)]
    pub(super) fn act_and_record<'a>(
        &self,
        (triggers, buffer): (&'a Triggers, &Buffer),
        (sample, hit): (&Sample<'_>, &filter::Hit),
        here: &OnCpu,
    ) -> (HitEnd, Later<'a>) {
        let program = &self.program;
        let on_hit = OnHit {
            program,
            sample,
            filter_hit: hit,
        };
        let mut later = Later::default();
        let mut is_accepted = triggers.actions.is_empty();
        for action in triggers.actions.iter() {
            if action.accepts(&on_hit) {
                is_accepted = true;
                if action.is_last() {
                    later.last = Some(&**action);
                } else if action.is_stack() {
                    later.stack = Some(&**action);
                } else {
                    self.run(action, (sample, buffer), here);
                }
            }
        }
        let accepts = |filter: &Filter| filter.matches(program, sample, hit);
        let end = if !triggers.switch.is_on() {
            if is_accepted {
                HitEnd::Off
            } else {
                HitEnd::Filtered
            }
        } else if triggers.filter.as_deref().is_none_or(accepts) {
            self.record_slow(buffer, sample, hit.header, here)
        } else {
            HitEnd::Filtered
        };
        (end, later)
    }
}

/// Triggers that act once a hit is recorded.
#[derive(Default)]
pub(super) struct Later<'a> {
    /// Records the stack.
    pub(super) stack: Option<&'a Action>,
    /// Is the last one that acts.
    pub(super) last: Option<&'a Action>,
}

/// What a histogram can ask of a hit.
struct At<'a> {
    recorder: &'a Recorder,
    buffer: &'a Buffer,
    sample: &'a Sample<'a>,
    here: &'a OnCpu,
}

impl Moment for At<'_> {
    #[inline(always)]
    fn pid(&self) -> i32 {
        context::current().pid()
    }

    fn header(&self) -> Header {
        self.recorder.header(self.sample)
    }

    #[inline(always)]
    fn cpu(&self) -> u32 {
        self.here.number()
    }

    #[inline(always)]
    fn place(&self) -> u64 {
        self.recorder.place(self.sample)
    }

    fn time(&self, in_usecs: bool) -> u64 {
        self.buffer.now(in_usecs, self.here)
    }

    fn stack(&self, frames: &mut [u64; STACK_DEPTH]) {
        self.recorder.save_stack(self.sample, frames);
    }

    fn user_stack(&self, frames: &mut [u64; STACK_DEPTH]) -> u32 {
        save_user_stack(self.sample, frames)
    }
}
