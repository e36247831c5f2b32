// SPDX-License-Identifier: GPL-2.0

//! What happens when a probe is hit.
//!
//! Everything here runs in any context, NMI included, on any CPU, with
//! preemption disabled, and possibly nested in itself. It takes no lock,
//! allocates nothing, cannot sleep, fault or panic, and loops only over what a
//! definition bounds. Each hit ends in exactly one counter of [`Counters`].

use crate::{
    buffer::{Buffer, Lost, Pace},
    counters::{Counters, End, Totals},
    engine::{
        exec::{self, Env},
        fetch::{Form, Size},
        filter::{self, Filter},
        format::flag,
        record::{self, Header, COMM_LEN, PROBE_WORDS},
        ring::{Note, Short, Task},
    },
    event::Format,
    kapi::{
        context::{self, Entry, OnCpu},
        kprobe::{self, First, Left},
        kretprobe, nofault,
        rcu::RcuCell,
        regs::Regs,
        symbol,
    },
};
use core::sync::atomic::{AtomicU8, Ordering};
use kernel::{prelude::*, sync::Arc};

/// Serves the hits of one probe.
pub(crate) struct Recorder {
    way: Way,
    /// What is fetched by [`Way::REGISTER`].
    register: u8,
    /// The size of its records, for all ways but [`Way::SLOW`].
    short: Short<PROBE_WORDS>,
    /// [`Header::first_half`] of a record, without flags.
    plain: u32,
    /// The place that records name: the function's entry where the kernel
    /// probes behind a landing pad. In [`record::words`].
    place: [u32; 2],
    counters: Counters,
    buffer: Arc<Buffer>,
    format: Arc<Format>,
    filter: RcuCell<Option<Filter>>,
}

/// In which way hits are served.
struct Way(AtomicU8);

impl Way {
    /// There is no filter, and nothing is fetched.
    const BARE: u8 = 0;
    /// There is no filter, and one register is fetched.
    const REGISTER: u8 = 1;
    /// There is no filter, and records have one size, which is short.
    const SHORT: u8 = 2;
    /// There is a filter.
    const FILTERED: u8 = 3;
    /// Records have different sizes, or are long.
    const SLOW: u8 = 4;
}

/// Words of a probe's record with nothing fetched, and with one register and the bits
/// that tell of faults.
const BARE: usize = PROBE_WORDS;
const WITH_REGISTER: usize = (record::PROBE_SIZE + 8 + 1).div_ceil(4);
/// The same of a return probe.
const RETURN_BARE: usize = BARE + 2;
const RETURN_WITH_REGISTER: usize = WITH_REGISTER + 2;

