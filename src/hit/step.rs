// SPDX-License-Identifier: GPL-2.0

//! The step of a fast stage: it records a plain hit, in a [`Shape`] of record, at a
//! [`Destination`]. For any other hit it has no effect, and another stage serves the hit.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`].

use crate::{
    buffer::{Buffer, Pace},
    engine::{
        program::exec,
        record::format::flag,
        record::{self, PROBE_WORDS},
        ring::{EventSize, Fill, Long, Payload, Short},
    },
    hit::{
        counters::HitEnd,
        per_instance::{self, publish_nested},
        plan::{InstancePlan, PlanKind},
        recorder::{
            Recorder, BARE, RETURN_BARE, RETURN_WITH_REGISTER, RETURN_WITH_TWO, WITH_REGISTER,
        },
        sample::Running,
        shape::{ByProgram, CallTexts, Shape, Timed, WithText, WordOrNone},
        source::Source,
        stage::Stage,
    },
    kapi::{
        clock, cold,
        context::{self, OnCpu},
        handler::Next,
        nofault::ShortText,
    },
};

/// The instances that record a hit.
pub(super) trait Destination: Copy {
    /// Which functions a fast reservation may call.
    const PACE: Pace;

    /// Returns the buffer for which the record is made.
    fn buffer<'a>(&'a self, recorder: &'a Recorder, here: &'a OnCpu) -> &'a Buffer;

    /// Copies the record to the buffers of the other instances.
    fn copy<const LEAST: usize>(&self, size: &impl EventSize<LEAST>, bytes: &[u8], here: &OnCpu);
}

/// The only instance; the stage calls nothing if it is the `FASTEST`.
#[derive(Clone, Copy)]
pub(super) struct OneInstance<const FASTEST: bool>;

impl<const FASTEST: bool> Destination for OneInstance<FASTEST> {
    const PACE: Pace = match FASTEST {
        true => Pace::Fastest,
        false => Pace::Fast,
    };

    #[inline(always)]
    fn buffer<'a>(&'a self, recorder: &'a Recorder, here: &'a OnCpu) -> &'a Buffer {
        recorder.buffer.get(here)
    }

    #[inline(always)]
    fn copy<const LEAST: usize>(&self, _: &impl EventSize<LEAST>, _: &[u8], _: &OnCpu) {}
}

/// Each of several instances that record all hits.
///
/// The record is copied to the other buffers before it is committed in the buffer of the first
/// instance: a committed record may be overwritten. A nested hit, for example in the code that
/// wakes the readers of another buffer, therefore finds the first buffer in use.
#[derive(Clone, Copy)]
pub(super) struct EachInstance<'a> {
    first: &'a InstancePlan,
    others: &'a [InstancePlan],
}

impl<'a> EachInstance<'a> {
    /// Returns the instances, if all of them record all hits and do nothing else.
    #[inline(always)]
    pub(super) fn of(recorder: &'a Recorder, here: &'a OnCpu) -> Option<Self> {
        let PlanKind::PerInstance(instances) = &recorder.plan.get(here).kind else {
            return None;
        };
        let (first, others) = instances.recording.split_first()?;
        Some(Self { first, others })
    }
}

impl Destination for EachInstance<'_> {
    const PACE: Pace = Pace::Fast;

    #[inline(always)]
    fn buffer<'a>(&'a self, _: &'a Recorder, _: &'a OnCpu) -> &'a Buffer {
        &self.first.buffer
    }

    #[inline(always)]
    fn copy<const LEAST: usize>(&self, size: &impl EventSize<LEAST>, bytes: &[u8], here: &OnCpu) {
        for InstancePlan { buffer, .. } in self.others {
            per_instance::record(buffer, Some(size), bytes, here);
            buffer.wake();
        }
    }
}

impl Recorder {
    /// Records a plain hit; the record has the given shape and size.
    #[inline(always)]
    pub(super) fn step<const LEAST: usize>(
        &self,
        source: impl Source,
        shape: impl Shape,
        size: &impl EventSize<LEAST>,
        to: impl Destination,
        here: &OnCpu,
    ) -> Next {
        if !source.is_plain() {
            return Next::Stage(Stage::SERVE);
        }
        self.step_if_plain(source, shape, size, to, here)
    }

