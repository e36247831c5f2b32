// SPDX-License-Identifier: GPL-2.0

//! A hit of an event that several instances use: what it costs beyond the first instance.
//!
//! The arguments are fetched once, behind the header, and the record is copied into the buffer
//! of each instance that records the hit: from the buffer of the first one, where nothing about
//! the hit is unusual, else from the stack.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`].

use crate::{
    buffer::{Buffer, Lost, Pace, Unsettled},
    engine::{
        exec,
        fetch::Size,
        record::{self, Header, PROBE_WORDS},
        ring::{Fill, Note, Payload, Short},
    },
    hit::{
        context::{Hit, Interrupted, Running},
        counters::End,
        plan::{Rest, Several, Share},
        recorder::{Passed, Recorder},
        stages::Stage,
        tier::Tier,
    },
    kapi::{
        context::{self, Entry, OnCpu},
        registration::Next,
    },
    sys,
};

/// Most bytes of a record that is made on the stack: as many as [`Short`] can have.
const LONGEST: usize = 112;

/// A record, for the buffer of each instance.
struct Made<'a> {
    bytes: &'a [u8],
    /// Its size, if that is to be tried in few instructions.
    size: Option<Short<PROBE_WORDS>>,
}

/// The bytes of a record, of which another gets a copy.
struct Copied<'a>(&'a [u8]);

impl<const LEAST: usize> Fill<LEAST> for Copied<'_> {
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

/// Fetches what a record has behind header and place.
///
/// A trait and not a closure, because the compiler does not inline every closure.
pub(super) trait Fetch {
    /// Writes it to `out`, the whole record.
    fn fetch(self, out: &mut [u8]);
}

impl<F: FnOnce(&mut [u8])> Fetch for F {
    #[inline(always)]
    fn fetch(self, out: &mut [u8]) {
        self(out);
    }
}

/// Nothing, or a register.
struct Fast<'a, I, const REGISTER: bool> {
    recorder: &'a Recorder,
    code: &'a I,
    return_address: Option<u64>,
}

impl<I: Interrupted, const REGISTER: bool> Fetch for Fast<'_, I, REGISTER> {
    #[inline(always)]
    fn fetch(self, out: &mut [u8]) {
        self.recorder
            .put_fast::<REGISTER>(self.code, self.return_address, out);
    }
}

/// What the program of the recorder fetches; it is quiet if `QUIET`.
struct ByProgram<'a, A, const QUIET: bool> {
    recorder: &'a Recorder,
    hit: &'a Hit<A>,
}

impl<A: Passed, const QUIET: bool> Fetch for ByProgram<'_, A, QUIET> {
    #[inline(always)]
    fn fetch(self, out: &mut [u8]) {
        self.recorder.put_short::<QUIET>(self.hit, out);
    }
}

/// Writes the record of a hit, and copies of it to the buffers of other instances.
struct InAll<'a, I, F, const LEAST: usize> {
    recorder: &'a Recorder,
    code: &'a I,
    task: &'a Running,
    fetch: F,
    others: &'a [Share],
    size: &'a Short<LEAST>,
    here: &'a OnCpu,
}

impl<I: Interrupted, F: Fetch, const LEAST: usize> Fill<LEAST> for InAll<'_, I, F, LEAST> {
    #[inline(always)]
    fn fill(self, mut payload: Payload<'_, LEAST>) {
        let pid = || self.task.0.pid();
        self.recorder.put_start(self.code, pid, &mut payload);
        let bytes = payload.bytes();
        self.fetch.fetch(bytes);
        for Share { buffer, .. } in self.others {
            record(buffer, Some(self.size), bytes, self.here);
            buffer.wake();
        }
    }
}

impl Recorder {
    /// Serves a hit that all instances record, as [`Self::serve_fast`] does if there is one.
    #[inline(always)]
    pub(super) fn serve_several_fast<U, const REGISTER: bool, const WORDS: usize>(
        &self,
        code: &impl Interrupted,
        return_address: impl Fn() -> Option<u64>,
        entry: impl Fn() -> Entry,
        here: &OnCpu,
    ) -> Next<U> {
        // What is fetched never changes; the plan tells whether there are several instances.
        let size = &Short::<WORDS>::SMALLEST;
        let fetch = Fast::<_, REGISTER> {
            recorder: self,
            code,
            return_address: return_address(),
        };
        self.record_in_all(code, entry, (size, here), fetch)
    }

    /// Serves a hit that all instances record, as [`Self::serve_short`] does if there is one.
    /// The records must have one size, which is short, and the program must be quiet if `QUIET`.
    #[inline(always)]
    pub(super) fn serve_several_short<U, const QUIET: bool>(
        &self,
        hit: &Hit<impl Passed>,
        entry: impl Fn() -> Entry,
        here: &OnCpu,
    ) -> Next<U> {
        let fetch = ByProgram::<_, QUIET> {
            recorder: self,
            hit,
        };
        self.record_in_all(&hit.0, entry, (&self.short, here), fetch)
    }

