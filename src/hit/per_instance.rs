// SPDX-License-Identifier: GPL-2.0

//! Serves the hit of an event that several instances use.
//!
//! The arguments are fetched once, behind the header, and the record is copied into the buffer
//! of each instance that records the hit: from the buffer of the first one, where nothing about
//! the hit is unusual, else from the stack.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`].

use crate::{
    buffer::{Buffer, Pace, Unpublished},
    engine::{
        program::{exec, fetch::Size},
        record::{self, Header, PROBE_WORDS},
        ring::{EventSize, Fill, Note, Payload, Short},
    },
    hit::{
        counters::HitEnd,
        plan::{InstancePlan, PerInstance, PlanKind},
        recorder::Recorder,
        sample::{Running, Sample},
        stage::Stage,
    },
    kapi::{
        cold,
        context::{self, OnCpu},
    },
    sys,
};

/// Maximum number of bytes of a record that is made on the stack: as many as [`Short`] can have.
const LONGEST: usize = 112;

/// A finished record, to be copied to the buffers of the instances.
struct Made<'a> {
    bytes: &'a [u8],
    /// Its size, if a fast reservation is to be tried.
    size: Option<Short<PROBE_WORDS>>,
}

/// The bytes of a record, of which a copy is made.
struct CopiedRecord<'a>(&'a [u8]);

impl<const LEAST: usize> Fill<LEAST> for CopiedRecord<'_> {
    #[inline(always)]
    fn fill(self, mut payload: Payload<'_, LEAST>) {
        let to = payload.bytes();
        // They have the same size, of at least 16 and at most `LONGEST` bytes.
        let Some(from) = self.0.get(..to.len()) else {
            return;
        };
        match to.len() {
            ..=32 => return sys::copy_ends::<16>(to, from),
            33..=64 => return sys::copy_ends::<32>(to, from),
            _ => {}
        }
        if let (Some(to), Some(from)) = (to.first_chunk_mut::<64>(), from.first_chunk::<64>()) {
            sys::copy_ends::<32>(to, from);
        }
        if to.len() > 96 {
            if let (Some(to), Some(from)) = (to.last_chunk_mut::<64>(), from.last_chunk::<64>()) {
                sys::copy_ends::<32>(to, from);
            }
        } else if let (Some(to), Some(from)) = (to.last_chunk_mut(), from.last_chunk::<32>()) {
            sys::copy(to, from);
        }
    }
}

impl Recorder {
    /// Records a plain hit in each instance, if the program fetches one string, which is short.
    /// Otherwise returns false, with no effect.
    #[inline(never)]
    pub(super) fn serve_text_per_instance(&self, sample: &Sample<'_>, here: &OnCpu) -> bool {
        self.stage() == Stage::EACH_TEXT && self.serve_text_in_each(sample, here)
    }

    /// Serves a hit in each instance by the instance's own plan. Returns the best of its ends.
    #[inline(never)]
    pub(super) fn serve_per_instance(
        &self,
        instances: &PerInstance,
        sample: &Sample<'_>,
        here: &OnCpu,
    ) -> HitEnd {
        let all = instances.all();
        if all.is_empty() {
            return HitEnd::Off;
        }
        let hit = self.filter_hit(sample, here);
        let pid = context::current().pid();
        let mut end = HitEnd::Filtered;
        for instance in all {
            let Some(kind) = kind_for(instance, pid) else {
                self.send_apart(&instance.plan, sample, here);
                continue;
            };
            let PlanKind::Triggers(triggers) = kind else {
                continue;
            };
            let of = (triggers, &*instance.buffer);
            let ends = match triggers.stacks.are_any() {
                true => self.act_with_stacks(of, sample, here),
                false => self.act(of, sample, here),
            };
            end = end.min(ends);
            instance.buffer.wake();
        }
        let records = |instance: &InstancePlan| match kind_for(instance, pid) {
            Some(PlanKind::Record) => true,
            Some(PlanKind::Filter(filter)) => filter.matches(&self.program, sample, &hit),
            _ => false,
        };
        let Some(first) = all.iter().position(records) else {
            return end;
        };
        let (_, rest) = all.split_at_checked(first).unwrap_or_default();
        let is_plain = sample.is_plain();
        let recorded = self.with_record(rest, (sample, hit.header), here, |made| {
            let mut end = HitEnd::Filtered;
            for (index, instance) in rest.iter().enumerate() {
                if index == 0 || records(instance) {
                    let size = made.size.as_ref().filter(|_| is_plain);
                    end = end.min(record(&instance.buffer, size, made.bytes, here));
                    instance.buffer.wake();
                }
            }
            end
        });
        end.min(recorded)
    }

