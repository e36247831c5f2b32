// SPDX-License-Identifier: GPL-2.0

//! The steps that serve most hits: a record of a [`Shape`], in one instance or in each, where
//! nothing about the hit is unusual. Otherwise nothing has happened, and a later step serves the
//! hit.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`].

use crate::{
    buffer::Pace,
    engine::{
        program::exec,
        record::format::flag,
        record::{self, PROBE_WORDS},
        ring::{EventSize, Fill, Long, Payload, Short},
    },
    hit::{
        counters::HitEnd,
        plan::Rest,
        recorder::Recorder,
        sample::Running,
        several::{is_recorded, seldom, InEach},
        shape::{ByProgram, CallTexts, Shape, Timed, WithText, WordOrNone},
        source::Source,
        stages::Stage,
    },
    kapi::{
        clock,
        context::{self, OnCpu},
        handler::Next,
        nofault::ShortText,
    },
};

impl Recorder {
    /// Serves a hit in the fewest instructions, where nothing about it is unusual: there is
    /// nothing to fetch but a register, the probed code runs with preemption enabled, the ring
    /// has room on a sub-buffer where the task is named, and no other writer was interrupted.
    ///
    /// It calls nothing, so that nothing has to be saved on the stack, and the compiler knows how
    /// many words a record has: see [`BARE`](super::shape::BARE).
    #[inline(always)]
    pub(super) fn serve_fast<const REGISTER: bool, const WORDS: usize>(
        &self,
        source: impl Source,
        here: &OnCpu,
    ) -> Next {
        let (own, in_each) = match REGISTER {
            true => (Stage::WORD, Stage::EACH_WORD),
            false => (Stage::BARE, Stage::EACH_BARE),
        };
        let stage = self.stage();
        if stage != own {
            unlikely();
            return Next::Stage(match stage == in_each {
                true => in_each,
                false => Stage::other(stage),
            });
        }
        let size = (&Short::<WORDS>::SMALLEST, Pace::Fastest);
        self.record(source, WordOrNone::<REGISTER>, size, here)
    }

    /// Serves a hit that each instance records, as [`Self::serve_fast`] does if there is one.
    #[inline(always)]
    pub(super) fn serve_fast_in_each<const REGISTER: bool, const WORDS: usize>(
        &self,
        source: impl Source,
        here: &OnCpu,
    ) -> Next {
        // What is fetched never changes; the plan tells whether there are several instances.
        let size = &Short::<WORDS>::SMALLEST;
        self.record_in_each(source, WordOrNone::<REGISTER>, size, here)
    }

    /// As [`Self::serve_fast`], of a return probe that records the duration of the call: alone,
    /// or behind a register.
    #[inline(always)]
    pub(super) fn serve_timed<const REGISTER: bool, const WORDS: usize>(
        &self,
        source: impl Source,
        here: &OnCpu,
    ) -> Next {
        let own = match REGISTER {
            true => Stage::WORD_AND_DURATION,
            false => Stage::DURATION,
        };
        let stage = self.stage();
        if stage != own {
            unlikely();
            return Next::Stage(Stage::other(stage));
        }
        let (Some(now), Some(began)) = (clock::now_fast(here), source.sample().began()) else {
            unlikely();
            return Next::Stage(Stage::SERVE);
        };
        // The clock may differ between CPUs by some nanoseconds.
        let took = Timed::<REGISTER>(now.saturating_sub(began));
        let size = (&Short::<WORDS>::SMALLEST, Pace::Fastest);
        self.record(source, took, size, here)
    }

    /// Serves a hit, where nothing about it is unusual but a filter that compares a register, and
    /// arguments of any kind; of a program that is quiet if `QUIET`.
    #[inline(always)]
    pub(super) fn serve_short<const QUIET: bool>(&self, source: impl Source, here: &OnCpu) -> Next {
        let stage = self.stage();
        if !Stage::records_short(stage) {
            match stage {
                Stage::FILTER => match self.is_rejected(source, here) {
                    Some(false) => {}
                    Some(true) => return Next::Done,
                    None => return Next::Stage(Stage::SERVE),
                },
                Stage::TASK if self.records_task(here) => {}
                stage => return Next::Stage(Stage::other(stage)),
            }
            if Self::short(&self.program).is_none() {
                return Next::Stage(Stage::SERVE);
            }
        }
        self.record_short::<QUIET>(source, here)
    }

    /// Records a hit whose record has a known size, which is short, where nothing about it is
    /// unusual; of a program that is quiet if `QUIET`.
    #[inline(always)]
    pub(super) fn record_short<const QUIET: bool>(
        &self,
        source: impl Source,
        here: &OnCpu,
    ) -> Next {
        let size = (&self.short, Pace::Fast);
        self.record(source, ByProgram::<QUIET>, size, here)
    }

