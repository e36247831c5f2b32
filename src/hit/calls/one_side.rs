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
    copies: Copies,
}

impl CallRecorder {
    /// Returns what makes a recorder that copies user memory first.
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
        match self.serve_quietly(regs, when, &on_cpu.here()) {
            Next::Done => on_cpu.end(),
            Next::Stage(Stage::SEVERAL) => match when {
                When::Enter => self.serve_in_each::<false>(regs, on_cpu),
                When::Exit => self.serve_in_each::<true>(regs, on_cpu),
            },
            Next::Stage(Stage::RELAY) => self.relay(regs, on_cpu),
            Next::Stage(Stage::BEGIN) => self.begin(regs, on_cpu),
            Next::Stage(Stage::SEND) => self.send(regs, on_cpu),
            Next::Stage(_) => self.serve_slowly(regs, on_cpu),
        }
    }
}

// A step that is a function of its own is the last that its caller calls.
impl CallRecorder {
    /// Serves a call without copies, where nothing about it is unusual.
    #[inline(always)]
    fn serve_quietly(&self, regs: &Regs, when: When, here: &OnCpu) -> Next {
        let recorder = &self.recorder;
        let size = &recorder.short;
        match when {
            When::Enter => recorder.serve_call(regs, CallWords::<false>, size, here),
            When::Exit => recorder.serve_call(regs, CallWords::<true>, size, here),
        }
    }

    /// Serves a call without copies that each instance records, where nothing about it is unusual;
    /// the call returns if `RETURNS`.
    #[inline(never)]
    fn serve_in_each<const RETURNS: bool>(&self, regs: &Regs, on_cpu: Unpreempted) {
        let (recorder, here) = (&self.recorder, &on_cpu.here());
        let shape = CallWords::<RETURNS>;
        match recorder.record_in_each(regs, shape, &recorder.short, here) {
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

    /// Serves a call that only begins a pair.
    #[inline(never)]
    fn begin(&self, regs: &Regs, on_cpu: Unpreempted) {
        self.serve_or_slowly(regs, on_cpu, |here| self.recorder.begins(regs, here));
    }

    /// Serves a call that is only sent to an event probe.
    #[inline(never)]
    fn relay(&self, regs: &Regs, on_cpu: Unpreempted) {
        self.serve_or_slowly(regs, on_cpu, |here| self.recorder.relays(regs, here));
    }

    /// Serves a call of which nothing is recorded but what it causes.
    #[inline(never)]
    fn send(&self, regs: &Regs, on_cpu: Unpreempted) {
        self.serve_or_slowly(regs, on_cpu, |here| {
            self.recorder.serves_related(regs, here)
        });
    }

    /// Serves a call by `serve`, or slowly where that returns false.
    #[inline(always)]
    fn serve_or_slowly(
        &self,
        regs: &Regs,
        on_cpu: Unpreempted,
        serve: impl FnOnce(&OnCpu) -> bool,
    ) {
        let here = &on_cpu.here();
        if !serve(here) {
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
