// SPDX-License-Identifier: GPL-2.0

//! A hit as the kernel's mechanisms report it, and the stages in which it is served.

use core::convert::Infallible;

use crate::{
    buffer::Unsettled,
    engine::{exec, fetch::Form},
    hit::{
        context::{Hit, Only, Registers},
        counters::End,
        recorder::{Passed, Recorder},
        tier::{Tier, BARE, RETURN_BARE, RETURN_WITH_REGISTER, RETURN_WITH_TWO, WITH_REGISTER},
    },
    kapi::{
        clock,
        context::{Entry, OnCpu},
        functions::{self, First},
        kprobe::{self, Kprobe},
        kretprobe::{self, Kretprobe},
        registration::{Handler, Next},
        regs::Regs,
        tracepoint::{self, Use},
    },
};

/// The stages of a hit, see [`Handler`].
pub(super) struct Stage;

impl Stage {
    /// Serves the tier `BARE`.
    pub(super) const BARE: u8 = 0;
    /// Serves the tier `REGISTER`.
    pub(super) const REGISTER: u8 = 1;
    /// Runs the only trigger of a disabled event.
    pub(super) const ACT: u8 = 2;
    /// Serves the tier `DURATION`.
    pub(super) const DURATION: u8 = 3;
    /// Serves the tier `REGISTER_AND_DURATION`.
    pub(super) const REGISTER_AND_DURATION: u8 = 4;
    /// Looks whether the hits of the task count.
    pub(super) const TASK: u8 = 5;
    /// Serves the tier `SEVERAL_BARE`.
    pub(super) const SEVERAL_BARE: u8 = 6;
    /// Serves the tier `SEVERAL_REGISTER`.
    pub(super) const SEVERAL_REGISTER: u8 = 7;
    /// Serves the tier `SEVERAL`.
    pub(super) const SEVERAL: u8 = 8;
    /// Serves the tier `SEVERAL_TEXT`.
    pub(super) const SEVERAL_TEXT: u8 = 9;
    /// Evaluates a filter that compares a register.
    pub(super) const FILTER: u8 = 10;
    /// Serves any hit.
    pub(super) const SERVE: u8 = 11;
}

impl Recorder {
    /// Returns the stage that is called first on a hit.
    fn first_stage(&self) -> u8 {
        match self.tier.get() {
            Tier::BARE => Stage::BARE,
            Tier::REGISTER => Stage::REGISTER,
            Tier::QUICK => Stage::ACT,
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

    /// Saves what is needed when the function returns.
    #[inline(never)]
    fn capture(&self, regs: &Regs, data: &mut [u64]) {
        exec::capture(&self.program, &Hit(Registers::at_entry(regs)), data);
    }

    /// Runs the stage with the number `STAGE`. `BARE_WORDS` and `REGISTER_WORDS` are the
    /// sizes of the records of the two fastest tiers.
    #[inline(always)]
    fn run_stage<'a, const STAGE: u8, const BARE_WORDS: usize, const REGISTER_WORDS: usize>(
        &'a self,
        regs: &Regs,
        source: &impl Call,
        here: &'a OnCpu,
    ) -> Next<Unsettled<'a>> {
        let (to, entry) = (|| source.return_address(), || source.entry());
        match STAGE {
            Stage::BARE => self.serve_fast::<false, BARE_WORDS>(regs, to, entry, here),
            Stage::REGISTER => self.serve_fast::<true, REGISTER_WORDS>(regs, to, entry, here),
            Stage::ACT if self.acts_fast(&Hit(Registers::at_entry(regs)), here) => Next::Done,
            Stage::ACT => Next::Stage(Stage::SERVE),
            Stage::DURATION | Stage::REGISTER_AND_DURATION => {
                // No other probe has such a tier.
                let Some((to, [began])) = to().zip(source.data().first_chunk()) else {
                    return Next::Stage(Stage::SERVE);
                };
                let call = (to, *began);
                match STAGE {
                    Stage::DURATION => {
                        self.serve_timed::<false, RETURN_WITH_REGISTER>(regs, call, entry, here)
                    }
                    _ => self.serve_timed::<true, RETURN_WITH_TWO>(regs, call, entry, here),
                }
            }
            Stage::TASK if self.rejects_task(here) => Next::Done,
            Stage::TASK => Next::Stage(Stage::SERVE),
            Stage::SEVERAL_BARE => {
                self.serve_several_fast::<_, false, BARE_WORDS>(regs, to, entry, here)
            }
            Stage::SEVERAL_REGISTER => {
                self.serve_several_fast::<_, true, REGISTER_WORDS>(regs, to, entry, here)
            }
            Stage::SEVERAL => {
                let hit = &Hit(Registers {
                    regs,
                    return_address: to(),
                    entry: source.data(),
                });
                self.serve_several_short::<_, false>(hit, entry, here)
            }
            Stage::SEVERAL_TEXT => {
                let hit = &Hit(Registers {
                    regs,
                    return_address: to(),
                    entry: source.data(),
                });
                match self.serve_short_text::<true>(hit, entry(), here) {
                    true => Next::Done,
                    false => Next::Stage(Stage::SERVE),
                }
            }
            Stage::FILTER if self.rejects_fast(&Hit(Registers::at_entry(regs)), here) => Next::Done,
            Stage::FILTER => Next::Stage(Stage::SERVE),
            _ => {
                let arguments = Registers {
                    regs,
                    return_address: to(),
                    entry: source.data(),
                };
                self.serve(arguments, entry, here);
                Next::Done
            }
        }
    }
}

