// SPDX-License-Identifier: GPL-2.0

//! A system call that begins or returns.

use crate::{
    engine::program::syscall::{Copies, MAX_COPIES},
    hit::{
        calls::memory::{self, CallMemory},
        recorder::Recorder,
        recorder_builder::RecorderBuilder,
        shape::CallWords,
        source::{Called, Source},
        stage::Stage,
        stages,
        step::OneInstance,
    },
    kapi::{
        context::{OnCpu, Unpreempted},
        handler::Next,
        regs::Regs,
        tracepoint::syscall::{self, CallsShared, When},
    },
};
use kernel::prelude::*;

/// Serves the system calls of one number, when they begin or when they return.
pub(crate) struct CallRecorder {
    pub(crate) recorder: Recorder,
    /// The arguments that point to user memory, which is copied.
    copies: Copies,
}

impl CallRecorder {
    /// Returns an initializer for a recorder; `copies` says which arguments point to user memory.
    pub(crate) fn new(recorder: RecorderBuilder, copies: Copies) -> impl Init<Self> {
        init!(Self { recorder <- recorder.init(), copies })
    }
}

impl syscall::CallHandler for CallRecorder {
    type Begun = ();

    #[inline(always)]
    fn serve(&self, regs: &Regs, when: When, shared: &CallsShared) {
        match self.copies.count() {
            0 => {}
            1 => return self.copy_and_serve::<1>(regs, shared),
            _ => return self.copy_and_serve::<MAX_COPIES>(regs, shared),
        }
        let on_cpu = Unpreempted::begin();
        match self.serve_fast(regs, when, &on_cpu.here()) {
            Next::Done => on_cpu.end(),
            Next::Stage(Stage::EACH_SHORT) => match when {
                When::Enter => self.serve_in_each::<false>(regs, on_cpu),
                When::Exit => self.serve_in_each::<true>(regs, on_cpu),
            },
            Next::Stage(Stage::FORWARD_TO_ONE) => {
                self.serve_by::<{ Stage::FORWARD_TO_ONE }>(regs, on_cpu)
            }
            Next::Stage(Stage::BEGIN_PAIR) => self.serve_by::<{ Stage::BEGIN_PAIR }>(regs, on_cpu),
            Next::Stage(Stage::FORWARD_TO_ALL) => {
                self.serve_by::<{ Stage::FORWARD_TO_ALL }>(regs, on_cpu)
            }
            Next::Stage(_) => self.serve_slowly(regs, on_cpu),
        }
    }
}

// A step that is not inlined is called last, so that the compiler makes a tail call of it.
impl CallRecorder {
    /// Serves a plain hit of a system call, without copies of user memory.
    #[inline(always)]
    fn serve_fast(&self, regs: &Regs, when: When, here: &OnCpu) -> Next {
        let recorder = &self.recorder;
        if let Some(other) = recorder.other_for_call(regs, here) {
            return other;
        }
        let (size, to) = (&recorder.short, OneInstance::<false>);
        match when {
            When::Enter => recorder.step(regs, CallWords::<false>, size, to, here),
            When::Exit => recorder.step(regs, CallWords::<true>, size, to, here),
        }
    }

    /// Records a plain hit of a system call in each instance, without copies of user memory: the
    /// return of the call if `RETURNS`, otherwise its entry.
    #[inline(never)]
    fn serve_in_each<const RETURNS: bool>(&self, regs: &Regs, on_cpu: Unpreempted) {
        let (recorder, here) = (&self.recorder, &on_cpu.here());
        let shape = CallWords::<RETURNS>;
        match recorder.step_in_each(regs, shape, &recorder.short, here) {
            Next::Done => on_cpu.end(),
            Next::Stage(_) => self.serve_slowly(regs, on_cpu),
        }
    }

    #[inline(never)]
    fn copy_and_serve<const COUNT: usize>(&self, regs: &Regs, shared: &CallsShared) {
        let mut copies = CallMemory::<COUNT>::empty();
        let word = |register: u8| regs.word(register.into());
        if !memory::copy(&self.copies, word, shared.limit(), &mut copies) {
            shared.count_unread();
        }
        let on_cpu = Unpreempted::begin();
        let call = Called(regs, copies.view());
        let words = usize::from(self.copies.arguments);
        self.recorder.serve_copied(call, words, &on_cpu.here());
        on_cpu.end();
    }

    /// Serves a call by the stage `STAGE`, or by the slow path if that does not serve it.
    #[inline(never)]
    fn serve_by<const STAGE: u8>(&self, regs: &Regs, on_cpu: Unpreempted) {
        let here = &on_cpu.here();
        if !stages::run::<STAGE>(&self.recorder, regs, here).is_done() {
            regs.serve_slow(&self.recorder, here);
        }
        on_cpu.end();
    }

    #[inline(never)]
    fn serve_slowly(&self, regs: &Regs, on_cpu: Unpreempted) {
        regs.serve_slow(&self.recorder, &on_cpu.here());
        on_cpu.end();
    }
}