impl Recorder {
    /// The server of a probe at `place`, with all counters 0.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        format: Arc<Format>,
        buffer: Arc<Buffer>,
        filter: Arc<Option<Filter>>,
        place: u64,
    ) -> Result<Self> {
        let counters = Counters::new()?;
        let plain = Header {
            event: format.id,
            flags: 0,
            preempt_count: 0,
            pid: 0,
        };
        let this = Self {
            way: Way(AtomicU8::new(Way::SLOW)),
            register: match format.program.form() {
                Form::Register(register) => register,
                Form::Bare | Form::Any => 0,
            },
            short: Self::short(&format).unwrap_or(Short::SMALLEST),
            plain: plain.first_half(),
            place: record::words(place),
            counters,
            buffer,
            format,
            filter: RcuCell::new(filter),
        };
        this.choose_way();
        Ok(this)
    }

    /// The size of its records, where all have the same and are short.
    fn short(format: &Format) -> Option<Short<PROBE_WORDS>> {
        match format.program.size() {
            Size::Fixed(length) => Short::of(length),
            Size::UpTo(_) => None,
        }
    }

    /// Whether its records have just so many words.
    fn has_size<const WORDS: usize>(format: &Format) -> bool {
        Self::short(format).is_some_and(Short::is_smallest_of::<WORDS>)
    }

    fn choose_way(&self) {
        let format = &self.format;
        let (bare, register) = if format.program.layout().is_return {
            (
                Self::has_size::<RETURN_BARE>(format),
                Self::has_size::<RETURN_WITH_REGISTER>(format),
            )
        } else {
            (
                Self::has_size::<BARE>(format),
                Self::has_size::<WITH_REGISTER>(format),
            )
        };
        let way = if self.filter.load().is_some() {
            Way::FILTERED
        } else {
            match format.program.form() {
                Form::Bare if bare => Way::BARE,
                Form::Register(_) if register => Way::REGISTER,
                _ if Self::short(format).is_some() => Way::SHORT,
                _ => Way::SLOW,
            }
        };
        self.way.0.store(way, Ordering::Relaxed);
    }

    /// Puts `filter`, or none, in force for all hits from now on.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_filter(&self, filter: Arc<Option<Filter>>) {
        // The filtered way is right with and without a filter.
        self.way.0.store(Way::FILTERED, Ordering::Relaxed);
        drop(self.filter.replace(filter));
        self.choose_way();
    }

    /// How the hits ended so far.
    pub(crate) fn totals(&self) -> Totals {
        self.counters.totals()
    }

    /// How many hits the CPU with the most of them has had since the last call.
    /// Two must not call at the same time.
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
    fn serve_quickly<const REGISTER: bool, const WORDS: usize>(
        &self,
        regs: &Regs,
        return_address: impl Fn() -> Option<u64>,
        entry: impl Fn() -> Entry,
        here: &OnCpu,
    ) -> Left {
        let way = self.way.0.load(Ordering::Relaxed);
        if way != (if REGISTER { Way::REGISTER } else { Way::BARE }) {
            cold();
            return if way == Way::FILTERED {
                Left::Verdict
            } else {
                Left::All
            };
        }
        let size = &Short::<WORDS>::SMALLEST;
        self.record(regs, entry, (size, Pace::Quickest, here), |out| {
            let value = regs.word(usize::from(self.register));
            match (return_address(), REGISTER) {
                (None, false) => true,
                (None, true) => record::put_first(out, value),
                (Some(to), false) => record::put_return_address(out, to),
                (Some(to), true) => record::put_return_address_and_first(out, to, value),
            };
        })
    }

    /// What is to be called first on a hit.
    fn first(&self) -> First {
        match self.way.0.load(Ordering::Relaxed) {
            Way::BARE => First::Bare,
            Way::REGISTER => First::Register,
            Way::FILTERED => First::Verdict,
            _ => First::All,
        }
    }

    /// Whether a filter that compares a register says no.
    #[inline(always)]
    fn rejects_quickly(&self, hit: &Hit<'_>, here: &OnCpu) -> bool {
        let rejected = self.rejects(hit, here) == Some(true);
        if rejected {
            self.counters.count(End::Filtered, here);
        }
        rejected
    }

    /// Serves a hit, where nothing about it is unusual but a filter that compares a
    /// register, and arguments of any kind.
    #[inline(always)]
    fn serve_short(&self, hit: Hit<'_>, entry: impl Fn() -> Entry, here: &OnCpu) -> Left {
        if self.way.0.load(Ordering::Relaxed) != Way::SHORT {
            match self.rejects(&hit, here) {
                Some(false) => {}
                Some(true) => {
                    self.counters.count(End::Filtered, here);
                    return Left::Nothing;
                }
                None => return Left::All,
            }
            if Self::short(&self.format).is_none() {
                return Left::All;
            }
        }
        let size = &self.short;
        self.record(hit.regs, entry, (size, Pace::Quick, here), |out| {
            if let Some(to) = hit.return_address {
                record::put_return_address(out, to);
            }
            let program = &self.format.program;
            exec::run_compact(program, &hit, out);
            if !program.is_compact() {
                self.run_general(hit.regs, hit.return_address, hit.entry, out);
            }
        })
    }

    /// Records a hit whose record has that size, with what `fetch` writes behind header
    /// and place.
    #[inline(always)]
    fn record<const LEAST: usize>(
        &self,
        regs: &Regs,
        entry: impl Fn() -> Entry,
        (size, pace, here): (&Short<LEAST>, Pace, &OnCpu),
        fetch: impl Fn(&mut [u8]),
    ) -> Left {
        if !context::is_plain(entry) {
            return Left::All;
        }
        let task = &Running(context::current());
        let Some(mut reserved) = self.buffer.reserve_quickly(size, task, pace, here) else {
            return Left::All;
        };
        let flags = if regs.irqs_disabled() {
            u32::from(flag::IRQS_OFF) << 16
        } else {
            0
        };
        let start = self.plain | flags;
        let pid = || context::current().pid();
        // All sizes are at least that.
        if let Some(out) = reserved.start().first_chunk_mut() {
            record::start_quickly(out, start, pid, &self.place);
        }
        fetch(reserved.bytes());
        let published = reserved.publish();
        self.counters.count(End::Recorded, here);
        if published && !self.buffer.is_awaited() {
            Left::Nothing
        } else {
            Left::Rest
        }
    }

    fn place(&self) -> u64 {
        let [low, high] = self.place;
        u64::from(low) | u64::from(high) << 32
    }

    /// Whether the filter rejects a hit; `None` where that is not simple to say.
    #[inline(always)]
    fn rejects(&self, hit: &Hit<'_>, here: &OnCpu) -> Option<bool> {
        let Some(filter) = self.filter.get(here) else {
            return Some(false);
        };
        let accepted = filter.decide_quickly(&self.format.program, hit)?;
        Some(!accepted)
    }

    #[inline(never)]
    fn run_general(&self, regs: &Regs, return_address: Option<u64>, entry: &[u64], out: &mut [u8]) {
        let hit = Hit::new(regs, return_address, entry);
        exec::run_general(&self.format.program, &hit, out);
    }

    /// Serves any hit.
    #[inline(never)]
    fn serve(
        &self,
        regs: &Regs,
        return_address: Option<u64>,
        data: &[u64],
        (entry, here): (Entry, &OnCpu),
    ) {
        let hit = &Hit::new(regs, return_address, data);
        let program = &self.format.program;
        let header = self.header(hit, entry);
        if let Some(filter) = self.filter.get(here) {
            let known = filter::Hit {
                header,
                cpu: here.number(),
                place: self.place(),
            };
            if !filter.matches(program, hit, &known) {
                self.counters.count(End::Filtered, here);
                return;
            }
        }
        let start = |out: &mut [u8]| {
            record::start_probe(out, header, self.place());
            if let Some(return_address) = return_address {
                record::put_return_address(out, return_address);
            }
        };
        let note = Note::of(&Running(context::current()));
        let outcome = match program.size() {
            Size::Fixed(length) => self.buffer.reserve(length, note, here).map(|mut reserved| {
                let out = reserved.bytes();
                start(out);
                exec::run(program, hit, out);
                reserved.commit();
            }),
            Size::UpTo(_) => self
                .buffer
                .scratch(here, |out| {
                    start(out);
                    let length = exec::run(program, hit, out);
                    let record = out.get(..length).unwrap_or_default();
                    let mut reserved = self.buffer.reserve(length, note, here)?;
                    if let Some(to) = reserved.bytes().get_mut(..length) {
                        to.copy_from_slice(record);
                    }
                    reserved.commit();
                    Ok(())
                })
                .unwrap_or(Err(Lost::Nested)),
        };
        let end = match outcome {
            Ok(()) => End::Recorded,
            Err(Lost::Disabled) => End::Off,
            Err(Lost::Full | Lost::Nested) => End::LostFull,
            Err(Lost::TooLarge) => End::LostLarge,
        };
        self.counters.count(end, here);
        self.buffer.wake();
    }

    #[inline(always)]
    fn header(&self, hit: &Hit<'_>, entry: Entry) -> Header {
        let level = context::level(entry);
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let mut flags = bit(hit.regs.irqs_disabled(), flag::IRQS_OFF);
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
            event: self.format.id,
            flags,
            preempt_count,
            pid: context::current().pid(),
        }
    }
}

