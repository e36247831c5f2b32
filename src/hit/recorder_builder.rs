// SPDX-License-Identifier: GPL-2.0

//! Makes recorders where they stay: they are large, and copies of them cost much of a definition.

use crate::{
    engine::{
        program::fetch::{Form, Program},
        record::{self, Header, Role},
        ring::Short,
    },
    formats::Format,
    hit::{counters::HitCounters, plan::Share, recorder::Recorder, tier::Tier},
    kapi::{rcu::RcuCell, stack::StackFunction},
    sys::Box,
};
use kernel::prelude::*;

/// All that a [`Recorder`] is made of.
pub(crate) struct RecorderBuilder {
    program: Box<Program>,
    share: Share,
    place: u64,
    function: StackFunction,
    counters: HitCounters,
    event: u16,
    is_return: bool,
}

impl RecorderBuilder {
    /// Prepares the server of a probe at `place`, with all counters 0.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        format: &Format,
        program: Box<Program>,
        share: Share,
        place: u64,
    ) -> Result<Self> {
        Ok(Self {
            program,
            share,
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

    /// Returns whether the program [is quiet](Program::is_quiet).
    pub(super) fn is_quiet(&self) -> bool {
        self.program.is_quiet()
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
        let Share { buffer, plan } = self.share;
        init!(Recorder {
            tier: Tier::new(Recorder::tier_for(&program, self.is_return, &plan)),
            register: match program.form() {
                Form::Register(register) | Form::RegisterAndDuration(register) => register,
                Form::Bare | Form::Duration | Form::Any => 0,
            },
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
