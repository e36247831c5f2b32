// SPDX-License-Identifier: GPL-2.0

//! The stages of a hit: each a function, and each, but for two, a state of a [`Recorder`].
//!
//! A fast stage records a common hit or leaves no trace, and another stage takes over. The stage of
//! a recorder serves its hits in the fewest instructions; while it changes, the kernel may still call
//! another one.

use crate::{
    engine::program::{exec, fetch::Form},
    hit::{
        counters::HitEnd,
        recorder::Recorder,
        shape::{RETURN_WITH_REGISTER, RETURN_WITH_TWO},
        source::Source,
        step::To,
    },
    kapi::{
        clock,
        context::OnCpu,
        functions,
        handler::{self, Callbacks, Handler, HandlerByStage, Hits, Next},
        kretprobe,
        regs::Regs,
        tracepoint::{self, Use},
    },
};

/// The numbers of the stages.
pub(super) struct Stage;

/// Each row has the name of a stage, its number, the stage that the kernel calls where the recorder
/// is at this one, and the one that serves the hit where the function of another stage finds the
/// recorder at this one; then, if the kernel or a stage calls it, what it does.
macro_rules! stages {
    (
        fn run($recorder:ident, $hit:ident, $here:ident);
        $(
            $(#[$doc:meta])*
            $name:ident = $number:expr, $called:ident, $other:ident $(=> $run:expr)?;
        )*
    ) => {
        impl Stage {
            $($(#[$doc])* pub(super) const $name: u8 = $number;)*

            /// Returns the stage that serves a hit where the function of another one finds the
            /// recorder at `stage`.
            #[inline(always)]
            pub(super) const fn other(stage: u8) -> u8 {
                match stage {
                    $(Self::$name => Self::$other,)*
                    _ => Self::SERVE,
                }
            }

            /// Whether a recorder at `stage` records each hit, and does nothing else.
            #[inline(always)]
            pub(super) const fn records(stage: u8) -> bool {
                Self::records_short(stage) || matches!(stage, Self::TEXT | Self::SLOW)
            }

            /// Whether it does so, and records have one size, which is short.
            #[inline(always)]
            pub(super) const fn records_short(stage: u8) -> bool {
                matches!(
                    stage,
                    Self::BARE
                        | Self::WORD
                        | Self::DURATION
                        | Self::WORD_AND_DURATION
                        | Self::SHORT
                )
            }
        }

        #[inline(always)]
        fn run<const STAGE: u8>($recorder: &Recorder, $hit: impl Source, $here: &OnCpu) -> Next {
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

stages! {
    fn run(recorder, hit, here);

    /// Records each hit; nothing is fetched.
    BARE = handler::BARE, BARE, SERVE => hit.serve_fast::<false>(recorder, here);
    /// Records each hit; one register is fetched.
    WORD = handler::WORD, WORD, SERVE => hit.serve_fast::<true>(recorder, here);
    /// Records each hit, with the duration of the call.
    DURATION = handler::DURATION, DURATION, SERVE =>
        recorder.serve_timed::<false, RETURN_WITH_REGISTER>(hit, here);
    /// Records each hit, with one register and the duration of the call.
    WORD_AND_DURATION = handler::WORD_AND_DURATION, WORD_AND_DURATION, SERVE =>
        recorder.serve_timed::<true, RETURN_WITH_TWO>(hit, here);
    /// Records each hit; records have one size, which is short.
    SHORT = handler::SHORT, SERVE, SERVE => recorder.serve_short::<false>(hit, here);
    /// Records each hit; records have different sizes, because of one string.
    TEXT = 5, SERVE, SERVE;
    /// Records each hit; records have different sizes, or are long. It serves any hit.
    SLOW = handler::SLOW, SERVE, SERVE => {
        hit.serve_slow(recorder, here);
        Next::Done
    };
    /// There are triggers. This stage is right for any plan.
    SERVE = handler::SERVE, SERVE, SERVE => {
        match recorder.serve_short::<false>(hit, here) {
            Next::Done => {}
            Next::Stage(Stage::SEND | Stage::RELAY | Stage::BEGIN)
                if recorder.serves_related(hit, here) => {}
            Next::Stage(_) => hit.serve_slow(recorder, here),
        }
        Next::Done
    };
    /// Runs the sole action: it counts in a histogram, or switches recording or an event.
    ACT = 8, ACT, SERVE => done_if(recorder.acts_fast(hit, here));
    /// Runs the sole action: it counts in an inter-event histogram.
    LINK = 9, LINK, SEND => done_if(recorder.links_fast(hit, here));
    /// Runs the sole action: it saves the time in a variable of a histogram, and does nothing else.
    STAMP = 10, STAMP, SEND => done_if(recorder.stamps(hit, here));
    /// Runs the sole action: it sends the hit to an event probe.
    RELAY = 11, RELAY, RELAY => done_if(recorder.relays(hit, here));
    /// Runs the sole action: it notes that a pair begins.
    BEGIN = 12, BEGIN, BEGIN => done_if(recorder.begins(hit, here));
    /// Sends the hit to event probes, which is what all actions do.
    SEND = 13, SEND, SEND => done_if(recorder.serves_related(hit, here));
    /// Records each hit in several instances; nothing is fetched.
    EACH_BARE = handler::EACH_BARE, EACH_BARE, EACH_SHORT =>
        hit.serve_fast_in_each::<false>(recorder, here);
    /// Records each hit in several instances; one register is fetched.
    EACH_WORD = handler::EACH_WORD, EACH_WORD, EACH_SHORT =>
        hit.serve_fast_in_each::<true>(recorder, here);
    /// Records each hit in several instances; records have one size, which is short.
    EACH_SHORT = handler::EACH_SHORT, EACH_SHORT, EACH_SHORT =>
        recorder.serve_short_in_each::<false>(hit, here);
    /// Records each hit in several instances; records have different sizes, because of one string.
    EACH_TEXT = 17, EACH_TEXT, SERVE => done_if(recorder.serve_text::<{ To::EACH }>(hit, here));
    /// Records each hit in several instances; records have different sizes, or are long.
    EACH_SLOW = 18, SERVE, SERVE;
    /// There is a filter. This stage rejects a hit by the gate of the plan.
    FILTER = handler::FILTER, FILTER, FILTER => done_if(recorder.rejects_fast(hit, here));
    /// There is a sole action but for its filter. The gate rejects a hit.
    GATED = 20, FILTER, FILTER;
    /// Only the hits of some tasks count. This stage rejects those of others.
    TASK = 21, TASK, FILTER => done_if(recorder.rejects_task(here));
    /// `SHORT` of a program that reads no memory. No recorder is at this stage.
    NO_MEMORY = handler::NO_MEMORY, SERVE, SERVE => recorder.serve_short::<true>(hit, here);
    /// `EACH_SHORT` of a program that reads no memory. No recorder is at this stage.
    EACH_NO_MEMORY = handler::EACH_NO_MEMORY, SERVE, SERVE =>
        recorder.serve_short_in_each::<true>(hit, here);
}

/// Returns what comes after a stage that serves any hit of which it is not true.
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
        match (data, clock::now_fast(here)) {
            ([began], Some(now)) if self.captures_time => *began = now,
            (data, _) => self.capture(regs, data),
        }
    }
}

impl functions::ReturnHandler for Recorder {
    #[inline(always)]
    fn entry(&self, entry: functions::Entry<'_>, data: &mut [u64], here: &OnCpu) {
        match (data, clock::now_fast(here)) {
            ([began], Some(now)) if self.captures_time => *began = now,
            (data, _) => self.capture(entry, data),
        }
    }
}

impl Recorder {
    /// Saves what is needed when the function returns.
    #[inline(never)]
    fn capture(&self, source: impl Source, data: &mut [u64]) {
        exec::capture(&self.program, &source.sample(), data);
    }
}

impl tracepoint::Listener for Recorder {
    fn uses(&self) -> Use {
        match (self.program.form(), self.program.register_limit()) {
            (Form::Bare, _) => Use::Nothing,
            (Form::Register(index), _) => Use::One(usize::from(index)),
            (Form::Duration | Form::RegisterAndDuration(_) | Form::Any, limit) => {
                match self.program.is_quiet() {
                    true => Use::Quietly(limit),
                    false => Use::Some(limit),
                }
            }
        }
    }

    #[inline(always)]
    fn begins_with(&self) -> u8 {
        Stage::other(self.stage())
    }
}