    /// Records a hit whose context is known to be [plain](super::sample::Sample::is_plain).
    #[inline(always)]
    pub(super) fn step_if_plain<const LEAST: usize, D: Destination>(
        &self,
        source: impl Source,
        shape: impl Shape,
        size: &impl EventSize<LEAST>,
        to: D,
        here: &OnCpu,
    ) -> Next {
        let task = &Running(context::current());
        let record = Record {
            recorder: self,
            source,
            shape,
            size,
            to,
            task,
            here,
        };
        let buffer = to.buffer(self, here);
        let recorded = buffer.record_fast(size, task, (D::PACE, here), record);
        if !publish_nested(recorded, here) {
            return Next::Stage(Stage::SERVE);
        }
        self.counters.count(HitEnd::Recorded, here);
        // Look the buffer up again: a register that holds it across the calls above would have to
        // be saved on the stack.
        let buffer = to.buffer(self, here);
        if buffer.is_awaited() {
            cold::call(buffer, here);
        }
        Next::Done
    }

    /// Records a hit in each instance, if all instances record all hits and do nothing else.
    #[inline(always)]
    pub(super) fn step_in_each<const LEAST: usize>(
        &self,
        source: impl Source,
        shape: impl Shape,
        size: &Short<LEAST>,
        here: &OnCpu,
    ) -> Next {
        match EachInstance::of(self, here) {
            Some(each) => self.step(source, shape, size, each, here),
            None => Next::Stage(Stage::SERVE),
        }
    }

    /// Records a hit of which nothing is fetched, or a register.
    #[inline(always)]
    pub(super) fn record_word<const REGISTER: bool, S: Source>(
        &self,
        source: S,
        to: impl Destination,
        here: &OnCpu,
    ) -> Next {
        let shape = WordOrNone::<REGISTER>;
        // The compiler knows how many words a record has.
        match (S::IS_RETURN, REGISTER) {
            (false, false) => self.step(source, shape, &Short::<BARE>::SMALLEST, to, here),
            (false, true) => self.step(source, shape, &Short::<WITH_REGISTER>::SMALLEST, to, here),
            (true, false) => self.step(source, shape, &Short::<RETURN_BARE>::SMALLEST, to, here),
            (true, true) => {
                let size = &Short::<RETURN_WITH_REGISTER>::SMALLEST;
                self.step(source, shape, size, to, here)
            }
        }
    }

    /// Serves a hit in the fewest instructions; fetches at most one register.
    ///
    /// It calls nothing, so that nothing has to be saved on the stack.
    #[inline(always)]
    pub(super) fn serve_word<const REGISTER: bool>(
        &self,
        source: impl Source,
        here: &OnCpu,
    ) -> Next {
        let (own, each) = match REGISTER {
            true => (Stage::WORD, Stage::EACH_WORD),
            false => (Stage::BARE, Stage::EACH_BARE),
        };
        match self.other_than(own, each) {
            None => self.record_word::<REGISTER, _>(source, OneInstance::<true>, here),
            Some(other) => Next::Stage(other),
        }
    }

    /// Serves a hit of a probe whose recorder may be at [`Stage::EACH_BARE`], or at
    /// [`Stage::EACH_WORD`] if a register is fetched.
    #[inline(always)]
    pub(super) fn serve_word_in_each<const REGISTER: bool>(
        &self,
        source: impl Source,
        here: &OnCpu,
    ) -> Next {
        match EachInstance::of(self, here) {
            Some(each) => self.record_word::<REGISTER, _>(source, each, here),
            None => Next::Stage(Stage::SERVE),
        }
    }

    /// Serves the return of a call whose duration is recorded: alone, or behind a register.
    #[inline(always)]
    pub(super) fn serve_timed<const REGISTER: bool>(
        &self,
        source: impl Source,
        here: &OnCpu,
    ) -> Next {
        let own = match REGISTER {
            true => Stage::WORD_AND_DURATION,
            false => Stage::DURATION,
        };
        if let Some(other) = self.other_than(own, Stage::EACH_SHORT) {
            return Next::Stage(other);
        }
        let (Some(now), Some(began)) = (clock::now_fast(here), source.sample().began()) else {
            unlikely();
            return Next::Stage(Stage::SERVE);
        };
        // The clock may differ between CPUs by some nanoseconds.
        let shape = Timed::<REGISTER>(now.saturating_sub(began));
        let to = OneInstance::<true>;
        match REGISTER {
            true => self.step(source, shape, &Short::<RETURN_WITH_TWO>::SMALLEST, to, here),
            false => {
                let size = &Short::<RETURN_WITH_REGISTER>::SMALLEST;
                self.step(source, shape, size, to, here)
            }
        }
    }