/// Makes the compiler take the branch that calls this for the less likely one.
#[cold]
fn cold() {}

impl kprobe::Handler for Recorder {
    fn first(&self) -> First {
        self.first()
    }

    #[inline(always)]
    fn hit<const REGISTER: bool>(&self, regs: &Regs, way: kprobe::Way<'_>, here: &OnCpu) -> Left {
        let (to, entry) = (|| None, || way.entry());
        if REGISTER {
            self.serve_quickly::<true, WITH_REGISTER>(regs, to, entry, here)
        } else {
            self.serve_quickly::<false, BARE>(regs, to, entry, here)
        }
    }

    #[inline(always)]
    fn is_refused(&self, regs: &Regs, here: &OnCpu) -> bool {
        self.rejects_quickly(&Hit::new(regs, None, &[]), here)
    }

    #[inline(always)]
    fn hit_slowly(&self, regs: &Regs, way: kprobe::Way<'_>, here: &OnCpu) {
        match self.serve_short(Hit::new(regs, None, &[]), || way.entry(), here) {
            Left::Nothing => {}
            Left::Rest => self.buffer.finish(here),
            Left::Verdict | Left::All => self.serve(regs, None, &[], (way.entry(), here)),
        }
    }

    fn finish(&self, here: &OnCpu) {
        self.buffer.finish(here);
    }
}

