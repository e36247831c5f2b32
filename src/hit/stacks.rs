// SPDX-License-Identifier: GPL-2.0

//! The stacks of hits: recorded behind the hit, or keys of a histogram.
//!
//! An event that records stacks has the plan of one with triggers, so that hits of other events
//! need not ask for stacks.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`].

use crate::{
    buffer::{Buffer, Pace},
    engine::{
        hist::{Histogram, KEPT_FRAMES, STACK_DEPTH},
        record::{format::flag, stack, Header, PROBE_WORDS},
        ring::{Fill, Long, Note, Payload, Short},
    },
    hit::{
        action::{Action, Sole},
        counters::HitEnd,
        per_instance::publish_nested,
        plan::{PlanKind, Stacks, Triggers},
        recorder::Recorder,
        sample::{HitArgs, Running, Sample},
        shape::ByProgram,
        source::Source,
        stage::Stage,
        step::{plain_flags, OneInstance},
    },
    kapi::{
        cold,
        context::{self, OnCpu},
        handler::Next,
        scratch::{self, Borrower},
        stack::{self as frames, SavedFrames, StackOrigin},
        stack_room, tracepoint,
    },
    sys,
};

/// The bytes of a frame.
const FRAME: usize = 8;

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

    /// Serves a plain hit whose stack is recorded or counted, if nothing else is to be done. Leaves
    /// any other hit to [`Stage::SERVE`].
    #[inline(always)]
    pub(super) fn serve_stack(&self, source: impl Source, here: &OnCpu) -> Next {
        let PlanKind::Triggers(triggers) = &self.plan.get(here).kind else {
            return Next::Stage(Stage::SERVE);
        };
        if !source.is_plain() {
            return Next::Stage(Stage::SERVE);
        }
        match triggers.sole() {
            Some(Sole::CountStack(histogram)) => {
                let count = CountStack(source.sample().origin(self.function), histogram, here);
                let counted = self.buffer.get(here).lend_scratch(here, count);
                if counted != Some(true) {
                    return Next::Stage(Stage::SERVE);
                }
                self.counters.count(HitEnd::Off, here);
                return Next::Done;
            }
            Some(Sole::RecordStack) => self.counters.count(HitEnd::Off, here),
            None if triggers.records_stack() && self.is_short => {
                let to = OneInstance::<false>;
                let shape = ByProgram::<false>;
                let next = self.step_if_plain(source, shape, &self.short, to, here);
                if !next.is_done() {
                    return next;
                }
            }
            _ => return Next::Stage(Stage::SERVE),
        }
        let header = Header {
            event: self.event,
            flags: plain_flags(source),
            preempt_count: 0,
            pid: context::current().pid(),
        };
        let buffer = self.buffer.get(here);
        let origin = source.sample().origin(self.function);
        self.record_stack(buffer, (origin, header), (true, None), here);
        if buffer.is_awaited() {
            cold::call(buffer, here);
        }
        Next::Done
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
        let record = RecordStack {
            buffer,
            origin,
            header,
            is_wanted,
            trigger,
            here,
        };
        buffer.lend_scratch(here, record);
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
        sys::copy_slice(out, &record);
    });
}

/// Returns the frames that `saved` says were written to `room`.
#[inline(always)]
fn frames_in(room: &mut [u8], saved: SavedFrames) -> &mut [u8] {
    let length = saved.count.wrapping_mul(FRAME);
    room.get_mut(..length).unwrap_or_default()
}

/// Counts a hit by its stack, which begins there. The result is that of
/// [`Histogram::update_by_stack`].
struct CountStack<'a>(StackOrigin<'a>, &'a Histogram, &'a OnCpu);

impl Borrower<[u8; scratch::SIZE]> for CountStack<'_> {
    type Result = bool;

    #[inline(always)]
    fn borrow(self, room: &mut [u8; scratch::SIZE]) -> bool {
        let Self(origin, histogram, here) = self;
        let Some(room) = room.first_chunk_mut::<{ KEPT_FRAMES * FRAME }>() else {
            return false;
        };
        let saved = frames::save(origin, room.as_mut_slice());
        histogram.update_by_stack(frames_in(room, saved), saved.is_cut, here)
    }
}

/// Records a stack; see [`Recorder::record_stack`].
struct RecordStack<'a> {
    buffer: &'a Buffer,
    origin: StackOrigin<'a>,
    header: Header,
    is_wanted: bool,
    trigger: Option<&'a Action>,
    here: &'a OnCpu,
}

impl Borrower<[u8; scratch::SIZE]> for RecordStack<'_> {
    type Result = ();

    #[inline(always)]
    fn borrow(self, room: &mut [u8; scratch::SIZE]) {
        let Some(room) = room.first_chunk_mut::<{ stack::MAX_FRAMES }>() else {
            return;
        };
        let saved = frames::save(self.origin, room.as_mut_slice());
        let (buffer, header, frames, here) = (
            self.buffer,
            self.header,
            &*frames_in(room, saved),
            self.here,
        );
        if frames.is_empty() {
            return;
        }
        if self.is_wanted {
            record_frames(buffer, header, frames, here);
        }
        if let Some(action) = self.trigger {
            action.act_by(|| record_frames(buffer, header, frames, here));
        }
    }
}

/// Records the frames of a kernel stack. Returns whether there was room.
#[inline(never)]
fn record_frames(buffer: &Buffer, header: Header, frames: &[u8], here: &OnCpu) -> bool {
    let (task, pace) = (&Running(context::current()), (Pace::Fast, here));
    let length = stack::length(frames);
    let record = StackRecord(header, frames);
    let recorded = match Short::<PROBE_WORDS>::of_words(length / 4) {
        Some(size) => buffer.record_fast(&size, task, pace, record),
        None => match Long::of(length) {
            Some(size) => buffer.record_fast::<PROBE_WORDS>(&size, task, pace, record),
            None => Err(None),
        },
    };
    publish_nested(recorded, here) || record_frames_slowly(buffer, header, frames, here)
}

/// Does the same, whatever is unusual.
#[inline(never)]
fn record_frames_slowly(buffer: &Buffer, header: Header, frames: &[u8], here: &OnCpu) -> bool {
    let note = Note::of(&Running(context::current()));
    let put = |out: &mut [u8]| stack::put(out, header, frames);
    let recorded = buffer.record(stack::length(frames), note, here, put);
    recorded.is_ok()
}

/// The record of a kernel stack, with the header of the hit.
struct StackRecord<'a>(Header, &'a [u8]);

impl<const LEAST: usize> Fill<LEAST> for StackRecord<'_> {
    #[inline(always)]
    fn fill(self, mut payload: Payload<'_, LEAST>) {
        stack::put(payload.bytes(), self.0, self.1);
    }
}
