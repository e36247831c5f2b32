// SPDX-License-Identifier: GPL-2.0

//! The stacks of hits: recorded behind the hit, or keys of a histogram.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`].

use crate::{
    buffer::Buffer,
    engine::{format::flag, hist::STACK_DEPTH, record::Header, ring::Note, stack},
    hit::{
        action::Action,
        context::{Hit, Running},
        counters::End,
        plan::{Acting, Stacks},
        recorder::{Passed, Recorder},
        tier::Recording,
    },
    kapi::{
        context::{self, Entry, OnCpu},
        stack::{self as frames, Origin, FRAME_SIZE},
    },
};

impl Recorder {
    /// As [`act`](Self::act), where stacks are recorded: behind the record of the hit, if it
    /// is recorded, and by a trigger.
    #[inline(never)]
    pub(super) fn act_with_stacks<A: Passed>(
        &self,
        of: (&Acting, &Buffer),
        hit: &Hit<A>,
        entry: Entry,
        here: &OnCpu,
    ) -> End {
        self.act_with_stacks_here::<A, { Recording::STACKS }>(of, hit, entry, here)
    }

    /// As [`serve_slow`](Self::serve_slow), where stacks are recorded. It takes the arguments of
    /// the hit by value, so that the compiler makes a jump of the call.
    #[inline(never)]
    pub(super) fn serve_with_stacks<A: Passed>(
        &self,
        acting: &Acting,
        hit: A,
        entry: Entry,
        here: &OnCpu,
    ) {
        let buffer = self.buffer.get(here);
        let of = (acting, buffer);
        let end = self.act_with_stacks_here::<A, { Recording::STACKS_OF_HANDLER }>(
            of,
            &Hit(hit),
            entry,
            here,
        );
        self.counters.count(end, here);
        buffer.wake();
    }

    #[inline(always)]
    fn act_with_stacks_here<A: Passed, const CALLER: u8>(
        &self,
        (acting, buffer): (&Acting, &Buffer),
        hit: &Hit<A>,
        entry: Entry,
        here: &OnCpu,
    ) -> End {
        let known = self.known(hit, entry, here);
        let of = (acting, buffer);
        let (end, last, trigger) = self.act_and_record::<A, CALLER>(of, (hit, &known), entry, here);
        let is_recorded = matches!(end, End::Recorded);
        let trigger = trigger.filter(|action| action.is_left());
        let is_wanted = is_recorded && acting.stacks.has(Stacks::KERNEL);
        if is_wanted || trigger.is_some() {
            let origin = hit.0.origin(self, entry);
            self.record_stack(buffer, (origin, known.header), (is_wanted, trigger), here);
        }
        if is_recorded && acting.stacks.has(Stacks::USER) {
            record_user_stack(buffer, known.header, here);
        }
        // Last, as it may be `traceoff`.
        if let Some(action) = last {
            action.act_blindly(buffer, here);
        }
        end
    }

    /// Runs the triggers of a hit that was recorded, whose event cannot be enabled.
    #[inline(always)]
    pub(super) fn act_behind<A: Passed>(
        &self,
        (acting, buffer): (&Acting, &Buffer),
        hit: &Hit<A>,
        entry: Entry,
        here: &OnCpu,
    ) {
        let known = self.known(hit, entry, here);
        let of = (acting, buffer);
        let (_, last, trigger) =
            self.act_and_record::<A, { Recording::BEHIND }>(of, (hit, &known), entry, here);
        let trigger = trigger.filter(|action| action.is_left());
        if trigger.is_some() {
            let origin = hit.0.origin(self, entry);
            self.record_stack(buffer, (origin, known.header), (false, trigger), here);
        }
        if let Some(action) = last {
            action.act_blindly(buffer, here);
        }
    }

    /// Records the stack of a hit with that header: if it `is_wanted` anyway, and once more for
    /// `trigger`.
    ///
    /// From a tracepoint, each function between it and the unwinder is one more frame to
    /// follow, so this is none.
    #[inline(always)]
    fn record_stack(
        &self,
        buffer: &Buffer,
        (origin, header): (Origin<'_>, Header),
        (is_wanted, trigger): (bool, Option<&Action>),
        here: &OnCpu,
    ) {
        let note = Note::of(&Running(context::current()));
        buffer.scratch(here, |out| {
            let length = stack::write(out, header, |out| frames::save(origin, out));
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

    /// Writes the frames of a hit's stack, with zeroes behind them.
    #[inline(never)]
    pub(super) fn save_stack<A: Passed>(
        &self,
        hit: &Hit<A>,
        entry: Entry,
        to: &mut [u64; STACK_DEPTH],
    ) {
        let mut bytes = [0; STACK_DEPTH * FRAME_SIZE];
        frames::save(hit.0.origin(self, entry), &mut bytes);
        for (to, frame) in to.iter_mut().zip(bytes.chunks_exact(FRAME_SIZE)) {
            *to = frame.try_into().map_or(0, u64::from_ne_bytes);
        }
    }
}

/// Records the stack of the user whose task is hit, with that header. As in the kernel, the
/// record of a thread of the kernel has no frames, and there is none in an NMI.
#[inline(never)]
fn record_user_stack(buffer: &Buffer, header: Header, here: &OnCpu) {
    if header.flags & flag::NMI != 0 {
        return;
    }
    let task = context::current();
    let mut record = [0; stack::USER_LENGTH];
    // CAST: A pid, which is positive.
    let process = task.ids().1 as i32;
    stack::write_user(&mut record, header, process, frames::save_user);
    let note = Note::of(&Running(task));
    // Without room it is missing.
    let _ = buffer.record(record.len(), note, here, |out| {
        if let Some(to) = out.get_mut(..record.len()) {
            to.copy_from_slice(&record);
        }
    });
}
