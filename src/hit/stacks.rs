// SPDX-License-Identifier: GPL-2.0

//! The stacks of hits: recorded behind the hit, or keys of a histogram.
//!
//! An event that records stacks has the plan of one with triggers, so that hits of other events
//! need not ask for stacks.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`].

use crate::{
    buffer::Buffer,
    engine::{hist::STACK_DEPTH, record::format::flag, record::stack, record::Header, ring::Note},
    hit::{
        action::Action,
        counters::HitEnd,
        plan::{Stacks, Triggers},
        recorder::Recorder,
        sample::{HitArgs, Running, Sample},
    },
    kapi::{
        context::{self, OnCpu},
        stack::{self as frames, StackOrigin},
        stack_room, tracepoint,
    },
};

impl Recorder {
    /// Runs triggers as [`act`](Self::act) does, and records stacks: behind the record of the hit,
    /// if it is recorded, and by a trigger.
    #[inline(never)]
    pub(super) fn act_with_stacks(
        &self,
        of: (&Triggers, &Buffer),
        sample: &Sample<'_>,
        here: &OnCpu,
    ) -> HitEnd {
        self.act_with_stacks_here(of, sample, here)
    }

    /// Serves any hit of a tracepoint where stacks are recorded. It takes the arguments by value,
    /// so that its caller can make a tail call.
    #[inline(never)]
    pub(super) fn serve_with_stacks(
        &self,
        triggers: &Triggers,
        arguments: tracepoint::PointArguments<'_>,
        here: &OnCpu,
    ) {
        if !stack_room::suffices() {
            return self.count_missed(here);
        }
        let buffer = self.buffer.get(here);
        let sample = &Sample::of(HitArgs::Tracepoint(arguments));
        let end = self.act_with_stacks_here((triggers, buffer), sample, here);
        self.counters.count(end, here);
        buffer.wake();
    }

    #[inline(always)]
    fn act_with_stacks_here(
        &self,
        (triggers, buffer): (&Triggers, &Buffer),
        sample: &Sample<'_>,
        here: &OnCpu,
    ) -> HitEnd {
        let hit = self.filter_hit(sample, here);
        let (end, later) = self.act_and_record((triggers, buffer), (sample, &hit), here);
        let is_recorded = matches!(end, HitEnd::Recorded);
        let trigger = later.stack.filter(|action| action.is_left());
        let is_wanted = is_recorded && triggers.stacks.has(Stacks::KERNEL);
        if is_wanted || trigger.is_some() {
            let origin = sample.origin(self.function);
            self.record_stack(buffer, (origin, hit.header), (is_wanted, trigger), here);
        }
        if is_recorded && triggers.stacks.has(Stacks::USER) {
            record_user_stack(buffer, hit.header, here);
        }
        // Last, as it may be `traceoff`.
        if let Some(action) = later.last {
            action.act(&self.sent(sample), buffer, here);
        }
        end
    }

    /// Records the stack of a hit with that header: if it `is_wanted` anyway, and once more for
    /// `trigger`.
    ///
    /// Inlined: each function between a tracepoint and the unwinder is one more frame to unwind.
    #[inline(always)]
    fn record_stack(
        &self,
        buffer: &Buffer,
        (origin, header): (StackOrigin<'_>, Header),
        (is_wanted, trigger): (bool, Option<&Action>),
        here: &OnCpu,
    ) {
        let note = Note::of(&Running(context::current()));
        buffer.scratch(here, |out| {
            let length = stack::write(out, header, |out| frames::save(origin, out).count);
            let record = length.and_then(|length| out.get(..length));
            let record = record.unwrap_or_default();
            let put = || {
                let result = buffer.record(record.len(), note, here, |out| {
                    if let Some(to) = out.get_mut(..record.len()) {
                        to.copy_from_slice(record);
                    }
                });
                result.is_ok()
            };
            if record.is_empty() {
                return;
            }
            if is_wanted {
                put();
            }
            if let Some(action) = trigger {
                action.act_by(put);
            }
        });
    }

    /// Writes the frames of a hit's stack to `to`, which is zeroed. The last word becomes 1 if the
    /// stack has more frames.
    #[inline(never)]
    pub(super) fn save_stack(&self, sample: &Sample<'_>, to: &mut [u64; STACK_DEPTH]) {
        let [kept @ .., more] = to;
        let saved = frames::save(sample.origin(self.function), kept);
        *more = saved.is_cut.into();
    }
}

/// Writes the user stack of the current task to `to`, which is zeroed; returns the pid of its
/// process. In an NMI there are none.
#[inline(never)]
pub(super) fn save_user_stack(sample: &Sample<'_>, to: &mut [u64; STACK_DEPTH]) -> u32 {
    if !context::level(sample.way()).in_nmi() {
        frames::save_user(to);
    }
    context::current().ids().1
}

/// Records the user stack of the current task, with the given header. As in the kernel, the record
/// of a thread of the kernel has no frames, and there is none in an NMI.
#[inline(never)]
fn record_user_stack(buffer: &Buffer, header: Header, here: &OnCpu) {
    if header.flags & flag::NMI != 0 {
        return;
    }
    let task = context::current();
    let mut record = [0; stack::USER_LENGTH];
    // CAST: A pid, which is positive.
    let process = task.ids().1 as i32;
    stack::write_user(&mut record, header, process, |out| frames::save_user(out));
    let note = Note::of(&Running(task));
    // Without room it is missing.
    let _ = buffer.record(record.len(), note, here, |out| {
        if let Some(to) = out.get_mut(..record.len()) {
            to.copy_from_slice(&record);
        }
    });
}
