// SPDX-License-Identifier: GPL-2.0

//! The sources of hits.

use crate::{
    engine::program::{exec, syscall::Values},
    hit::{
        recorder::Recorder,
        sample::{Copied, HitArgs, LongCopied, Sample},
        stage::Stage,
    },
    kapi::{
        context::OnCpu, functions, interrupt::Interrupted, kprobe::Probed, kretprobe::Returned,
        regs::Regs, tracepoint, uprobe,
    },
};

/// What a mechanism of the kernel passes to a handler, in registers as far as possible.
pub(super) trait Source: Copy {
    /// Whether it is a return, whose records have the address to which the function returns.
    const IS_RETURN: bool = false;

    /// Whether [`Self::serve_slow`] tries the step for a string first. A source with copied user
    /// memory does not: another step has served all its plain hits before.
    const HAS_TEXT_STEP: bool = true;

    /// Returns the hit as a [`Sample`], the form that all sources have in common.
    fn sample(&self) -> Sample<'_>;

    /// Returns whether the context of the hit is plain.
    #[inline(always)]
    fn is_plain(self) -> bool {
        self.sample().is_plain()
    }

    /// Serves any hit. It takes the source by value, so that its callers can make a tail call.
    #[inline(never)]
    fn serve_slow(self, recorder: &Recorder, here: &OnCpu) {
        match Self::HAS_TEXT_STEP && recorder.stage() == Stage::TEXT {
            true => self.serve_text(recorder, here),
            false => recorder.serve_slow(&self.sample(), here),
        }
    }

    /// Serves a hit of a program with one string, which one instance records.
    #[inline(never)]
    fn serve_text(self, recorder: &Recorder, here: &OnCpu) {
        if !recorder.serve_text_in_one(self, here) {
            recorder.serve_slow(&self.sample(), here);
        }
    }

    /// Fetches a whole structure, the only argument that is not of the common shapes.
    #[inline(never)]
    fn run_whole(self, recorder: &Recorder, out: &mut [u8]) {
        exec::run_whole(&recorder.program, &self.sample(), out);
    }

    /// Fetches the arguments that are not of the common shapes.
    #[inline(never)]
    fn run_general(self, recorder: &Recorder, out: &mut [u8]) {
        exec::run_general(&recorder.program, &self.sample(), out);
    }
}

impl Source for Probed<'_> {
    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::of(HitArgs::Probe(self.regs, self.way))
    }
}

impl Source for Returned<'_> {
    const IS_RETURN: bool = true;

    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::of(HitArgs::Return(self.regs, self.call))
    }
}

impl Source for uprobe::UserReached<'_> {
    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::of(HitArgs::Reached(self.0))
    }
}

impl Source for uprobe::UserLeft<'_> {
    const IS_RETURN: bool = true;

    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::of(HitArgs::Left(self.0))
    }
}

impl Source for functions::Entry<'_> {
    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::of(HitArgs::Function(*self))
    }
}

impl Source for functions::Exit<'_> {
    const IS_RETURN: bool = true;

    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::of(HitArgs::Exit(*self))
    }
}

impl Source for tracepoint::PointArguments<'_> {
    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::of(HitArgs::Tracepoint(*self))
    }

    #[inline(never)]
    fn serve_slow(self, recorder: &Recorder, here: &OnCpu) {
        // The unwinder begins here: the fewer functions are in between, the sooner it reaches the
        // hit.
        match recorder.plan.get(here).kind.of_stacks() {
            Some(triggers) => recorder.serve_with_stacks(triggers, self, here),
            None if recorder.stage() == Stage::TEXT => self.serve_text(recorder, here),
            None => recorder.serve_slow(&self.sample(), here),
        }
    }
}

impl Source for &Interrupted<'_> {
    // Reading a string may fault, and code of the fault may be probed.
    const HAS_TEXT_STEP: bool = false;

    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::of(HitArgs::Interrupt(self))
    }
}

/// The registers of a system call whose memory is not copied, as it has no string.
impl Source for &Regs {
    const HAS_TEXT_STEP: bool = false;

    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::of(HitArgs::Registers(self, Copied::NOTHING))
    }
}

/// The registers of a system call, and copies of its memory.
#[derive(Clone, Copy)]
pub(super) struct Called<'a>(pub(super) &'a Regs, pub(super) Copied<'a>);

impl Source for Called<'_> {
    const HAS_TEXT_STEP: bool = false;

    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::of(HitArgs::Registers(self.0, self.1))
    }
}

/// The values of a whole system call, and copies of its memory.
#[derive(Clone, Copy)]
pub(super) struct WholeCall<'a>(pub(super) &'a Values, pub(super) Copied<'a>);

impl Source for WholeCall<'_> {
    const HAS_TEXT_STEP: bool = false;

    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::of(HitArgs::Call(self.0, self.1))
    }
}

/// The values of a whole system call, and long copies of its memory.
#[derive(Clone, Copy)]
pub(super) struct LongCall<'a>(pub(super) &'a Values, pub(super) LongCopied<'a>);

impl Source for LongCall<'_> {
    const HAS_TEXT_STEP: bool = false;

    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::of(HitArgs::LongCall(self.0, self.1))
    }
}

/// The only argument, or any word if there is none.
impl Source for u64 {
    const HAS_TEXT_STEP: bool = false;

    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::of(HitArgs::Word(*self))
    }
}

/// A hit that the slow stage serves.
impl Source for &Sample<'_> {
    const HAS_TEXT_STEP: bool = false;

    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::clone(self)
    }

    #[inline(never)]
    fn run_whole(self, recorder: &Recorder, out: &mut [u8]) {
        exec::run_whole(&recorder.program, self, out);
    }

    /// Reuses this sample, with its time.
    #[inline(never)]
    fn run_general(self, recorder: &Recorder, out: &mut [u8]) {
        exec::run_general(&recorder.program, self, out);
    }
}
