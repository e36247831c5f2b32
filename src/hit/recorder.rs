// SPDX-License-Identifier: GPL-2.0

//! [`Recorder`]: the state of one probe, and how its hits are to be served.
//!
//! What serves hits is in the other files of this folder. It runs in any context, NMI included,
//! on any CPU, with preemption disabled, and possibly nested in itself. It takes no lock,
//! allocates nothing, cannot sleep, fault or panic, and loops only over what a definition bounds.
//! Each hit ends in exactly one counter of [`HitCounters`].

use crate::{
    buffer::Buffer,
    engine::{
        program::fetch::{Form, Program, Size},
        record::{PROBE_SIZE, PROBE_WORDS},
        ring::Short,
    },
    hit::{
        action::Sole,
        counters::{HitCounters, HitEnd, Totals},
        plan::{Plan, PlanKind, ReplacedPlans},
        stage::Stage,
    },
    kapi::{
        context::OnCpu,
        rcu::{RcuCell, Replaced},
        stack::StackFunction,
    },
};
use core::sync::atomic::{AtomicU8, Ordering};
use kernel::sync::Arc;

/// Number of words of a probe's record with nothing fetched.
pub(super) const BARE: usize = PROBE_WORDS;
/// Number of words of a record with one register and the fault bits.
pub(super) const WITH_REGISTER: usize = (PROBE_SIZE + 8 + 1).div_ceil(4);
/// Number of words of a return probe's record with nothing fetched.
pub(super) const RETURN_BARE: usize = BARE + 2;
/// Number of words of a return probe's record with one register or the duration.
pub(super) const RETURN_WITH_REGISTER: usize = WITH_REGISTER + 2;
/// Number of words of a return probe's record with one register and the duration.
pub(super) const RETURN_WITH_TWO: usize = RETURN_WITH_REGISTER + 2;

/// Serves the hits of one probe.
pub(crate) struct Recorder {
    /// The [`Stage`] that serves hits in the fewest instructions.
    pub(super) stage: AtomicU8,
    /// The register that [`Stage::WORD`] fetches.
    pub(super) register: u8,
    /// The length of the records, if it is fixed and short (`is_short`); otherwise unused.
    pub(super) short: Short<PROBE_WORDS>,
    /// [`Header::first_half`] of a record, without flags.
    pub(super) plain: u32,
    /// The place that records name: the function's entry where the kernel
    /// probes behind a landing pad. In [`record::words`].
    pub(super) place: [u32; 2],
    pub(super) counters: HitCounters,
    /// The buffer in which it records, unless the plan is per instance.
    pub(super) buffer: RcuCell<Buffer>,
    /// The number of the event, in each record.
    pub(super) event: u16,
    pub(super) is_return: bool,
    /// Whether all records have one length, which is short.
    pub(super) is_short: bool,
    /// Whether the time is all that is saved at the function's entry.
    pub(super) captures_time: bool,
    /// The function that is probed, or that calls the handler, as far as its stacks need it.
    pub(super) function: StackFunction,
    /// Fetches the arguments.
    pub(super) program: Program,
    pub(super) plan: RcuCell<Plan>,
}

impl Recorder {
    /// Returns the size of the records of `program`, if it is fixed and short.
    pub(super) fn short(program: &Program) -> Option<Short<PROBE_WORDS>> {
        match program.size() {
            Size::Fixed(length) => Short::of(length),
            Size::UpTo(_) => None,
        }
    }

    /// Returns whether all records of `program` have the number of words `WORDS`.
    fn has_size<const WORDS: usize>(program: &Program) -> bool {
        Self::short(program).is_some_and(Short::is_smallest_of::<WORDS>)
    }

    /// Returns the [`Stage`] that serves hits in the fewest instructions now.
    #[inline(always)]
    pub(super) fn stage(&self) -> u8 {
        self.stage.load(Ordering::Relaxed)
    }

    /// Chooses the stage again, after a change of the plan or of anything else that it depends on.
    ///
    /// Context: process.
    pub(crate) fn choose_stage(&self) {
        let stage = Self::stage_for(&self.program, self.is_return, &self.plan.load());
        self.stage.store(stage, Ordering::Relaxed);
    }