/// What a mechanism tells of a hit, besides the registers.
trait Call {
    /// Returns how the CPU came to the handler.
    fn entry(&self) -> Entry;

    /// Returns the address to which the function returns, of a return probe.
    fn return_address(&self) -> Option<u64>;

    /// Returns what was saved at the function's entry, for a return probe.
    fn data(&self) -> &[u64];
}

impl Call for kprobe::Way<'_> {
    #[inline(always)]
    fn entry(&self) -> Entry {
        Self::entry(*self)
    }

    #[inline(always)]
    fn return_address(&self) -> Option<u64> {
        None
    }

    #[inline(always)]
    fn data(&self) -> &[u64] {
        &[]
    }
}

impl Call for kretprobe::Call<'_> {
    #[inline(always)]
    fn entry(&self) -> Entry {
        Entry::Return
    }

    #[inline(always)]
    fn return_address(&self) -> Option<u64> {
        Some(Self::return_address(*self))
    }

    #[inline(always)]
    fn data(&self) -> &[u64] {
        Self::data(*self)
    }
}

impl Handler<Kprobe> for Recorder {
    type Unsettled<'a> = Unsettled<'a>;

    fn first(&self) -> u8 {
        self.first_stage()
    }

    #[inline(always)]
    fn run<'a, const STAGE: u8>(
        &'a self,
        regs: &Regs,
        way: kprobe::Way<'_>,
        here: &'a OnCpu,
    ) -> Next<Unsettled<'a>> {
        self.run_stage::<STAGE, BARE, WITH_REGISTER>(regs, &way, here)
    }

    fn settle(&self, unsettled: Unsettled<'_>) {
        unsettled.settle();
    }

    fn finish(&self, here: &OnCpu) {
        self.wake(here);
    }
}

impl Handler<Kretprobe> for Recorder {
    type Unsettled<'a> = Unsettled<'a>;

    fn first(&self) -> u8 {
        self.first_stage()
    }

    #[inline(always)]
    fn run<'a, const STAGE: u8>(
        &'a self,
        regs: &Regs,
        call: kretprobe::Call<'_>,
        here: &'a OnCpu,
    ) -> Next<Unsettled<'a>> {
        self.run_stage::<STAGE, RETURN_BARE, RETURN_WITH_REGISTER>(regs, &call, here)
    }

    fn settle(&self, unsettled: Unsettled<'_>) {
        unsettled.settle();
    }

    fn finish(&self, here: &OnCpu) {
        self.wake(here);
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

impl functions::Handler for Recorder {
    type Unsettled<'a> = Unsettled<'a>;

    fn first(&self) -> First {
        match (self.tier.get(), self.program.form()) {
            (tier @ Tier::SEVERAL_BARE..=Tier::SEVERAL, _) => {
                First::Shared(tier.wrapping_sub(Tier::SEVERAL_BARE))
            }
            (_, Form::Bare) => First::Nothing,
            (_, Form::Register(_)) => First::Register,
            (_, Form::Duration | Form::RegisterAndDuration(_) | Form::Any) => First::Usual,
        }
    }

    #[inline(always)]
    fn serve_fast<'a, const REGISTER: bool>(
        &'a self,
        entry: functions::Entry<'_>,
        here: &'a OnCpu,
    ) -> Next<Unsettled<'a>> {
        let (to, way) = (|| None, || Entry::Tracepoint);
        match REGISTER {
            false => self.serve_fast::<false, BARE>(&entry, to, way, here),
            true => self.serve_fast::<true, WITH_REGISTER>(&entry, to, way, here),
        }
    }

    // In the middle of it, the ring is in use.
    #[inline(always)]
    fn serve_usual(&self, entry: functions::Entry<'_>, here: &OnCpu) -> Next<Infallible> {
        self.serve_short::<false>(Hit(entry), || Entry::Tracepoint, here)
    }

    // As above.
    #[inline(always)]
    fn serve_shared<const NUMBER: u8>(
        &self,
        entry: functions::Entry<'_>,
        here: &OnCpu,
    ) -> Next<Infallible> {
        const REGISTER: u8 = Tier::SEVERAL_REGISTER - Tier::SEVERAL_BARE;
        let (to, way) = (|| None, || Entry::Tracepoint);
        match NUMBER {
            0 => self.serve_several_fast::<_, false, BARE>(&entry, to, way, here),
            REGISTER => self.serve_several_fast::<_, true, WITH_REGISTER>(&entry, to, way, here),
            _ => self.serve_several_short::<_, false>(&Hit(entry), way, here),
        }
    }

    fn serve(&self, entry: functions::Entry<'_>, here: &OnCpu) {
        Passed::serve_slow(entry, self, Entry::Tracepoint, here);
    }

    fn settle(&self, unsettled: Unsettled<'_>) {
        unsettled.settle();
    }

    fn count_missed(&self, here: &OnCpu) {
        self.counters.count(End::Missed, here);
    }

    fn finish(&self, here: &OnCpu) {
        self.wake(here);
    }
}