    /// Records a hit that all instances record, where nothing about it is unusual, in the first
    /// instance at least; otherwise leaves it to another stage, and nothing has happened.
    ///
    /// The others get copies of the record while it is being made in the buffer of the first:
    /// once it is readable there, it may be overwritten. So a hit in the middle of it, also of
    /// what wakes their readers, finds that buffer in use.
    #[inline(always)]
    pub(super) fn record_in_all<U, const LEAST: usize>(
        &self,
        code: &impl Interrupted,
        entry: impl Fn() -> Entry,
        (size, here): (&Short<LEAST>, &OnCpu),
        fetch: impl Fetch,
    ) -> Next<U> {
        if !context::is_plain(entry) {
            return Next::Stage(Stage::SERVE);
        }
        self.record_plain_in_all(code, (size, here), fetch)
    }

    /// As [`Self::record_in_all`], where the context is known to be [plain](context::is_plain).
    #[inline(always)]
    pub(super) fn record_plain_in_all<U, const LEAST: usize>(
        &self,
        code: &impl Interrupted,
        (size, here): (&Short<LEAST>, &OnCpu),
        fetch: impl Fetch,
    ) -> Next<U> {
        let Rest::Several(several) = &self.plan.get(here).rest else {
            return Next::Stage(Stage::SERVE);
        };
        let Some((Share { buffer, .. }, others)) = several.recording.split_first() else {
            return Next::Stage(Stage::SERVE);
        };
        let task = &Running(context::current());
        let fill = InAll {
            recorder: self,
            code,
            task,
            fetch,
            others,
            size,
            here,
        };
        if !settled(buffer.record_fast(size, task, (Pace::Fast, here), fill)) {
            return Next::Stage(Stage::SERVE);
        }
        self.counters.count(End::Recorded, here);
        if buffer.is_awaited() {
            Next::Finish
        } else {
            Next::Done
        }
    }

    /// Serves a hit that all instances record, of a program with one string, where nothing about
    /// it is unusual and the string is short; returns false otherwise.
    #[inline(never)]
    pub(super) fn serve_several_text(
        &self,
        hit: &Hit<impl Passed>,
        entry: Entry,
        here: &OnCpu,
    ) -> bool {
        self.tier.get() == Tier::SEVERAL_TEXT && self.serve_short_text::<true>(hit, entry, here)
    }

    /// Serves a hit in each of the instances as the plan there says. Returns how it ends where
    /// it ends best.
    #[inline(never)]
    pub(super) fn serve_several<A: Passed>(
        &self,
        several: &Several,
        hit: &Hit<A>,
        entry: Entry,
        here: &OnCpu,
    ) -> End {
        let shares = several.shares();
        if shares.is_empty() {
            return End::Off;
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
                    let size = made.size.as_ref().filter(|_| is_plain);
                    end = end.min(record(&share.buffer, size, made.bytes, here));
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
                return work(Made {
                    bytes: room.get(..in_words(length)).unwrap_or(&room),
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
                let end = in_words(length);
                // The last word is zero where the record does not reach.
                out.get_mut(length..end)?.fill(0);
                Some(work(Made {
                    bytes: out.get(..end)?,
                    size: Short::of(length),
                }))
            })
        });
        lent.flatten().unwrap_or(End::LostFull)
    }
}

/// Returns `length` rounded up to words.
#[inline(always)]
fn in_words(length: usize) -> usize {
    length.saturating_add(3) & !3
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

/// Records `bytes` in `buffer`, in few instructions if `size` tells theirs and the ring has room
/// where the task is named. Returns how that ends.
#[inline(always)]
fn record<const LEAST: usize>(
    buffer: &Buffer,
    size: Option<&Short<LEAST>>,
    bytes: &[u8],
    here: &OnCpu,
) -> End {
    match size {
        Some(size) if record_fast(buffer, size, bytes, here) => End::Recorded,
        _ => record_slow(buffer, bytes, here),
    }
}

#[inline(always)]
fn record_fast<const LEAST: usize>(
    buffer: &Buffer,
    size: &Short<LEAST>,
    bytes: &[u8],
    here: &OnCpu,
) -> bool {
    let task = &Running(context::current());
    settled(buffer.record_fast(size, task, (Pace::Fast, here), Copied(bytes)))
}

/// Settles what a record leaves unsettled; returns whether it was recorded.
#[inline(always)]
fn settled(recorded: Result<Option<Unsettled<'_>>, Option<Unsettled<'_>>>) -> bool {
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
