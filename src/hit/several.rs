// SPDX-License-Identifier: GPL-2.0

//! A hit of an event that several instances use: what it costs beyond the first instance.
//!
//! The arguments are fetched once, behind the header, and the record is copied into the buffer
//! of each instance that records the hit.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`].

use crate::{
    buffer::{Buffer, Lost, Pace},
    engine::{
        exec,
        fetch::Size,
        format::flag,
        record::{self, Header, PROBE_WORDS},
        ring::{Fill, Note, Payload, Short},
    },
    hit::{
        context::{Hit, Interrupted, Running},
        counters::End,
        plan::{Rest, Several, Share},
        recorder::{Passed, Recorder},
        tier::Tier,
    },
    kapi::context::{self, Entry, OnCpu},
    sys,
};

/// Most bytes of a record that is made on the stack: as many as [`Short`] can have.
const LONGEST: usize = 112;

/// A record, for the buffer of each instance.
#[derive(Clone, Copy)]
struct Made<'a> {
    bytes: &'a [u8],
    /// Its size, if that is to be tried in few instructions.
    size: Option<Short<PROBE_WORDS>>,
}

impl Fill<PROBE_WORDS> for Made<'_> {
    #[inline(always)]
    fn fill(self, mut payload: Payload<'_, PROBE_WORDS>) {
        // The smallest record is a block.
        sys::copy_blocks::<{ PROBE_WORDS * 4 }>(payload.bytes(), self.bytes);
    }
}

impl Recorder {
    /// Serves a hit that all instances record, where nothing about it is unusual. Returns how it
    /// ends; `None` otherwise, then nothing has happened.
    #[inline(always)]
    pub(super) fn serve_several_fast<A: Passed>(
        &self,
        hit: &Hit<A>,
        entry: impl Fn() -> Entry,
        here: &OnCpu,
    ) -> Option<End> {
        let Rest::Several(several) = &self.plan.get(here).rest else {
            return None;
        };
        let is_usual = several.all_record && self.tier.get() == Tier::SEVERAL;
        if !is_usual || !context::is_plain(entry) {
            return None;
        }
        let mut room = [0; LONGEST];
        // No shape is longer.
        let out = room.get_mut(..self.short.bytes()).unwrap_or_default();
        record::start_probe(out, self.plain_header(&hit.0), self.place(&hit.0));
        if let Some(to) = hit.0.returns_to() {
            record::put_return_address(out, to);
        }
        exec::run_compact(&self.program, hit, out);
        if !self.program.is_compact() {
            hit.0.run_general(self, out);
        }
        // Of its own, so that the compiler knows that it does not change.
        let size = self.short;
        let made = Made {
            bytes: out,
            size: None,
        };
        // Changes where a hit is not recorded, so that other hits need no register for it.
        let (mut not_recorded, mut reason) = (0, End::Off);
        for Share { buffer, .. } in several.shares.iter() {
            if !record_fast(buffer, &size, made, here) {
                let end = record_slow(buffer, made.bytes, here);
                reason = reason.min(end);
                not_recorded = usize::from(end != End::Recorded).wrapping_add(not_recorded);
            }
            buffer.wake();
        }
        Some(match not_recorded < several.shares.len() {
            true => End::Recorded,
            false => reason,
        })
    }

    /// Returns the header of a hit whose context is [plain](context::is_plain).
    #[inline(always)]
    fn plain_header(&self, code: &impl Interrupted) -> Header {
        Header {
            event: self.event,
            flags: if code.irqs_disabled() {
                flag::IRQS_OFF
            } else {
                0
            },
            preempt_count: 0,
            pid: context::current().pid(),
        }
    }

