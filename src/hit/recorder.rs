// SPDX-License-Identifier: GPL-2.0

//! What happens when a probe is hit.
//!
//! Everything here runs in any context, NMI included, on any CPU, with
//! preemption disabled, and possibly nested in itself. It takes no lock,
//! allocates nothing, cannot sleep, fault or panic, and loops only over what a
//! definition bounds. Each hit ends in exactly one counter of [`Counters`].

use crate::{
    buffer::{Buffer, Lost, Pace, Unsettled},
    engine::{
        exec::{self, Arguments},
        fetch::{Form, Program, Size},
        filter,
        format::flag,
        record::{self, Header, PROBE_WORDS},
        ring::{Fill, Note, Payload, Short},
    },
    hit::{
        context::{Hit, Interrupted, Registers, Running, UserMemory},
        counters::{Counters, End, Totals},
        plan::{Plan, ReplacedPlans, Rest},
        stages::Stage,
        tier::{
            Recording, Tier, BARE, RETURN_BARE, RETURN_WITH_REGISTER, RETURN_WITH_TWO,
            WITH_REGISTER,
        },
    },
    kapi::{
        clock,
        context::{self, Entry, OnCpu},
        functions,
        rcu::{RcuCell, Replaced},
        registration::Next,
        regs::Regs,
        stack::{Function, Origin},
        tracepoint,
    },
};
use core::convert::Infallible;
use kernel::sync::Arc;

/// Serves the hits of one probe.
pub(crate) struct Recorder {
    pub(super) tier: Tier,
    /// What is fetched by [`Tier::REGISTER`].
    pub(super) register: u8,
    /// The size of its records, for all tiers but [`Tier::SLOW`].
    pub(super) short: Short<PROBE_WORDS>,
    /// [`Header::first_half`] of a record, without flags.
    pub(super) plain: u32,
    /// The place that records name: the function's entry where the kernel
    /// probes behind a landing pad. In [`record::words`].
    pub(super) place: [u32; 2],
    pub(super) counters: Counters,
    /// The buffer in which it records, unless the plan is one of several instances.
    pub(super) buffer: RcuCell<Buffer>,
    /// The number of the event, in each record.
    pub(super) event: u16,
    pub(super) is_return: bool,
    /// Whether the time is all that is saved at the function's entry.
    pub(super) captures_time: bool,
    /// The function that is probed, or that calls the handler, as far as its stacks need it.
    pub(super) function: Function,
    /// Fetches the arguments.
    pub(super) program: Program,
    pub(super) plan: RcuCell<Plan>,
}

impl Recorder {
    /// The size of its records, where all have the same and are short.
    pub(super) fn short(program: &Program) -> Option<Short<PROBE_WORDS>> {
        match program.size() {
            Size::Fixed(length) => Short::of(length),
            Size::UpTo(_) => None,
        }
    }

    /// Whether its records have just so many words.
    fn has_size<const WORDS: usize>(program: &Program) -> bool {
        Self::short(program).is_some_and(Short::is_smallest_of::<WORDS>)
    }

    /// Chooses the tier anew, after the plan or what it depends on has changed.
    ///
    /// Context: process.
    pub(crate) fn choose_tier(&self) {
        let tier = Self::tier_for(&self.program, self.is_return, &self.plan.load());
        self.tier.set(tier);
    }

