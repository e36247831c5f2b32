// SPDX-License-Identifier: GPL-2.0

//! The functions of the [stages](Stage), and which of them the kernel calls.

use crate::{
    engine::program::{exec, fetch::Form},
    hit::{
        counters::HitEnd,
        recorder::Recorder,
        shape::ByProgram,
        source::Source,
        stage::{stages, Stage},
    },
    kapi::{
        clock,
        context::OnCpu,
        functions,
        handler::{Callbacks, Handler, HandlerByStage, Hits, Next},
        kretprobe,
        regs::Regs,
        tracepoint::{self, Use},
    },
};

/// Defines the functions.
macro_rules! functions {
    (
        fn run($recorder:ident, $hit:ident, $here:ident);
        $(
            $(#[$doc:meta])*
            $name:ident = $number:expr, call $called:ident, else $other:ident $(=> $run:expr)?;
        )*
    ) => {
        /// Runs a stage.
        #[inline(always)]
        pub(super) fn run<const STAGE: u8>(
            $recorder: &Recorder,
            $hit: impl Source,
            $here: &OnCpu,
        ) -> Next {
            match STAGE {
                $($(Stage::$name => $run,)?)*
                _ => Next::Stage(Stage::SERVE),
            }
        }

        impl<M: Hits> HandlerByStage<M> for Recorder
        where
            for<'h> M::Hit<'h>: Source,
        {
            fn callback<C: Callbacks>(stage: u8) -> C::Callback {
                match stage {
                    $(Stage::$name => C::of::<{ Stage::$called }>(),)*
                    _ => C::of::<{ Stage::SERVE }>(),
                }
            }
        }
    };
}
stages!(functions);

/// Returns the result of a stage: done, or, if not, the stage that serves any hit.
#[inline(always)]
fn done_if(is_done: bool) -> Next {
    match is_done {
        true => Next::Done,
        false => Next::Stage(Stage::SERVE),
    }
}

impl<M: Hits> Handler<M> for Recorder
where
    for<'h> M::Hit<'h>: Source,
{
    fn first(&self) -> u8 {
        self.stage()
    }

    #[inline(always)]
    fn run<const STAGE: u8>(&self, hit: M::Hit<'_>, here: &OnCpu) -> Next {
        run::<STAGE>(self, hit, here)
    }

    fn count_missed(&self, here: &OnCpu) {
        self.counters.count(HitEnd::Missed, here);
    }
}

impl kretprobe::EntryHandler for Recorder {
    #[inline(always)]
    fn entry(&self, regs: &Regs, data: &mut [u64], here: &OnCpu) {
        self.capture(regs, data, here);
    }
}

impl functions::ReturnHandler for Recorder {
    #[inline(always)]
    fn entry(&self, entry: functions::Entry<'_>, data: &mut [u64], here: &OnCpu) {
        self.capture(entry, data, here);
    }
}

impl Recorder {
    /// Saves what is needed when the function returns.
    #[inline(always)]
    fn capture(&self, source: impl Source, data: &mut [u64], here: &OnCpu) {
        match (data, clock::now_fast(here)) {
            ([began], Some(now)) if self.captures_time => *began = now,
            (data, _) => self.capture_values(source, data),
        }
    }

    #[inline(never)]
    fn capture_values(&self, source: impl Source, data: &mut [u64]) {
        exec::capture(&self.program, &source.sample(), data);
    }
}

impl tracepoint::Listener for Recorder {
    fn uses(&self) -> Use {
        match (self.program.form(), self.program.register_limit()) {
            (Form::Bare, _) => Use::Nothing,
            (Form::Register(index), _) => Use::One(usize::from(index)),
            (Form::Duration | Form::RegisterAndDuration(_) | Form::Any, limit) => {
                match self.program.reads_no_memory() {
                    true => Use::NoMemory(limit),
                    false => Use::First(limit),
                }
            }
        }
    }

    #[inline(always)]
    fn begins_with(&self) -> u8 {
        Stage::other(self.stage())
    }
}