impl tracepoint::Handler for Recorder {
    type Unsettled<'a> = Unsettled<'a>;

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
    fn serve_fast<'a>(&'a self, argument: Option<u64>, here: &'a OnCpu) -> Next<Unsettled<'a>> {
        let (code, to, entry) = (&Only(argument), || None, || Entry::Tracepoint);
        let next = match argument {
            None => self.serve_fast::<false, BARE>(code, to, entry, here),
            Some(_) => self.serve_fast::<true, WITH_REGISTER>(code, to, entry, here),
        };
        match next {
            Next::Stage(Stage::SEVERAL) => Next::Stage(tracepoint::SHARED),
            Next::Stage(Stage::FILTER) => Next::Stage(tracepoint::FILTER),
            Next::Stage(_) => Next::Stage(tracepoint::LAST),
            next => next,
        }
    }

    #[inline(always)]
    fn begins_with(&self) -> u8 {
        match self.tier.get() {
            Tier::FILTERED.. => tracepoint::FILTER,
            Tier::SEVERAL_BARE..=Tier::SEVERAL => tracepoint::SHARED,
            _ => tracepoint::LAST,
        }
    }

    #[inline(always)]
    fn rejects(&self, arguments: tracepoint::Arguments<'_>, here: &OnCpu) -> bool {
        self.rejects_fast(&Hit(arguments), here)
    }

    #[inline(always)]
    fn serve_shared(&self, argument: Option<u64>, here: &OnCpu) -> Next<Infallible> {
        let (code, to, entry) = (&Only(argument), || None, || Entry::Tracepoint);
        match argument {
            None => self.serve_several_fast::<_, false, BARE>(code, to, entry, here),
            Some(_) => self.serve_several_fast::<_, true, WITH_REGISTER>(code, to, entry, here),
        }
    }

    #[inline(always)]
    fn serve_quietly(
        &self,
        arguments: tracepoint::Arguments<'_>,
        here: &OnCpu,
    ) -> Next<Infallible> {
        let next = self.serve_short::<true>(Hit(arguments), || Entry::Tracepoint, here);
        match next {
            Next::Stage(Stage::SEVERAL) => Next::Stage(tracepoint::SHARED),
            Next::Stage(_) => Next::Stage(tracepoint::LAST),
            next => next,
        }
    }

    #[inline(always)]
    fn serve_shared_any<const QUIETLY: bool>(
        &self,
        arguments: tracepoint::Arguments<'_>,
        here: &OnCpu,
    ) -> Next<Infallible> {
        self.serve_several_short::<_, QUIETLY>(&Hit(arguments), || Entry::Tracepoint, here)
    }

    #[inline(always)]
    fn serve(&self, arguments: tracepoint::Arguments<'_>, here: &OnCpu) {
        Self::serve(self, arguments, || Entry::Tracepoint, here);
    }

    fn settle(&self, unsettled: Unsettled<'_>) {
        unsettled.settle();
    }

    fn count_missed(&self, here: &OnCpu) {
        self.counters.count(End::Missed, here);
    }

    fn finish(&self, here: &OnCpu) {
        self.wake(here);
    }
}