    /// Serves a hit that each instance records, as [`Self::serve_short`] does if there is one.
    /// The records must have one size, which is short, and the program must be quiet if `QUIET`.
    #[inline(always)]
    pub(super) fn serve_short_in_each<const QUIET: bool>(
        &self,
        source: impl Source,
        here: &OnCpu,
    ) -> Next {
        self.record_in_each(source, ByProgram::<QUIET>, &self.short, here)
    }

    /// Serves a hit of a program with one string, where nothing about it is unusual and the
    /// string is short; returns false otherwise. It is read before room is reserved, as its
    /// length is not known. Each instance records the hit if `EACH`, else there is one.
    #[inline(always)]
    pub(super) fn serve_text<const EACH: bool>(&self, source: impl Source, here: &OnCpu) -> bool {
        let program = &self.program;
        // What is unusual is found first, as far as possible: strings are not read twice.
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
        let shape = WithText(text);
        let next = match EACH {
            To::ONE => self.record_plain(source, shape, (size, Pace::Fast), here),
            To::EACH => self.record_plain_in_each(source, shape, size, here),
        };
        next.is_done()
    }

    /// Serves a system call, where nothing about it is unusual but a filter that compares a
    /// register.
    #[inline(always)]
    pub(super) fn serve_call(
        &self,
        source: impl Source,
        shape: impl Shape,
        size: &impl EventSize<PROBE_WORDS>,
        here: &OnCpu,
    ) -> Next {
        let stage = self.stage();
        if !Stage::records(stage) {
            match stage {
                Stage::FILTER | Stage::GATED => match self.is_rejected(source, here) {
                    Some(false) if stage == Stage::FILTER => {}
                    Some(true) => return Next::Done,
                    _ => return Next::Stage(Stage::SERVE),
                },
                Stage::EACH_TEXT | Stage::EACH_SLOW => return Next::Stage(Stage::EACH_SHORT),
                stage => return Next::Stage(Stage::other(stage)),
            }
        }
        self.record(source, shape, (size, Pace::Fast), here)
    }

    /// Serves a system call with so many words and with copies of its user memory, where nothing
    /// about it is unusual. Each instance records it if `EACH`, else there is one.
    #[inline(always)]
    pub(super) fn serve_copies<const EACH: bool>(
        &self,
        source: impl Source,
        words: usize,
        here: &OnCpu,
    ) -> Next {
        let length = exec::length_with(&self.program, source.sample().copied().length());
        let shape = CallTexts(words);
        match (EACH, Short::of(length)) {
            (To::ONE, Some(size)) => self.serve_call(source, shape, &size, here),
            (To::ONE, None) => match Long::of(length) {
                Some(size) => self.serve_call(source, shape, &size, here),
                None => Next::Stage(Stage::SERVE),
            },
            (_, Some(size)) => self.record_in_each::<PROBE_WORDS>(source, shape, &size, here),
            (_, None) => Next::Stage(Stage::SERVE),
        }
    }

    /// Whether only the hits of some tasks count, the current one is among them, and its hits are
    /// just recorded.
    #[inline(always)]
    fn records_task(&self, here: &OnCpu) -> bool {
        match &self.plan.get(here).rest {
            Rest::OfTasks(tasks, plan) => {
                matches!(plan.rest, Rest::Record) && tasks.have(context::current().pid())
            }
            _ => false,
        }
    }

    /// Whether a filter that compares a register says no.
    #[inline(always)]
    pub(super) fn rejects_fast(&self, source: impl Source, here: &OnCpu) -> bool {
        self.is_rejected(source, here) == Some(true)
    }

    /// Whether a filter that compares a register rejects a hit, which is then counted; `None`
    /// where that is not simple to say.
    #[inline(always)]
    fn is_rejected(&self, source: impl Source, here: &OnCpu) -> Option<bool> {
        let passes = self
            .plan
            .get(here)
            .gate
            .passes(&self.program, &source.sample())?;
        if !passes {
            self.counters.count(HitEnd::Filtered, here);
        }
        Some(!passes)
    }

    /// Returns what [`Stage::WORD`] fetches.
    #[inline(always)]
    pub(super) fn register_of(&self, source: impl Source) -> u64 {
        exec::Arguments::reg(&source.sample(), self.register)
    }

    /// Serves a hit that another event has sent, where nothing about it is unusual and it is just
    /// recorded, by a program that is quiet; returns false otherwise, and then nothing has
    /// happened.
    #[inline(always)]
    pub(super) fn records_sent(&self, source: impl Source, here: &OnCpu) -> bool {
        if !Stage::records_short(self.stage()) {
            return false;
        }
        self.record_short::<true>(source, here).is_done()
    }

    /// Serves a hit that another event has sent, where nothing about it is unusual; returns false
    /// otherwise, and then nothing has happened.
    #[inline(always)]
    pub(super) fn serve_sent(&self, source: impl Source, here: &OnCpu) -> bool {
        self.serve_short::<false>(source, here).is_done()
    }

