// SPDX-License-Identifier: GPL-2.0

//! What happens when a probe is hit.
//!
//! Everything here runs in any context, NMI included, on any CPU, with
//! preemption disabled, and possibly nested in itself. It takes no lock,
//! allocates nothing, cannot sleep, fault or panic, and loops only over what a
//! definition bounds. Each hit ends in exactly one counter of [`Counters`].

use crate::{
    buffer::{Buffer, Lost},
    engine::{
        exec::{self, Env},
        fetch::Size,
        filter::{self, Filter},
        format::flag,
        record::{self, Header, COMM_LEN},
        ring::{Note, Short},
    },
    event::Format,
    kapi::{
        context::{self, Entry, OnCpu},
        kprobe, kretprobe,
        local::Counter,
        nofault,
        percpu::PerCpu,
        rcu::RcuCell,
        regs::Regs,
        symbol,
    },
};
use core::sync::atomic::{AtomicU64, Ordering};
use kernel::{prelude::*, sync::Arc};

/// Serves the hits of one probe.
pub(crate) struct Recorder {
    /// The size of its records, where all have the same and are short.
    short: Option<Short>,
    format: Arc<Format>,
    buffer: Arc<Buffer>,
    counters: PerCpu<Counters>,
    filter: RcuCell<Option<Filter>>,
    /// The place that records name: the function's entry where the kernel
    /// probes behind a landing pad.
    place: u64,
}

/// How the hits on one CPU ended.
pub(crate) struct Counters {
    /// In the buffer.
    recorded: Counter,
    /// The filter rejected it.
    filtered: Counter,
    /// Recording was off.
    off: Counter,
    /// No room in the buffer, or too deeply nested.
    lost_full: Counter,
    /// Larger than a sub-buffer.
    lost_large: Counter,
    /// How many hits there were when they were last looked at.
    seen: AtomicU64,
}

/// How the hits of a probe ended, summed over all CPUs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Totals {
    /// In the buffer, whether or not overrun since.
    pub(crate) recorded: u64,
    /// The filter rejected them.
    pub(crate) filtered: u64,
    /// While recording was off.
    pub(crate) off: u64,
    /// No room in the buffer, or too deeply nested.
    pub(crate) lost_full: u64,
    /// Larger than a sub-buffer.
    pub(crate) lost_large: u64,
}

impl Totals {
    /// The sums of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            recorded: self.recorded.wrapping_add(other.recorded),
            filtered: self.filtered.wrapping_add(other.filtered),
            off: self.off.wrapping_add(other.off),
            lost_full: self.lost_full.wrapping_add(other.lost_full),
            lost_large: self.lost_large.wrapping_add(other.lost_large),
        }
    }

    /// All hits on which the handler was called.
    pub(crate) fn hits(self) -> u64 {
        self.recorded
            .wrapping_add(self.filtered)
            .wrapping_add(self.off)
            .wrapping_add(self.lost_full)
            .wrapping_add(self.lost_large)
    }
}

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
        let counters = PerCpu::new(|_| Ok(Counters::new()))?;
        let short = match format.program.size() {
            Size::Fixed(length) => Short::of(length),
            Size::UpTo(_) => None,
        };
        Ok(Self {
            short,
            format,
            buffer,
            counters,
            filter: RcuCell::new(filter),
            place,
        })
    }

    /// Puts `filter`, or none, in force for all hits from now on.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_filter(&self, filter: Arc<Option<Filter>>) {
        drop(self.filter.replace(filter));
    }

    /// How the hits ended so far.
    pub(crate) fn totals(&self) -> Totals {
        let each = self.counters.iter().map(|(_, counters)| counters.totals());
        each.fold(Totals::default(), Totals::plus)
    }

    /// How many hits the CPU with the most of them has had since the last call.
    /// Two must not call at the same time.
    pub(crate) fn most_since(&self) -> u64 {
        let mut most = 0;
        for (_, counters) in self.counters.iter() {
            let hits = counters.totals().hits();
            let before = counters.seen.swap(hits, Ordering::Relaxed);
            most = hits.wrapping_sub(before).max(most);
        }
        most
    }

    /// Serves a hit in few instructions, where nothing about it is unusual;
    /// otherwise returns false and has done nothing.
    ///
    /// Everything here is inlined and the rest is not, so that little has to be
    /// saved on the stack. What is usual: no filter, or one that compares a
    /// register; a record of one short size; code that runs with preemption
    /// enabled; a ring with room for the record on whose sub-buffer the task is
    /// already named; no other writer interrupted.
    #[inline(always)]
    fn serve_quickly(
        &self,
        hit: Hit<'_>,
        entry: impl Fn() -> Entry,
        here: &OnCpu,
        start: impl Fn(&mut [u8], Header) -> bool,
    ) -> bool {
        if let Some(filter) = self.filter.get(here) {
            match filter.decide_quickly(&self.format.program, &hit) {
                Some(true) => {}
                Some(false) => {
                    self.counters.this_cpu().filtered.increment();
                    return true;
                }
                None => return false,
            }
        }
        let Some(short) = self.short else {
            return false;
        };
        if !context::is_plain(entry) {
            return false;
        }
        let note = || Note::new(hit.task.pid(), hit.task.comm());
        let Some(mut reserved) = self.buffer.reserve_quickly(short, note, here) else {
            return false;
        };
        // Not before: what is loaded before a reservation is kept on the stack.
        let format = &*self.format;
        let irqs_off = hit.regs.irqs_disabled();
        let header = Header {
            event: format.id,
            flags: if irqs_off { flag::IRQS_OFF } else { 0 },
            preempt_count: 0,
            pid: hit.task.pid(),
        };
        let out = reserved.bytes();
        start(out, header);
        exec::run_compact(&format.program, &hit, out);
        if !format.program.is_compact() {
            self.run_general(hit.regs, hit.return_address, hit.entry, out);
        }
        drop(reserved);
        self.counters.this_cpu().recorded.increment();
        self.buffer.wake();
        true
    }

    #[inline(never)]
    fn run_general(&self, regs: &Regs, return_address: u64, entry: &[u64], out: &mut [u8]) {
        let hit = Hit::new(regs, return_address, entry);
        exec::run_general(&self.format.program, &hit, out);
    }

    /// Serves any hit.
    #[inline(never)]
    fn serve(
        &self,
        regs: &Regs,
        return_address: u64,
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
                place: self.place,
            };
            if !filter.matches(program, hit, &known) {
                self.counters.this_cpu().filtered.increment();
                return;
            }
        }
        let start = |out: &mut [u8]| {
            if program.layout().is_return {
                record::start_return(out, header, self.place, return_address)
            } else {
                record::start_probe(out, header, self.place)
            }
        };
        let note = Note::new(header.pid, hit.task.comm());
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
        let counters = self.counters.this_cpu();
        let counter = match outcome {
            Ok(()) => &counters.recorded,
            Err(Lost::Disabled) => &counters.off,
            Err(Lost::Full | Lost::Nested) => &counters.lost_full,
            Err(Lost::TooLarge) => &counters.lost_large,
        };
        counter.increment();
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
            pid: hit.task.pid(),
        }
    }
}