    /// Returns the stage that serves a hit if the recorder is not at `own`: `each`, if it is at
    /// that, or [`Stage::other`].
    #[inline(always)]
    fn other_than(&self, own: u8, each: u8) -> Option<u8> {
        let stage = self.stage();
        if stage == own {
            return None;
        }
        unlikely();
        Some(match stage == each {
            true => each,
            false => Stage::other(stage),
        })
    }

    /// Serves a hit by the fetch program, where records have one size, which is short; the program
    /// reads no memory if `READS_NO_MEMORY`. The plan may have a filter that compares a register,
    /// or a list of tasks.
    #[inline(always)]
    pub(super) fn serve_short<const READS_NO_MEMORY: bool>(
        &self,
        source: impl Source,
        here: &OnCpu,
    ) -> Next {
        if !Stage::records_short(self.stage()) {
            // Load the stage again, or the compiler merges this `match` with the test above.
            match self.stage() {
                Stage::FILTER => match self.is_rejected(source, here) {
                    Some(false) => {}
                    Some(true) => return Next::Done,
                    None => return Next::Stage(Stage::SERVE),
                },
                Stage::TASK if self.records_task(here) => {}
                stage => return Next::Stage(Stage::other(stage)),
            }
            if !self.is_short {
                return Next::Stage(Stage::SERVE);
            }
        }
        self.record_short::<READS_NO_MEMORY>(source, here)
    }

    /// Records a hit by the fetch program, where records have one size, which is short; the program
    /// reads no memory if `READS_NO_MEMORY`.
    #[inline(always)]
    pub(super) fn record_short<const READS_NO_MEMORY: bool>(
        &self,
        source: impl Source,
        here: &OnCpu,
    ) -> Next {
        let shape = ByProgram::<READS_NO_MEMORY>;
        self.step(source, shape, &self.short, OneInstance::<false>, here)
    }

    /// Serves a plain hit of a program with one string, if that is short. Otherwise returns false,
    /// with no effect. The string is read before room is reserved, as its length is not known.
    #[inline(always)]
    fn serve_text(&self, source: impl Source, to: impl Destination, here: &OnCpu) -> bool {
        let program = &self.program;
        // Check for anything unusual first, as far as possible, so that no string is read twice.
        if !source.is_plain() {
            return false;
        }
        let Some((address, user)) = exec::find_text(program, &source.sample()) else {
            return false;
        };
        let mut room = ShortText::empty();
        let Some(text) = room.read(address, user) else {
            return false;
        };
        let length = exec::length_with(program, text.len());
        let Some(size) = &Short::<PROBE_WORDS>::of(length) else {
            return false;
        };
        let next = self.step_if_plain(source, WithText(text), size, to, here);
        next.is_done()
    }

    /// Serves a hit as [`Self::serve_text`] does, in the only instance.
    #[inline(always)]
    pub(super) fn serve_text_in_one(&self, source: impl Source, here: &OnCpu) -> bool {
        self.serve_text(source, OneInstance::<false>, here)
    }

    /// Serves a hit as [`Self::serve_text`] does, in each instance.
    #[inline(always)]
    pub(super) fn serve_text_in_each(&self, source: impl Source, here: &OnCpu) -> bool {
        EachInstance::of(self, here).is_some_and(|each| self.serve_text(source, each, here))
    }

    /// Returns which stage serves a system call, or that it is done; `None` if it is just to be
    /// recorded.
    #[inline(always)]
    pub(super) fn other_for_call(&self, source: impl Source, here: &OnCpu) -> Option<Next> {
        if Stage::records(self.stage()) {
            return None;
        }
        // Load the stage again, or the compiler merges this `match` with the test above.
        let stage = self.stage();
        Some(match stage {
            Stage::FILTER | Stage::GATED => match self.is_rejected(source, here) {
                Some(false) if stage == Stage::FILTER => return None,
                Some(true) => Next::Done,
                _ => Next::Stage(Stage::SERVE),
            },
            Stage::EACH_TEXT | Stage::EACH_SLOW => Next::Stage(Stage::EACH_SHORT),
            stage => Next::Stage(Stage::other(stage)),
        })
    }

