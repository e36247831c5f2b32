// SPDX-License-Identifier: GPL-2.0

//! The stages in which a hit is served, whatever has reported it.

use crate::{
    engine::program::{exec, fetch::Form},
    hit::{
        counters::HitEnd,
        recorder::Recorder,
        source::Source,
        stage::{Stage, To},
        tier::{Tier, RETURN_WITH_REGISTER, RETURN_WITH_TWO},
    },
    kapi::{
        clock,
        context::OnCpu,
        functions,
        handler::{Handler, Hits, Next},
        kretprobe,
        regs::Regs,
        tracepoint::{self, Use},
    },
};

impl<M: Hits> Handler<M> for Recorder
where
    for<'h> M::Hit<'h>: Source,
{
    fn first(&self) -> u8 {
        match self.tier.get() {
            Tier::BARE => Stage::BARE,
            Tier::REGISTER => Stage::REGISTER,
            Tier::QUICK => Stage::ACT,
            Tier::LINKED => Stage::LINK,
            Tier::STAMPING => Stage::STAMP,
            Tier::RELAYING => Stage::RELAY,
            Tier::OPENING => Stage::BEGIN,
            Tier::SENDING => Stage::SEND,
            Tier::DURATION => Stage::DURATION,
            Tier::REGISTER_AND_DURATION => Stage::REGISTER_AND_DURATION,
            Tier::FILTERED | Tier::GATED => Stage::FILTER,
            Tier::OF_TASKS => Stage::TASK,
            Tier::SEVERAL_BARE => Stage::SEVERAL_BARE,
            Tier::SEVERAL_REGISTER => Stage::SEVERAL_REGISTER,
            Tier::SEVERAL => Stage::SEVERAL,
            Tier::SEVERAL_TEXT => Stage::SEVERAL_TEXT,
            _ => Stage::SERVE,
        }
    }

    #[inline(always)]
    fn run<const STAGE: u8>(&self, hit: M::Hit<'_>, here: &OnCpu) -> Next {
        let done_if = |is_done| match is_done {
            true => Next::Done,
            false => Next::Stage(Stage::SERVE),
        };
        match STAGE {
            Stage::BARE => hit.serve_fast::<false>(self, here),
            Stage::REGISTER => hit.serve_fast::<true>(self, here),
            Stage::ACT => done_if(self.acts_fast(hit, here)),
            Stage::LINK => done_if(self.links_fast(hit, here)),
            Stage::STAMP => done_if(self.stamps(hit, here)),
            Stage::RELAY => done_if(self.relays(hit, here)),
            Stage::BEGIN => done_if(self.begins(hit, here)),
            Stage::SEND => done_if(self.serves_related(hit, here)),
            Stage::DURATION => self.serve_timed::<false, RETURN_WITH_REGISTER>(hit, here),
            Stage::REGISTER_AND_DURATION => self.serve_timed::<true, RETURN_WITH_TWO>(hit, here),
            Stage::TASK => done_if(self.rejects_task(here)),
            Stage::SEVERAL_BARE => hit.serve_fast_in_each::<false>(self, here),
            Stage::SEVERAL_REGISTER => hit.serve_fast_in_each::<true>(self, here),
            Stage::SEVERAL => self.serve_short_in_each::<false>(hit, here),
            Stage::SEVERAL_QUIET => self.serve_short_in_each::<true>(hit, here),
            Stage::SEVERAL_TEXT => done_if(self.serve_text::<{ To::EACH }>(hit, here)),
            Stage::FILTER => done_if(self.rejects_fast(hit, here)),
            Stage::SHORT => self.serve_short::<false>(hit, here),
            Stage::QUIET => self.serve_short::<true>(hit, here),
            Stage::SLOW => {
                hit.serve_slow(self, here);
                Next::Done
            }
            _ => {
                match self.serve_short::<false>(hit, here) {
                    Next::Done => {}
                    Next::Stage(Stage::SEND) if self.serves_related(hit, here) => {}
                    Next::Stage(_) => hit.serve_slow(self, here),
                }
                Next::Done
            }
        }
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
        match self.tier.get() {
            Tier::FILTERED.. => Stage::FILTER,
            Tier::SEVERAL_BARE..=Tier::SEVERAL => Stage::SEVERAL,
            _ => Stage::SERVE,
        }
    }
}
