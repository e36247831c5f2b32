// SPDX-License-Identifier: GPL-2.0

//! Builds recorders in place: they are large, and copying them would take much of a definition's
//! time.

use crate::{
    engine::{
        program::fetch::{Form, Program},
        record::{self, Header, Role},
        ring::Short,
    },
    formats::Format,
    hit::{counters::HitCounters, plan::InstancePlan, recorder::Recorder},
    kapi::{rcu::RcuCell, stack::StackFunction},
    sys::Box,
};
use core::sync::atomic::AtomicU8;
use kernel::prelude::*;

/// All that a [`Recorder`] is made of.
pub(crate) struct RecorderBuilder {
    program: Box<Program>,
    instance: InstancePlan,
    place: u64,
    function: StackFunction,
    counters: HitCounters,
    event: u16,
    is_return: bool,
}

impl RecorderBuilder {
    /// Prepares the recorder of a probe at `place`, with all counters 0.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        format: &Format,
        program: Box<Program>,
        instance: InstancePlan,
        place: u64,
    ) -> Result<Self> {
        Ok(Self {
            program,
            instance,
            place,
            function: StackFunction::default(),
            counters: HitCounters::new()?,
            event: format.id,
            is_return: format.layout.class.field(Role::ReturnAddress).is_some(),
        })
    }

    /// Sets the function that is probed, or that calls the handler.
    pub(crate) fn set_function(&mut self, function: StackFunction) {
        self.function = function;
    }

    /// Returns the number of words that a return probe saves at the function's entry.
    pub(crate) fn entry_words(&self) -> usize {
        self.program.entry_words()
    }

    /// Returns whether the program [reads no memory](Program::reads_no_memory).
    pub(super) fn reads_no_memory(&self) -> bool {
        self.program.reads_no_memory()
    }

    /// Makes the recorder.
    pub(crate) fn init(self) -> impl Init<Recorder> {
        let mut program = self.program;
        let plain = Header {
            event: self.event,
            flags: 0,
            preempt_count: 0,
            pid: 0,
        };
        let InstancePlan { buffer, plan } = self.instance;
        init!(Recorder {
            stage: AtomicU8::new(Recorder::stage_for(&program, self.is_return, &plan)),
            register: match program.form() {
                Form::Register(register) | Form::RegisterAndDuration(register) => register,
                Form::Bare | Form::Duration | Form::Any => 0,
            },
            is_short: Recorder::short(&program).is_some(),
            short: Recorder::short(&program).unwrap_or(Short::SMALLEST),
            plain: plain.first_half(),
            place: record::words(self.place),
            counters: self.counters,
            buffer: RcuCell::new(buffer),
            event: self.event,
            is_return: self.is_return,
            captures_time: program.captures_time(),
            function: self.function,
            program: program.take(),
            plan: RcuCell::new(plan),
        })
    }
}