impl kprobe::Handler for Recorder {
    #[inline(always)]
    fn hit(&self, regs: &Regs, way: kprobe::Way<'_>, here: &OnCpu) {
        let hit = Hit::new(regs, 0, &[]);
        let start = |out: &mut [u8], header| record::start_probe(out, header, self.place);
        if !self.serve_quickly(hit, || way.entry(), here, start) {
            self.serve(regs, 0, &[], (way.entry(), here));
        }
    }
}

impl kretprobe::Handler for Recorder {
    fn entry(&self, regs: &Regs, data: &mut [u64], _here: &OnCpu) {
        exec::capture(&self.format.program, &Hit::new(regs, 0, &[]), data);
    }

    #[inline(always)]
    fn returned(&self, regs: &Regs, return_address: u64, data: &[u64], here: &OnCpu) {
        let hit = Hit::new(regs, return_address, data);
        let start =
            |out: &mut [u8], header| record::start_return(out, header, self.place, return_address);
        if !self.serve_quickly(hit, || Entry::Return, here, start) {
            self.serve(regs, return_address, data, (Entry::Return, here));
        }
    }
}

impl Counters {
    fn new() -> Self {
        Self {
            recorded: Counter::new(),
            filtered: Counter::new(),
            off: Counter::new(),
            lost_full: Counter::new(),
            lost_large: Counter::new(),
            seen: AtomicU64::new(0),
        }
    }

    fn totals(&self) -> Totals {
        Totals {
            recorded: self.recorded.get(),
            filtered: self.filtered.get(),
            off: self.off.get(),
            lost_full: self.lost_full.get(),
            lost_large: self.lost_large.get(),
        }
    }
}

/// The context of a hit, as fetch programs see it.
struct Hit<'a> {
    regs: &'a Regs,
    task: context::Current,
    return_address: u64,
    entry: &'a [u64],
}

impl<'a> Hit<'a> {
    #[inline(always)]
    fn new(regs: &'a Regs, return_address: u64, entry: &'a [u64]) -> Self {
        Self {
            regs,
            task: context::current(),
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
        self.return_address
    }

    #[inline(always)]
    fn entry_data(&self, n: u16) -> u64 {
        self.entry.get(usize::from(n)).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn comm(&self) -> [u8; COMM_LEN] {
        self.task.comm()
    }

    #[inline(always)]
    fn current(&self) -> u64 {
        self.task.address()
    }

    #[inline]
    fn this_cpu(&self, address: u64) -> u64 {
        context::this_cpu_address(address)
    }

    #[inline]
    fn read(&self, address: u64, out: &mut [u8]) -> bool {
        nofault::read(address, out)
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