    /// Serves a hit in each of the instances as the plan there says. Returns how it ends where
    /// it ends best.
    #[inline(never)]
    pub(super) fn serve_several<A: Passed>(
        &self,
        Several { shares, .. }: &Several,
        hit: &Hit<A>,
        entry: Entry,
        here: &OnCpu,
    ) -> End {
        if shares.is_empty() {
            return End::Off;
        }
        if let Some(end) = self.serve_several_fast(hit, || entry, here) {
            return end;
        }
        let known = self.known(hit, entry, here);
        let pid = context::current().pid();
        let mut end = End::Filtered;
        for share in shares {
            let Rest::Act(acting) = rest_for(share, pid).unwrap_or(&Rest::Record) else {
                continue;
            };
            let of = (acting, &*share.buffer);
            let ends = match acting.stacks.are_any() {
                true => self.act_with_stacks(of, hit, entry, here),
                false => self.act(of, hit, entry, here),
            };
            end = end.min(ends);
            share.buffer.wake();
        }
        let records = |share: &Share| match rest_for(share, pid) {
            Some(Rest::Record) => true,
            Some(Rest::Filter(filter)) => filter.matches(&self.program, hit, &known),
            _ => false,
        };
        let Some(first) = shares.iter().position(records) else {
            return end;
        };
        let (_, rest) = shares.split_at_checked(first).unwrap_or_default();
        let is_plain = context::is_plain(|| entry);
        let recorded = self.with_record(rest, (hit, known.header), here, |made| {
            let mut end = End::Filtered;
            for (index, share) in rest.iter().enumerate() {
                if index == 0 || records(share) {
                    let size = made.size.filter(|_| is_plain);
                    let made = Made { size, ..made };
                    end = end.min(record(&share.buffer, made, here));
                    share.buffer.wake();
                }
            }
            end
        });
        end.min(recorded)
    }

    /// Makes the record of a hit with that header, and calls `work` with it.
    #[inline(always)]
    fn with_record<A: Passed>(
        &self,
        shares: &[Share],
        (hit, header): (&Hit<A>, Header),
        here: &OnCpu,
        work: impl FnOnce(Made<'_>) -> End,
    ) -> End {
        let make = |out: &mut [u8]| {
            record::start_probe(out, header, self.place(&hit.0));
            if let Some(return_address) = hit.0.returns_to() {
                record::put_return_address(out, return_address);
            }
            exec::run(&self.program, hit, out)
        };
        if let Size::Fixed(length) = self.program.size() {
            let mut room = [0; LONGEST];
            if let Some(out) = room.get_mut(..length) {
                make(out);
                // Rounded up to words.
                let length = length.saturating_add(3) & !3;
                return work(Made {
                    bytes: room.get(..length).unwrap_or(&room),
                    size: Some(self.short),
                });
            }
        }
        let lent = shares.first().and_then(|share| {
            share.buffer.scratch(here, |out| {
                let length = match self.program.size() {
                    Size::Fixed(length) => {
                        make(out.get_mut(..length)?);
                        length
                    }
                    Size::UpTo(_) => make(out),
                };
                let bytes = out.get(..length)?;
                Some(work(Made { bytes, size: None }))
            })
        });
        lent.flatten().unwrap_or(End::LostFull)
    }
}

/// Returns what the plan of `share` says for the hits of the task with this `pid`; `None` if
/// they do not count.
#[inline(always)]
fn rest_for(share: &Share, pid: i32) -> Option<&Rest> {
    match &share.plan.rest {
        Rest::OfTasks(tasks, plan) => tasks.have(pid).then_some(&plan.rest),
        rest => Some(rest),
    }
}

/// Records what was `made` in `buffer`; returns how that ends.
#[inline(always)]
fn record(buffer: &Buffer, made: Made<'_>, here: &OnCpu) -> End {
    match &made.size {
        Some(size) if record_fast(buffer, size, made, here) => End::Recorded,
        _ => record_slow(buffer, made.bytes, here),
    }
}

/// As `record`, in few instructions, if the ring has room where the task is named. Returns
/// whether that was so.
#[inline(always)]
fn record_fast(buffer: &Buffer, size: &Short<PROBE_WORDS>, made: Made<'_>, here: &OnCpu) -> bool {
    let task = &Running(context::current());
    let recorded = buffer.record_fast(size, task, (Pace::Fast, here), made);
    let (is_done, unsettled) = match recorded {
        Ok(unsettled) => (true, unsettled),
        Err(unsettled) => (false, unsettled),
    };
    if let Some(unsettled) = unsettled {
        unsettled.settle();
    }
    is_done
}

#[inline(never)]
fn record_slow(buffer: &Buffer, bytes: &[u8], here: &OnCpu) -> End {
    let note = Note::of(&Running(context::current()));
    let recorded = buffer.record(bytes.len(), note, here, |out| {
        if let Some(out) = out.get_mut(..bytes.len()) {
            out.copy_from_slice(bytes);
        }
    });
    match recorded {
        Ok(()) => End::Recorded,
        Err(Lost::Disabled) => End::Off,
        Err(Lost::Full | Lost::Nested) => End::LostFull,
        Err(Lost::TooLarge) => End::LostLarge,
    }
}