    /// Makes the record of a hit with that header, and calls `work` with it.
    #[inline(always)]
    fn with_record(
        &self,
        all: &[InstancePlan],
        (sample, header): (&Sample<'_>, Header),
        here: &OnCpu,
        work: impl FnOnce(Made<'_>) -> HitEnd,
    ) -> HitEnd {
        let make = |out: &mut [u8]| {
            record::start_probe(out, header, self.place(sample));
            if let Some(to) = sample.returns_to() {
                record::put_return_address(out, to);
            }
            exec::run(&self.program, sample, out)
        };
        if let Size::Fixed(length) = self.program.size() {
            let mut room = [0; LONGEST];
            if let Some(out) = room.get_mut(..length) {
                make(out);
                return work(Made {
                    bytes: room.get(..in_words(length)).unwrap_or(&room),
                    size: Some(self.short),
                });
            }
        }
        let lent = all.first().and_then(|instance| {
            instance.buffer.scratch(here, |out| {
                let length = match self.program.size() {
                    Size::Fixed(length) => {
                        make(out.get_mut(..length)?);
                        length
                    }
                    Size::UpTo(_) => make(out),
                };
                let end = in_words(length);
                // The last word is zero where the record does not reach.
                out.get_mut(length..end)?.fill(0);
                Some(work(Made {
                    bytes: out.get(..end)?,
                    size: Short::of(length),
                }))
            })
        });
        lent.flatten().unwrap_or(HitEnd::LostFull)
    }
}

/// Returns `length` rounded up to words.
#[inline(always)]
fn in_words(length: usize) -> usize {
    length.saturating_add(3) & !3
}

/// Returns what the plan of `instance` says for the hits of the task with this `pid`; `None` if
/// they do not count.
#[inline(always)]
fn kind_for(instance: &InstancePlan, pid: i32) -> Option<&PlanKind> {
    match &instance.plan.kind {
        PlanKind::OfTasks(tasks, plan) => tasks.have(pid).then_some(&plan.kind),
        kind => Some(kind),
    }
}

/// Records `bytes` in `buffer`, by a fast reservation if `size` is theirs and that succeeds.
/// Returns how the hit ends there.
#[inline(always)]
pub(super) fn record<const LEAST: usize>(
    buffer: &Buffer,
    size: Option<&impl EventSize<LEAST>>,
    bytes: &[u8],
    here: &OnCpu,
) -> HitEnd {
    match size {
        Some(size) if record_fast(buffer, size, bytes, here) => HitEnd::Recorded,
        _ => record_slow(buffer, bytes, here),
    }
}

#[inline(always)]
fn record_fast<const LEAST: usize>(
    buffer: &Buffer,
    size: &impl EventSize<LEAST>,
    bytes: &[u8],
    here: &OnCpu,
) -> bool {
    let task = &Running(context::current());
    let recorded = buffer.record_fast(size, task, (Pace::Fast, here), CopiedRecord(bytes));
    publish_nested(recorded, here)
}

/// Publishes the records of nested writers. Returns whether the hit itself was recorded.
#[inline(always)]
pub(super) fn publish_nested(
    recorded: Result<Option<Unpublished<'_>>, Option<Unpublished<'_>>>,
    here: &OnCpu,
) -> bool {
    let (is_done, unpublished) = match recorded {
        Ok(unpublished) => (true, unpublished),
        Err(unpublished) => (false, unpublished),
    };
    if let Some(unpublished) = unpublished {
        cold::call(unpublished.ring(), here);
    }
    is_done
}

#[inline(never)]
fn record_slow(buffer: &Buffer, bytes: &[u8], here: &OnCpu) -> HitEnd {
    let note = Note::of(&Running(context::current()));
    let recorded = buffer.record(bytes.len(), note, here, |out| {
        if let Some(out) = out.get_mut(..bytes.len()) {
            out.copy_from_slice(bytes);
        }
    });
    HitEnd::of(recorded)
}