    /// Returns the tier for `program` and `plan`.
    pub(super) fn tier_for(program: &Program, is_return: bool, plan: &Plan) -> u8 {
        let (bare, register) = if is_return {
            (
                Self::has_size::<RETURN_BARE>(program),
                Self::has_size::<RETURN_WITH_REGISTER>(program),
            )
        } else {
            (
                Self::has_size::<BARE>(program),
                Self::has_size::<WITH_REGISTER>(program),
            )
        };
        match &plan.rest {
            Rest::Act(acting) if acting.is_quick() => Tier::QUICK,
            Rest::Act(_) if plan.is_gated() => Tier::GATED,
            Rest::Several(several) if !several.recording.is_empty() => match program.form() {
                Form::Bare if bare => Tier::SEVERAL_BARE,
                Form::Register(_) if register => Tier::SEVERAL_REGISTER,
                _ if Self::short(program).is_some() => Tier::SEVERAL,
                _ if program.has_only_text() => Tier::SEVERAL_TEXT,
                _ => Tier::SEVERAL_SLOW,
            },
            Rest::Act(_) | Rest::Several(_) => Tier::ACTING,
            Rest::Filter(_) => Tier::FILTERED,
            Rest::OfTasks(..) => Tier::OF_TASKS,
            Rest::Record => match program.form() {
                Form::Bare if bare => Tier::BARE,
                Form::Register(_) if register => Tier::REGISTER,
                Form::Duration if register => Tier::DURATION,
                Form::RegisterAndDuration(_) if Self::has_size::<RETURN_WITH_TWO>(program) => {
                    Tier::REGISTER_AND_DURATION
                }
                _ if Self::short(program).is_some() => Tier::SHORT,
                _ if program.has_only_text() => Tier::TEXT,
                _ => Tier::SLOW,
            },
        }
    }

