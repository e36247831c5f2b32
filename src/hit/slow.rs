// SPDX-License-Identifier: GPL-2.0

//! The slow stage, which serves any hit: one copy for all sources.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`].

use crate::{
    buffer::{Buffer, Lost},
    engine::{
        filter,
        program::{exec, fetch::Size},
        record::format::flag,
        record::{self, Header},
        ring::Note,
    },
    hit::{
        counters::HitEnd,
        plan::PlanKind,
        recorder::Recorder,
        sample::{Running, Sample},
    },
    kapi::{
        context::{self, OnCpu},
        stack_room,
    },
    sys,
};

impl Recorder {
    /// Serves any hit. The fast path of its source has served most hits that record a string, see
    /// [`Source::HAS_TEXT_STEP`](super::source::Source::HAS_TEXT_STEP).
    #[inline(never)]
    pub(super) fn serve_slow(&self, sample: &Sample<'_>, here: &OnCpu) {
        if !stack_room::suffices() {
            return self.count_missed(here);
        }
        let kind = &self.plan.get(here).kind;
        let buffer = self.buffer.get(here);
        let end = match kind.of_stacks() {
            Some(triggers) => self.act_with_stacks((triggers, buffer), sample, here),
            None => {
                if !matches!(kind, PlanKind::Record) && self.ends(kind, sample, here) {
                    return;
                }
                self.record_slow(buffer, sample, self.header(sample), here)
            }
        };
        self.counters.count(end, here);
        buffer.wake();
    }

    /// Records a hit in `buffer`; returns how it ends.
    #[inline(always)]
    pub(super) fn record_slow(
        &self,
        buffer: &Buffer,
        sample: &Sample<'_>,
        header: Header,
        here: &OnCpu,
    ) -> HitEnd {
        let program = &self.program;
        let start = |out: &mut [u8]| {
            record::start_probe(out, header, self.place(sample));
            if let Some(to) = sample.returns_to() {
                record::put_return_address(out, to);
            }
        };
        let note = Note::of(&Running(context::current()));
        let outcome = match program.size() {
            Size::Fixed(length) => buffer.record(length, note, here, |out| {
                start(out);
                exec::run(program, sample, out);
            }),
            Size::UpTo(_) => buffer
                .scratch(here, |out| {
                    start(out);
                    let length = exec::run(program, sample, out);
                    let record = out.get(..length).unwrap_or_default();
                    buffer.record(length, note, here, |out| {
                        sys::copy_slice(out.get_mut(..length).unwrap_or_default(), record);
                    })
                })
                .unwrap_or(Err(Lost::Nested)),
        };
        HitEnd::of(outcome)
    }

    /// Returns the place that the record of a hit names.
    pub(super) fn place(&self, sample: &Sample<'_>) -> u64 {
        let [low, high] = *sample.place(&self.place);
        u64::from(low) | u64::from(high) << 32
    }

    /// Returns what filters need to know about a hit.
    pub(super) fn filter_hit(&self, sample: &Sample<'_>, here: &OnCpu) -> filter::Hit {
        filter::Hit {
            header: self.header(sample),
            cpu: here.number(),
            place: self.place(sample),
        }
    }

    /// Returns the header of the record of a hit.
    #[inline(always)]
    pub(super) fn header(&self, sample: &Sample<'_>) -> Header {
        let level = context::level(sample.way());
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let mut flags = bit(sample.irqs_disabled(), flag::IRQS_OFF);
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