    /// Records a hit whose record has that size and shape.
    #[inline(always)]
    fn record<const LEAST: usize>(
        &self,
        source: impl Source,
        shape: impl Shape,
        size: (&impl EventSize<LEAST>, Pace),
        here: &OnCpu,
    ) -> Next {
        if !source.is_plain() {
            return Next::Stage(Stage::SERVE);
        }
        self.record_plain(source, shape, size, here)
    }

    /// As [`Self::record`], where the context is known to be [plain](super::sample::Sample::is_plain).
    #[inline(always)]
    fn record_plain<const LEAST: usize>(
        &self,
        source: impl Source,
        shape: impl Shape,
        (size, pace): (&impl EventSize<LEAST>, Pace),
        here: &OnCpu,
    ) -> Next {
        let task = &Running(context::current());
        let fill = InOne {
            recorder: self,
            source,
            shape,
            pace,
            task,
        };
        let recorded = self
            .buffer
            .get(here)
            .record_fast(size, task, (pace, here), fill);
        if !is_recorded(recorded, pace, here) {
            return Next::Stage(Stage::SERVE);
        }
        self.counters.count(HitEnd::Recorded, here);
        // Loaded anew: a register that is kept for it would have to be saved.
        if self.buffer.get(here).is_awaited() {
            seldom(self, pace, here);
        }
        Next::Done
    }

    /// As [`Self::record`], in each instance: in the first at least, where nothing is unusual.
    ///
    /// The others get copies of the record while it is being made in the buffer of the first:
    /// once it is readable there, it may be overwritten. So a hit in the middle of it, also of
    /// what wakes their readers, finds that buffer in use.
    #[inline(always)]
    pub(super) fn record_in_each<const LEAST: usize>(
        &self,
        source: impl Source,
        shape: impl Shape,
        size: &Short<LEAST>,
        here: &OnCpu,
    ) -> Next {
        if !source.is_plain() {
            return Next::Stage(Stage::SERVE);
        }
        self.record_plain_in_each(source, shape, size, here)
    }

    #[inline(always)]
    fn record_plain_in_each<const LEAST: usize>(
        &self,
        source: impl Source,
        shape: impl Shape,
        size: &Short<LEAST>,
        here: &OnCpu,
    ) -> Next {
        let Rest::Several(several) = &self.plan.get(here).rest else {
            return Next::Stage(Stage::SERVE);
        };
        let Some((first, others)) = several.recording.split_first() else {
            return Next::Stage(Stage::SERVE);
        };
        let task = &Running(context::current());
        let fill = InEach {
            recorder: self,
            source,
            shape,
            task,
            others,
            size,
            here,
        };
        let recorded = first
            .buffer
            .record_fast(size, task, (Pace::Fast, here), fill);
        if !is_recorded(recorded, Pace::Fast, here) {
            return Next::Stage(Stage::SERVE);
        }
        self.counters.count(HitEnd::Recorded, here);
        if first.buffer.is_awaited() {
            seldom(self, Pace::Fast, here);
        }
        Next::Done
    }

    /// Writes header and place of a hit whose context is [plain](super::sample::Sample::is_plain).
    #[inline(always)]
    pub(super) fn put_start<const LEAST: usize>(
        &self,
        source: impl Source,
        pid: impl FnOnce() -> i32,
        payload: &mut Payload<'_, LEAST>,
    ) {
        let flags = if source.sample().irqs_disabled() {
            u32::from(flag::IRQS_OFF) << 16
        } else {
            0
        };
        let sample = source.sample();
        let place = sample.place(&self.place);
        // All sizes are at least that.
        if let Some(out) = payload.start().first_chunk_mut() {
            record::start_fast(out, self.plain | flags, pid, place);
        }
    }
}

/// Writes the record of a hit, whose header tells of nothing unusual.
struct InOne<'a, S, F> {
    recorder: &'a Recorder,
    source: S,
    shape: F,
    pace: Pace,
    task: &'a Running,
}

impl<S: Source, F: Shape, const LEAST: usize> Fill<LEAST> for InOne<'_, S, F> {
    #[inline(always)]
    fn fill(self, mut payload: Payload<'_, LEAST>) {
        let pid = || {
            if matches!(self.pace, Pace::Fast) {
                self.task.0.pid()
            } else {
                context::current().pid()
            }
        };
        self.recorder.put_start(self.source, pid, &mut payload);
        self.shape
            .fetch(self.recorder, self.source, payload.bytes());
    }
}

/// Who records a hit.
pub(super) struct To;

impl To {
    /// The only instance.
    pub(super) const ONE: bool = false;
    /// Each of the instances that record all hits.
    pub(super) const EACH: bool = true;
}

/// Makes the compiler take the branch that calls this for the less likely one.
#[cold]
#[inline(never)]
fn unlikely() {}