    /// Replaces the plan by `plan`, for all hits from when `replaced`, which gets the
    /// former one, has been dropped.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_plan(&self, plan: Arc<Plan>, replaced: &mut ReplacedPlans) {
        self.tier.set(Tier::ACTING);
        self.plan.replace_among(plan, replaced);
        self.choose_tier();
    }

    /// Returns whether it records in `buffer`, unless the plan is one of several instances.
    ///
    /// Context: process.
    pub(crate) fn records_in(&self, buffer: &Arc<Buffer>) -> bool {
        Arc::ptr_eq(&self.buffer.load(), buffer)
    }

    /// Replaces the buffer by `buffer`, for all hits from when `replaced`, which gets the former
    /// one, has been dropped. Until then the plan must be one of several instances, and for a
    /// grace period before.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_buffer(&self, buffer: Arc<Buffer>, replaced: &mut Replaced<Buffer>) {
        self.buffer.replace_among(buffer, replaced);
    }

    /// Returns what fetches the arguments.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// How the hits ended so far.
    pub(crate) fn totals(&self) -> Totals {
        self.counters.totals()
    }

    /// As [`Counters::most_since`].
    pub(crate) fn most_since(&self) -> u64 {
        self.counters.most_since()
    }

    /// Serves a hit in the fewest instructions, where nothing about it is unusual:
    /// there is nothing to fetch but a register, the probed code runs with
    /// preemption enabled, the ring has room on a sub-buffer where the task is named,
    /// and no other writer was interrupted.
    ///
    /// It calls nothing, so that nothing has to be saved on the stack, and the compiler
    /// knows how many words a record has: see [`BARE`].
    #[inline(always)]
    pub(super) fn serve_fast<'a, const REGISTER: bool, const WORDS: usize>(
        &'a self,
        code: &impl Interrupted,
        return_address: impl Fn() -> Option<u64>,
        entry: impl Fn() -> Entry,
        here: &'a OnCpu,
    ) -> Next<Unsettled<'a>> {
        let tier = self.tier.get();
        if tier != (if REGISTER { Tier::REGISTER } else { Tier::BARE }) {
            cold();
            let several = if REGISTER {
                Tier::SEVERAL_REGISTER
            } else {
                Tier::SEVERAL_BARE
            };
            return Next::Stage(match tier {
                Tier::FILTERED.. => Stage::FILTER,
                tier if tier == several => Stage::SEVERAL,
                _ => Stage::SERVE,
            });
        }
        let size = &Short::<WORDS>::SMALLEST;
        self.record(code, entry, (size, Pace::Fastest, here), |out| {
            self.put_fast::<REGISTER>(code, return_address(), out);
        })
    }

    /// Writes what the tiers without a program have behind header and place.
    #[inline(always)]
    pub(super) fn put_fast<const REGISTER: bool>(
        &self,
        code: &impl Interrupted,
        return_address: Option<u64>,
        out: &mut [u8],
    ) {
        let value = code.register(self.register);
        match (return_address, REGISTER) {
            (None, false) => true,
            (None, true) => record::put_first(out, value),
            (Some(to), false) => record::put_return_address(out, to),
            (Some(to), true) => record::put_return_address_and_first(out, to, value),
        };
    }

    /// As [`Self::serve_fast`], of a return probe that records the duration of the call that
    /// began at the time `began`: alone, or behind a register.
    #[inline(always)]
    pub(super) fn serve_timed<'a, const REGISTER: bool, const WORDS: usize>(
        &'a self,
        code: &impl Interrupted,
        (to, began): (u64, u64),
        entry: impl Fn() -> Entry,
        here: &'a OnCpu,
    ) -> Next<Unsettled<'a>> {
        let tier = self.tier.get();
        let own = if REGISTER {
            Tier::REGISTER_AND_DURATION
        } else {
            Tier::DURATION
        };
        if tier != own {
            cold();
            return Next::Stage(if tier >= Tier::FILTERED {
                Stage::FILTER
            } else {
                Stage::SERVE
            });
        }
        let Some(now) = clock::now_fast(here) else {
            cold();
            return Next::Stage(Stage::SERVE);
        };
        // The clock may differ between CPUs by some nanoseconds.
        let took = now.saturating_sub(began);
        let size = &Short::<WORDS>::SMALLEST;
        self.record(code, entry, (size, Pace::Fastest, here), |out| {
            if REGISTER {
                let value = code.register(self.register);
                record::put_return_address_and_two(out, to, [value, took]);
            } else {
                record::put_return_address_and_first(out, to, took);
            }
        })
    }

    /// Whether a filter that compares a register says no.
    #[inline(always)]
    pub(super) fn rejects_fast(&self, hit: &Hit<impl Passed>, here: &OnCpu) -> bool {
        let rejected = self.rejects(hit, here) == Some(true);
        if rejected {
            self.counters.count(End::Filtered, here);
        }
        rejected
    }

    /// Serves a hit, where nothing about it is unusual but a filter that compares a
    /// register, and arguments of any kind; of a program that is quiet if `QUIET`.
    #[inline(always)]
    pub(super) fn serve_short<const QUIET: bool>(
        &self,
        hit: Hit<impl Passed>,
        entry: impl Fn() -> Entry,
        here: &OnCpu,
    ) -> Next<Infallible> {
        let tier = self.tier.get();
        if tier > Tier::SHORT {
            if tier != Tier::FILTERED {
                return Next::Stage(match tier {
                    Tier::SEVERAL_BARE..=Tier::SEVERAL => Stage::SEVERAL,
                    _ => Stage::SERVE,
                });
            }
            match self.is_rejected(&hit, here) {
                Some(false) => {}
                Some(true) => return Next::Done,
                None => return Next::Stage(Stage::SERVE),
            }
            if Self::short(&self.program).is_none() {
                return Next::Stage(Stage::SERVE);
            }
        }
        self.record_short::<QUIET>(&hit, entry, here)
    }

    /// Records a hit whose record has a known size, which is short, where nothing about it is
    /// unusual; of a program that is quiet if `QUIET`.
    #[inline(always)]
    pub(super) fn record_short<const QUIET: bool>(
        &self,
        hit: &Hit<impl Passed>,
        entry: impl Fn() -> Entry,
        here: &OnCpu,
    ) -> Next<Infallible> {
        let size = &self.short;
        self.record_settled(&hit.0, entry, (size, here), |out| {
            self.put_short::<QUIET>(hit, out);
        })
    }

    /// Writes what a record of known size has behind header and place; of a program that is
    /// quiet if `QUIET`.
    #[inline(always)]
    pub(super) fn put_short<const QUIET: bool>(&self, hit: &Hit<impl Passed>, out: &mut [u8]) {
        if let Some(to) = hit.0.returns_to() {
            record::put_return_address(out, to);
        }
        let program = &self.program;
        if QUIET {
            return exec::run_quiet(program, hit, out);
        }
        exec::run_compact(program, hit, out);
        if !program.is_compact() {
            hit.0.run_general(self, out);
        }
    }

    /// Whether a filter that compares a register rejects a hit, which is then counted;
    /// `None` where that is not simple to say.
    #[inline(always)]
    pub(super) fn is_rejected(&self, hit: &Hit<impl Passed>, here: &OnCpu) -> Option<bool> {
        let rejected = self.rejects(hit, here);
        if rejected == Some(true) {
            self.counters.count(End::Filtered, here);
        }
        rejected
    }

    /// As [`Self::record`], with what that leaves unsettled.
    #[inline(always)]
    pub(super) fn record_settled<const LEAST: usize>(
        &self,
        code: &impl Interrupted,
        entry: impl Fn() -> Entry,
        (size, here): (&Short<LEAST>, &OnCpu),
        fetch: impl FnOnce(&mut [u8]),
    ) -> Next<Infallible> {
        settled(self.record(code, entry, (size, Pace::Fast, here), fetch))
    }

    /// Wakes the readers that wait for events.
    pub(super) fn wake(&self, here: &OnCpu) {
        match &self.plan.get(here).rest {
            Rest::Several(several) => several
                .recording
                .iter()
                .for_each(|share| share.buffer.wake()),
            _ => self.buffer.get(here).wake(),
        }
    }

    /// Serves any hit, the cheapest way that fits.
    #[inline(always)]
    pub(super) fn serve(&self, arguments: impl Passed, entry: impl Fn() -> Entry, here: &OnCpu) {
        let next = self.serve_short::<false>(Hit(arguments), &entry, here);
        if !self.is_served(next, here) {
            arguments.serve_slow(self, entry(), here);
        }
    }

    /// Returns whether `next` is not another stage; wakes the readers if they wait.
    #[inline(always)]
    pub(super) fn is_served(&self, next: Next<Infallible>, here: &OnCpu) -> bool {
        match next {
            Next::Done => true,
            Next::Finish => {
                self.wake(here);
                true
            }
            Next::Stage(_) => false,
            Next::SettleThenStage(never, _) | Next::SettleThenFinish(never) => match never {},
        }
    }

    /// Records a hit whose record has that size, with what `fetch` writes behind header
    /// and place.
    #[inline(always)]
    fn record<'a, const LEAST: usize>(
        &'a self,
        code: &impl Interrupted,
        entry: impl Fn() -> Entry,
        (size, pace, here): (&Short<LEAST>, Pace, &'a OnCpu),
        fetch: impl FnOnce(&mut [u8]),
    ) -> Next<Unsettled<'a>> {
        if !context::is_plain(entry) {
            return Next::Stage(Stage::SERVE);
        }
        self.record_plain(code, (size, pace, here), fetch)
    }

    /// As [`Self::record`], where the context is known to be [plain](context::is_plain).
    #[inline(always)]
    pub(super) fn record_plain<'a, const LEAST: usize>(
        &'a self,
        code: &impl Interrupted,
        (size, pace, here): (&Short<LEAST>, Pace, &'a OnCpu),
        fetch: impl FnOnce(&mut [u8]),
    ) -> Next<Unsettled<'a>> {
        let task = &Running(context::current());
        let fill = Record {
            recorder: self,
            code,
            pace,
            task,
            fetch,
        };
        let recorded = self
            .buffer
            .get(here)
            .record_fast(size, task, (pace, here), fill);
        let unsettled = match recorded {
            Ok(unsettled) => unsettled,
            Err(None) => return Next::Stage(Stage::SERVE),
            Err(Some(unsettled)) => return Next::SettleThenStage(unsettled, Stage::SERVE),
        };
        self.counters.count(End::Recorded, here);
        match unsettled {
            Some(unsettled) => Next::SettleThenFinish(unsettled),
            // Loaded anew: a register that is kept for it would have to be saved.
            None if self.buffer.get(here).is_awaited() => Next::Finish,
            None => Next::Done,
        }
    }

    /// Writes header and place of a hit whose context is [plain](context::is_plain).
    #[inline(always)]
    pub(super) fn put_start<const LEAST: usize>(
        &self,
        code: &impl Interrupted,
        pid: impl FnOnce() -> i32,
        payload: &mut Payload<'_, LEAST>,
    ) {
        let flags = if code.irqs_disabled() {
            u32::from(flag::IRQS_OFF) << 16
        } else {
            0
        };
        // All sizes are at least that.
        if let Some(out) = payload.start().first_chunk_mut() {
            record::start_fast(out, self.plain | flags, pid, code.place(&self.place));
        }
    }

    /// Returns the place that the record of a hit names.
    pub(super) fn place(&self, code: &impl Interrupted) -> u64 {
        let [low, high] = *code.place(&self.place);
        u64::from(low) | u64::from(high) << 32
    }

    /// Whether the filter rejects a hit; `None` where that is not simple to say.
    #[inline(always)]
    fn rejects(&self, hit: &Hit<impl Passed>, here: &OnCpu) -> Option<bool> {
        let passes = self.plan.get(here).gate.passes(&self.program, hit)?;
        Some(!passes)
    }

    /// Fetches the arguments that are not of the common shapes.
    #[inline(always)]
    pub(super) fn run_general(&self, hit: &Hit<impl Passed>, out: &mut [u8]) {
        exec::run_general(&self.program, hit, out);
    }

    /// Calls [`Self::run_general`] for a probe. It takes the arguments one by one, so that the
    /// caller keeps them in registers; so does [`Self::serve_probe_slow`].
    #[inline(never)]
    pub(super) fn run_probe_general(
        &self,
        regs: &Regs,
        return_address: Option<u64>,
        entry: &[u64],
        out: &mut [u8],
    ) {
        let hit = Hit(Registers {
            regs,
            return_address,
            entry,
        });
        self.run_general(&hit, out);
    }

    /// Calls [`Self::serve_slow`] for a probe, unless it has one short string.
    #[inline(never)]
    pub(super) fn serve_probe_slow(
        &self,
        regs: &Regs,
        return_address: Option<u64>,
        data: &[u64],
        (entry, here): (Entry, &OnCpu),
    ) {
        if self.tier.get() == Tier::TEXT {
            return self.serve_probe_text(regs, return_address, data, (entry, here));
        }
        let hit = Hit(Registers {
            regs,
            return_address,
            entry: data,
        });
        self.serve_probe_slowly(&hit, entry, here);
    }

    #[inline(never)]
    fn serve_probe_text(
        &self,
        regs: &Regs,
        return_address: Option<u64>,
        data: &[u64],
        (entry, here): (Entry, &OnCpu),
    ) {
        let hit = Hit(Registers {
            regs,
            return_address,
            entry: data,
        });
        if !self.serve_short_text::<false>(&hit, entry, here) {
            self.serve_probe_slowly(&hit, entry, here);
        }
    }

    #[inline(never)]
    fn serve_probe_slowly(&self, hit: &Hit<Registers<'_>>, entry: Entry, here: &OnCpu) {
        self.serve_slow(hit, entry, here);
    }

    /// Serves any hit, however unusual.
    #[inline(always)]
    pub(super) fn serve_slow<A: Passed>(&self, hit: &Hit<A>, entry: Entry, here: &OnCpu) {
        let rest = &self.plan.get(here).rest;
        if !matches!(rest, Rest::Record) {
            if let (true, Some(acting)) = (A::UNWINDS_HANDLER, rest.of_stacks()) {
                return self.serve_with_stacks(acting, hit.0, entry, here);
            }
            if self.ends(rest, hit, entry, here) {
                return;
            }
        }
        let header = self.header(hit, entry);
        let buffer = self.buffer.get(here);
        let end = self.record_slow::<A, { Recording::SERVE }>(buffer, hit, header, here);
        self.counters.count(end, here);
        buffer.wake();
    }

    /// Returns what filters need to know about a hit.
    pub(super) fn known(&self, hit: &Hit<impl Passed>, entry: Entry, here: &OnCpu) -> filter::Hit {
        filter::Hit {
            header: self.header(hit, entry),
            cpu: here.number(),
            place: self.place(&hit.0),
        }
    }

    /// Records a hit in `buffer`; returns how it ends. `CALLER`, a number of
    /// [`Recording`], tells the callers apart, so that the compiler inlines the closures into each.
    #[inline(always)]
    pub(super) fn record_slow<A: Passed, const CALLER: u8>(
        &self,
        buffer: &Buffer,
        hit: &Hit<A>,
        header: Header,
        here: &OnCpu,
    ) -> End {
        let return_address = hit.0.returns_to();
        let program = &self.program;
        let start = |out: &mut [u8]| {
            record::start_probe(out, header, self.place(&hit.0));
            if let Some(return_address) = return_address {
                record::put_return_address(out, return_address);
            }
        };
        let note = Note::of(&Running(context::current()));
        let outcome = match program.size() {
            Size::Fixed(length) => buffer.record(length, note, here, |out| {
                start(out);
                exec::run(program, hit, out);
            }),
            Size::UpTo(_) => buffer
                .scratch(here, |out| {
                    start(out);
                    let length = exec::run(program, hit, out);
                    let record = out.get(..length).unwrap_or_default();
                    buffer.record(length, note, here, |out| {
                        if let Some(to) = out.get_mut(..length) {
                            to.copy_from_slice(record);
                        }
                    })
                })
                .unwrap_or(Err(Lost::Nested)),
        };
        match outcome {
            Ok(()) => End::Recorded,
            Err(Lost::Disabled) => End::Off,
            Err(Lost::Full | Lost::Nested) => End::LostFull,
            Err(Lost::TooLarge) => End::LostLarge,
        }
    }

    #[inline(always)]
    pub(super) fn header(&self, hit: &Hit<impl Passed>, entry: Entry) -> Header {
        let level = context::level(entry);
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let mut flags = bit(hit.0.irqs_disabled(), flag::IRQS_OFF);
        let mut preempt_count = 0;
        if !level.is_plain() {
            flags |= bit(level.need_resched, flag::NEED_RESCHED)
                | bit(level.need_resched_lazy, flag::NEED_RESCHED_LAZY)
                | bit(level.preempt_need_resched, flag::PREEMPT_RESCHED)
                | bit(level.in_nmi(), flag::NMI)
                | bit(level.in_hardirq(), flag::HARDIRQ)
                | bit(level.in_softirq(), flag::SOFTIRQ)
                | bit(level.bh_disabled(), flag::BH_OFF);
            // CAST: At most 15.
            preempt_count = level.preempt_depth().min(15) as u8;
        }
        Header {
            event: self.event,
            flags,
            preempt_count,
            pid: context::current().pid(),
        }
    }
}