    /// Records a system call with `words` words of arguments and with copies of its user memory.
    #[inline(always)]
    pub(super) fn record_copies(&self, call: impl Source, words: usize, here: &OnCpu) -> Next {
        let (shape, to) = (CallTexts(words), OneInstance::<false>);
        let length = exec::length_with(&self.program, call.sample().copied().length());
        match Short::<PROBE_WORDS>::of(length) {
            Some(size) => self.step(call, shape, &size, to, here),
            None => match Long::of(length) {
                Some(size) => self.step::<PROBE_WORDS>(call, shape, &size, to, here),
                None => Next::Stage(Stage::SERVE),
            },
        }
    }

    /// Records a short system call as [`Self::record_copies`] does, in each instance.
    #[inline(always)]
    pub(super) fn record_copies_in_each(
        &self,
        call: impl Source,
        words: usize,
        here: &OnCpu,
    ) -> Next {
        let length = exec::length_with(&self.program, call.sample().copied().length());
        match Short::<PROBE_WORDS>::of(length) {
            Some(size) => self.step_in_each(call, CallTexts(words), &size, here),
            None => Next::Stage(Stage::SERVE),
        }
    }

    /// Returns whether the plan has a list of tasks, the current task is on it, and its hits are
    /// just recorded.
    #[inline(always)]
    fn records_task(&self, here: &OnCpu) -> bool {
        match &self.plan.get(here).kind {
            PlanKind::OfTasks(tasks, plan) => {
                matches!(plan.kind, PlanKind::Record) && tasks.have(context::current().pid())
            }
            _ => false,
        }
    }

    /// Returns whether a filter that compares a register rejects a hit, and counts a rejected one;
    /// `None` if the gate does not decide that.
    #[inline(always)]
    pub(super) fn is_rejected(&self, source: impl Source, here: &OnCpu) -> Option<bool> {
        let gate = &self.plan.get(here).gate;
        let passes = gate.passes(&self.program, &source.sample())?;
        if !passes {
            self.counters.count(HitEnd::Filtered, here);
        }
        Some(!passes)
    }

    /// Returns the register that [`Stage::WORD`] fetches.
    #[inline(always)]
    pub(super) fn register_of(&self, source: impl Source) -> u64 {
        exec::Arguments::reg(&source.sample(), self.register)
    }

    /// Records a hit that another event has sent, if it is plain, the program reads no memory, and
    /// the plan only records. Otherwise returns false, with no effect.
    #[inline(always)]
    pub(super) fn records_sent(&self, source: impl Source, here: &OnCpu) -> bool {
        Stage::records_short(self.stage()) && self.record_short::<true>(source, here).is_done()
    }

    /// Writes header and place of a hit whose context is [plain](super::sample::Sample::is_plain).
    #[inline(always)]
    fn put_start<const LEAST: usize>(
        &self,
        source: impl Source,
        pid: impl FnOnce() -> i32,
        payload: &mut Payload<'_, LEAST>,
    ) {
        let flags = u32::from(plain_flags(source)) << 16;
        let sample = source.sample();
        let place = sample.place(&self.place);
        // Every record is at least that long.
        if let Some(out) = payload.start().first_chunk_mut() {
            record::start_fast(out, self.plain | flags, pid, place);
        }
    }
}

/// Returns the flags of a hit whose context is [plain](super::sample::Sample::is_plain).
#[inline(always)]
pub(super) fn plain_flags(source: impl Source) -> u8 {
    match source.sample().irqs_disabled() {
        true => flag::IRQS_OFF,
        false => 0,
    }
}

/// The record of a plain hit.
struct Record<'a, S, F, Z, D> {
    recorder: &'a Recorder,
    source: S,
    shape: F,
    size: &'a Z,
    to: D,
    task: &'a Running,
    here: &'a OnCpu,
}

impl<S, F, Z, D, const LEAST: usize> Fill<LEAST> for Record<'_, S, F, Z, D>
where
    S: Source,
    F: Shape,
    Z: EventSize<LEAST>,
    D: Destination,
{
    #[inline(always)]
    fn fill(self, mut payload: Payload<'_, LEAST>) {
        let pid = || match D::PACE {
            Pace::Fast => self.task.0.pid(),
            Pace::Fastest => context::current().pid(),
        };
        self.recorder.put_start(self.source, pid, &mut payload);
        let bytes = payload.bytes();
        self.shape.fetch(self.recorder, self.source, bytes);
        self.to.copy(self.size, bytes, self.here);
    }
}

/// Tells the compiler that the branch which calls this is the less likely one.
#[cold]
#[inline(never)]
fn unlikely() {}