    /// Returns the stage for `program` and `plan`.
    pub(super) fn stage_for(program: &Program, is_return: bool, plan: &Plan) -> u8 {
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
        match &plan.kind {
            PlanKind::Triggers(triggers) => match triggers.sole() {
                Some(Sole::Trace(_) | Sole::Event(..) | Sole::Count(_)) => Stage::ACT,
                Some(Sole::CountStack(_) | Sole::RecordStack) => Stage::STACK,
                Some(Sole::SaveTimestamp(_)) => Stage::SAVE_TIMESTAMP,
                Some(Sole::InterEvent(_)) => Stage::INTER_EVENT,
                Some(Sole::Send(_)) => Stage::FORWARD_TO_ONE,
                Some(Sole::Begin(_)) => Stage::BEGIN_PAIR,
                None if triggers.only_forwards() => Stage::FORWARD_TO_ALL,
                None if triggers.can_record_stack() && Self::short(program).is_some() => {
                    Stage::STACK
                }
                None if plan.is_gated() => Stage::GATED,
                None => Stage::SERVE,
            },
            PlanKind::PerInstance(instances) if !instances.recording.is_empty() => {
                match program.form() {
                    Form::Bare if bare => Stage::EACH_BARE,
                    Form::Register(_) if register => Stage::EACH_WORD,
                    _ if Self::short(program).is_some() => Stage::EACH_SHORT,
                    _ if program.has_only_text() => Stage::EACH_TEXT,
                    _ => Stage::EACH_SLOW,
                }
            }
            PlanKind::PerInstance(_) => Stage::SERVE,
            PlanKind::Filter(_) => Stage::FILTER,
            // Event probes and pairs are sent the hits of all tasks.
            PlanKind::OfTasks(..) if plan.forwards_any() => Stage::SERVE,
            PlanKind::OfTasks(..) => Stage::TASK,
            PlanKind::Record => match program.form() {
                Form::Bare if bare => Stage::BARE,
                Form::Register(_) if register => Stage::WORD,
                Form::Duration if register => Stage::DURATION,
                Form::RegisterAndDuration(_) if Self::has_size::<RETURN_WITH_TWO>(program) => {
                    Stage::WORD_AND_DURATION
                }
                _ if Self::short(program).is_some() => Stage::SHORT,
                _ if program.has_only_text() => Stage::TEXT,
                _ => Stage::SLOW,
            },
        }
    }

    /// Replaces the plan by `plan`. `replaced` gets the former plan, which hits may use until
    /// `replaced` is dropped.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_plan(&self, plan: Arc<Plan>, replaced: &mut ReplacedPlans) {
        self.stage.store(Stage::SERVE, Ordering::Relaxed);
        self.plan.replace_among(plan, replaced);
        self.choose_stage();
    }

    /// Returns whether it records in `buffer`, unless the plan is per instance.
    ///
    /// Context: process.
    pub(crate) fn records_in(&self, buffer: &Arc<Buffer>) -> bool {
        Arc::ptr_eq(&self.buffer.load(), buffer)
    }

    /// Replaces the buffer by `buffer`. `replaced` gets the former buffer, which hits may use until
    /// `replaced` is dropped. The plan must be per instance until then, and must have been so for a
    /// grace period.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_buffer(&self, buffer: Arc<Buffer>, replaced: &mut Replaced<Buffer>) {
        self.buffer.replace_among(buffer, replaced);
    }

    /// Returns the program that fetches the arguments.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// Counts a hit that is not served.
    ///
    /// Context: any, with preemption disabled.
    pub(super) fn count_missed(&self, here: &OnCpu) {
        self.counters.count(HitEnd::Missed, here);
    }

    /// How the hits ended so far.
    pub(crate) fn totals(&self) -> Totals {
        self.counters.totals()
    }

    /// Returns the hits of the CPU with most of them; see [`HitCounters::most_since`].
    pub(crate) fn most_since(&self) -> u64 {
        self.counters.most_since()
    }
}