/// The arguments of a hit, and the calls that pass them on: in registers, if the source
/// has them there.
pub(super) trait Passed: Arguments + Interrupted + UserMemory + Copy {
    /// Whether the unwinder comes from the handler to the hit, and the fewer functions are in
    /// between, the sooner.
    const UNWINDS_HANDLER: bool = false;

    /// Whether a stage before the last one has tried to serve [`Tier::SEVERAL_TEXT`].
    const HAS_STAGE_OF_TEXT: bool = false;

    /// Returns the address to which the function returns, of a return probe.
    #[inline(always)]
    fn returns_to(&self) -> Option<u64> {
        None
    }

    /// Returns where the stack of the hit begins, which `recorder` serves.
    fn origin(&self, recorder: &Recorder, _entry: Entry) -> Origin<'_> {
        Origin::Caller(recorder.function)
    }

    /// Calls [`Recorder::run_general`].
    #[inline(never)]
    fn run_general(self, recorder: &Recorder, out: &mut [u8]) {
        recorder.run_general(&Hit(self), out);
    }

    /// Calls [`Recorder::serve_slow`], unless the hit has one short string.
    #[inline(never)]
    fn serve_slow(self, recorder: &Recorder, entry: Entry, here: &OnCpu) {
        let hit = &Hit(self);
        let has_text = recorder.tier.get() == Tier::TEXT;
        if !has_text || !recorder.serve_short_text::<false>(hit, entry, here) {
            recorder.serve_slow(hit, entry, here);
        }
    }
}