impl kretprobe::Handler for Recorder {
    fn first(&self) -> First {
        self.first()
    }

    fn entry(&self, regs: &Regs, data: &mut [u64], _here: &OnCpu) {
        exec::capture(&self.format.program, &Hit::new(regs, None, &[]), data);
    }

    #[inline(always)]
    fn returned<const REGISTER: bool>(
        &self,
        regs: &Regs,
        call: kretprobe::Call<'_>,
        here: &OnCpu,
    ) -> Left {
        let (to, entry) = (|| Some(call.return_address()), || Entry::Return);
        if REGISTER {
            self.serve_quickly::<true, RETURN_WITH_REGISTER>(regs, to, entry, here)
        } else {
            self.serve_quickly::<false, RETURN_BARE>(regs, to, entry, here)
        }
    }

    #[inline(always)]
    fn is_refused(&self, regs: &Regs, here: &OnCpu) -> bool {
        self.rejects_quickly(&Hit::new(regs, None, &[]), here)
    }

    #[inline(always)]
    fn returned_slowly(&self, regs: &Regs, call: kretprobe::Call<'_>, here: &OnCpu) {
        let (to, data) = (Some(call.return_address()), call.data());
        match self.serve_short(Hit::new(regs, to, data), || Entry::Return, here) {
            Left::Nothing => {}
            Left::Rest => self.buffer.finish(here),
            Left::Verdict | Left::All => self.serve(regs, to, data, (Entry::Return, here)),
        }
    }

    fn finish(&self, here: &OnCpu) {
        self.buffer.finish(here);
    }
}

/// The task that runs.
struct Running(context::Current);

impl Task for Running {
    #[inline(always)]
    fn id(&self) -> i32 {
        self.0.pid()
    }

    #[inline(always)]
    fn half(&self, n: usize) -> u64 {
        self.0.half_comm(n)
    }
}

/// The context of a hit, as fetch programs see it.
struct Hit<'a> {
    regs: &'a Regs,
    /// Of a return probe.
    return_address: Option<u64>,
    entry: &'a [u64],
}

impl<'a> Hit<'a> {
    #[inline(always)]
    fn new(regs: &'a Regs, return_address: Option<u64>, entry: &'a [u64]) -> Self {
        Self {
            regs,
            return_address,
            entry,
        }
    }
}

impl Env for Hit<'_> {
    #[inline(always)]
    fn reg(&self, index: u8) -> u64 {
        self.regs.word(usize::from(index))
    }

    #[inline]
    fn stack(&self, n: u16) -> u64 {
        self.regs.stack_word(u64::from(n))
    }

    #[inline(always)]
    fn return_address(&self) -> u64 {
        self.return_address.unwrap_or(0)
    }

    #[inline(always)]
    fn entry_data(&self, n: u16) -> u64 {
        self.entry.get(usize::from(n)).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn comm(&self) -> [u8; COMM_LEN] {
        context::current().comm()
    }

    #[inline(always)]
    fn current(&self) -> u64 {
        context::current().address()
    }

    #[inline]
    fn this_cpu(&self, address: u64) -> u64 {
        context::this_cpu_address(address)
    }

    #[inline]
    fn read(&self, address: u64, out: &mut [u8]) -> bool {
        nofault::read(address, out)
    }

    #[inline(always)]
    fn read_word<const N: usize>(&self, address: u64, out: &mut [u8; N]) -> bool {
        nofault::read_word(address, out)
    }

    #[inline]
    fn read_user(&self, address: u64, out: &mut [u8]) -> bool {
        nofault::read_user(address, out)
    }

    #[inline]
    fn read_string(&self, address: u64, user: bool, out: &mut [u8]) -> Option<usize> {
        nofault::read_string(address, user, out)
    }

    #[inline]
    fn read_symbol(&self, address: u64, out: &mut [u8]) -> Option<usize> {
        symbol::write_name(address, out)
    }
}