impl Passed for Registers<'_> {
    const HAS_STAGE_OF_TEXT: bool = true;

    #[inline(always)]
    fn returns_to(&self) -> Option<u64> {
        self.return_address
    }

    fn origin(&self, recorder: &Recorder, entry: Entry) -> Origin<'_> {
        match entry {
            Entry::Trap | Entry::Call => Origin::Probe(self.regs, entry, recorder.function),
            Entry::Return => Origin::Return(self.regs),
            // The registers belong to the caller of a system call.
            Entry::Tracepoint => Origin::Caller(recorder.function),
        }
    }

    #[inline(always)]
    fn run_general(self, recorder: &Recorder, out: &mut [u8]) {
        recorder.run_probe_general(self.regs, self.return_address, self.entry, out);
    }

    #[inline(always)]
    fn serve_slow(self, recorder: &Recorder, entry: Entry, here: &OnCpu) {
        recorder.serve_probe_slow(self.regs, self.return_address, self.entry, (entry, here));
    }
}

impl Passed for functions::Entry<'_> {
    fn origin(&self, _recorder: &Recorder, _entry: Entry) -> Origin<'_> {
        Origin::Function(*self)
    }
}

impl Passed for tracepoint::Arguments<'_> {
    const UNWINDS_HANDLER: bool = true;
}

/// Writes the record of a hit, whose header tells of nothing unusual.
struct Record<'a, I, F> {
    recorder: &'a Recorder,
    code: &'a I,
    pace: Pace,
    task: &'a Running,
    /// Writes what is behind header and place.
    fetch: F,
}

impl<I: Interrupted, F: FnOnce(&mut [u8]), const LEAST: usize> Fill<LEAST> for Record<'_, I, F> {
    #[inline(always)]
    fn fill(self, mut payload: Payload<'_, LEAST>) {
        let pid = || {
            if matches!(self.pace, Pace::Fast) {
                self.task.0.pid()
            } else {
                context::current().pid()
            }
        };
        self.recorder.put_start(self.code, pid, &mut payload);
        (self.fetch)(payload.bytes());
    }
}

/// Settles what a hit leaves unsettled: at once, so that nothing is kept over the calls that
/// follow.
#[inline(always)]
pub(super) fn settled(recorded: Next<Unsettled<'_>>) -> Next<Infallible> {
    match recorded {
        Next::SettleThenStage(unsettled, next) => {
            unsettled.settle();
            Next::Stage(next)
        }
        Next::SettleThenFinish(unsettled) => {
            unsettled.settle();
            Next::Finish
        }
        Next::Finish => Next::Finish,
        Next::Stage(next) => Next::Stage(next),
        Next::Done => Next::Done,
    }
}

/// Makes the compiler take the branch that calls this for the less likely one.
#[cold]
fn cold() {}
