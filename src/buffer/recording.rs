// SPDX-License-Identifier: GPL-2.0

//! The buffer: recording, the switches, and wake-ups of readers.

use super::{
    local_clock::{LocalClock, Making},
    mapping::Mappings,
    rings::{self, RingSet, Successor},
};
use crate::{
    commands::Commands,
    engine::{
        program::marker,
        ring::{self, EventSize, Note, Task},
    },
    kapi::{
        clock::Clock,
        cold::Seldom,
        context::{self, OnCpu},
        percpu::{self, PerCpu},
        rcu::RcuCell,
        scratch::{self, Borrower, Scratch},
        tree::OpenFile,
        wake::{PollTable, Waker},
    },
    sys::Pages,
};
use core::sync::atomic::{fence, AtomicBool, AtomicU32, AtomicUsize, Ordering};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

pub(crate) use crate::engine::ring::Lost;

/// The duty to publish events of interrupts.
pub(crate) type Unpublished<'a> = ring::Unpublished<'a, Pages>;

impl Seldom for ring::Ring<Pages> {
    /// The count of the `Arc` is in front, so the ring begins in the next cache line.
    const OFFSET: usize = 64;

    fn run(&self, _here: &OnCpu) {
        self.publish_rest();
    }
}

impl Seldom for Buffer {
    /// In an `Arc`, behind the count.
    const OFFSET: usize = 8;

    #[cold]
    #[inline(never)]
    fn run(&self, _here: &OnCpu) {
        self.wake();
    }
}

/// The buffer or the snapshot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The buffer in which hits are recorded.
    Live,
    Snapshot,
}

/// Default size of a sub-buffer, in bytes.
pub(super) const SUB_BUFFER: usize = 4096;

#[pin_data]
pub(crate) struct Buffer {
    pub(super) local_clock: Arc<LocalClock>,
    pub(super) rings: RcuCell<RingSet>,
    /// The successor of the rings, while closed ones are being replaced.
    pub(super) successor: RcuCell<Successor>,
    #[pin]
    pub(super) scratch: Scratch<[u8; scratch::SIZE], { scratch::CONTEXTS }>,
    on: AtomicBool,
    /// Counts changes of the switches.
    switches: AtomicU32,
    /// Calls of [`Buffer::pause`] without [`Buffer::resume`].
    pauses: AtomicU32,
    /// Whether a hit has requested a snapshot.
    pub(super) snapshot_requested: AtomicBool,
    /// Whether a full ring overwrites its oldest events.
    pub(super) overwrite: AtomicBool,
    /// Set for CPUs that do not record.
    masked: PerCpu<AtomicBool>,
    /// CPUs with small rings, because they were not present when the rings were made.
    pub(super) absent: PerCpu<AtomicBool>,
    /// KiB of the rings that absent CPUs will get.
    pub(super) kilobytes: AtomicUsize,
    /// How full a ring must be to wake the readers of its pages, in percent.
    percent: AtomicU32,
    #[pin]
    pub(super) waker: Waker,
    /// The number of calls of [`Buffer::release`].
    releases: AtomicU32,
    /// Held while records are consumed or cleared, or rings are replaced.
    #[pin]
    pub(super) readers: Mutex<State>,
    /// The mapped rings.
    #[pin]
    pub(super) mappings: Mutex<Mappings>,
    /// Whether any ring is mapped; changed with the lock of the mappings held.
    pub(super) mapped: AtomicBool,
}

/// The state protected by the readers' lock.
pub(super) struct State {
    /// Names of tasks whose records were read in binary.
    pub(super) commands: Commands,
    /// A copy of the reference to the rings, so that readers need not take one.
    pub(super) live: Arc<RingSet>,
    /// The snapshot, if one was taken.
    pub(super) snapshot: Option<Arc<RingSet>>,
    /// Whether the last snapshot requested by a hit could not be taken.
    pub(super) was_snapshot_refused: bool,
}

impl Buffer {
    /// Makes a buffer with `kilobytes` for each CPU, and times by `clock`. Before `making` is
    /// dropped, the buffer must be registered for alignment.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    #[inline(never)]
    pub(crate) fn new(
        kilobytes: usize,
        clock: Clock,
        (local_clock, making): (&Arc<LocalClock>, &Making<'_>),
    ) -> Result<Arc<Self>> {
        let absent = PerCpu::new(|cpu| Ok(AtomicBool::new(!percpu::is_present(cpu))))?;
        let live = RingSet::new(clock, SUB_BUFFER, |cpu| {
            let is_absent = |absent: &AtomicBool| absent.load(Ordering::Relaxed);
            let kilobytes = match absent.get(cpu).is_some_and(is_absent) {
                true => rings::OF_ABSENT,
                false => kilobytes,
            };
            let ring = rings::make(cpu, (kilobytes, SUB_BUFFER), clock, making)?;
            ring.set_enabled(true);
            Ok(ring)
        })?;
        let masked = PerCpu::new(|_| Ok(AtomicBool::new(false)))?;
        let scratch = Scratch::new()?;
        let none = Arc::new(Successor(None), GFP_KERNEL)?;
        Arc::pin_init(
            pin_init!(Self {
                local_clock: local_clock.clone(),
                rings: RcuCell::new(live.clone()),
                successor: RcuCell::new(none),
                scratch <- scratch,
                on: AtomicBool::new(true),
                switches: AtomicU32::new(0),
                snapshot_requested: AtomicBool::new(false),
                pauses: AtomicU32::new(0),
                overwrite: AtomicBool::new(true),
                masked,
                absent,
                kilobytes: AtomicUsize::new(kilobytes),
                percent: AtomicU32::new(50),
                waker <- Waker::new(),
                releases: AtomicU32::new(0),
                readers <- new_mutex!(State {
                    commands: Commands::new(),
                    live,
                    snapshot: None,
                    was_snapshot_refused: false,
                }),
                mappings <- new_mutex!(Mappings::new()),
                mapped: AtomicBool::new(false),
            }),
            GFP_KERNEL,
        )
    }

    /// Records `length` bytes, which `fill` writes, for the task that `note` describes.
    ///
    /// # Errors
    ///
    /// Why there is no room; `fill` is not called.
    ///
    /// Context: any.
    #[inline(always)]
    pub(crate) fn record(
        &self,
        length: usize,
        note: Note,
        here: &OnCpu,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Lost> {
        let (ring, clock) = self.rings.get(here).local(here);
        let successor = || Some(self.successor.get(here).0.as_ref()?.local(here));
        ring.record(length, note, clock, successor, fill)
    }

    /// Returns the time by the clock of the buffer, in microseconds if `in_usecs` and the clock
    /// counts nanoseconds.
    ///
    /// Context: any.
    pub(crate) fn now(&self, in_usecs: bool, here: &OnCpu) -> u64 {
        let rings = self.rings.get(here);
        let (_, clock) = rings.local(here);
        let now = ring::RingClock::now(&clock);
        if in_usecs && rings.clock.is_nanoseconds() {
            now / 1000
        } else {
            now
        }
    }

    /// [`Buffer::now`] in few instructions; `None` if it takes more.
    ///
    /// Context: any.
    #[inline(always)]
    pub(crate) fn now_fast(&self, in_usecs: bool, here: &OnCpu) -> Option<u64> {
        let rings = self.rings.get(here);
        let (_, clock) = rings.local(here);
        let now = ring::FastClock::now(&clock)?;
        // Only nanosecond clocks are that fast.
        Some(if in_usecs { now / 1000 } else { now })
    }

    /// [`Buffer::record`] in few instructions, for the common case. Returns the duty to publish
    /// events of interrupts, if there are any.
    ///
    /// # Errors
    ///
    /// The caller must use [`Buffer::record`]; `fill` is not called. Returns the same duty.
    ///
    /// Context: any.
    #[inline(always)]
    pub(crate) fn record_fast<'a, const LEAST: usize>(
        &'a self,
        size: &impl EventSize<LEAST>,
        task: &impl Task,
        (pace, here): (rings::Pace, &'a OnCpu),
        fill: impl ring::Fill<LEAST>,
    ) -> ring::RecordedFast<'a, Pages> {
        let (ring, clock) = self.rings.get(here).local(here);
        // A single call for both paces, so that the compiler inlines `fill`.
        ring.record_fast(size, task, rings::Paced(clock, pace), fill)
    }

    /// Returns whether a reader waits for events.
    #[inline(always)]
    pub(crate) fn is_awaited(&self) -> bool {
        self.waker.is_wanted()
    }

    /// Schedules a wake-up of the readers that wait for events.
    ///
    /// Context: any.
    #[inline(always)]
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    /// Lends `work` memory of the size of the largest record; see [`Scratch::with`].
    ///
    /// Context: any.
    #[inline(always)]
    pub(crate) fn scratch<R>(&self, here: &OnCpu, work: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        let largest = self.rings.get(here).local(here).0.max_payload();
        self.scratch.with(here, |memory| {
            let length = memory.len().min(largest);
            work(memory.get_mut(..length).unwrap_or_default())
        })
    }

    /// Lends memory of [`scratch::SIZE`] bytes, in few instructions; see [`Scratch::lend`].
    ///
    /// Context: any.
    #[inline(always)]
    pub(crate) fn lend_scratch<B: Borrower<[u8; scratch::SIZE]>>(
        &self,
        here: &OnCpu,
        borrower: B,
    ) -> Option<B::Result> {
        self.scratch.lend(here, borrower)
    }

    /// Splits `text` at the size that one record of [`Buffer::mark`] can hold.
    ///
    /// Context: process, with preemption disabled.
    pub(crate) fn split_mark<'t>(&self, text: &'t [u8], here: &OnCpu) -> (&'t [u8], &'t [u8]) {
        let (ring, _) = self.rings.get(here).local(here);
        let largest = ring.max_payload().min(scratch::SIZE);
        let room = largest.saturating_sub(marker::OVERHEAD).max(1);
        text.split_at_checked(room).unwrap_or((text, &[]))
    }

    /// Records `text`, written by the current task, in one record.
    ///
    /// # Errors
    ///
    /// As for [`Buffer::record`].
    ///
    /// Context: process, with preemption disabled.
    pub(crate) fn mark(&self, text: &[u8], here: &OnCpu) -> Result<(), Lost> {
        let task = context::current();
        let note = Note::new(task.pid(), task.comm());
        self.record(marker::length(text), note, here, |out| {
            marker::write_record(out, task.pid(), text);
        })
    }

    /// Records the bytes `data`, written by the current task, in one record.
    ///
    /// # Errors
    ///
    /// `EINVAL` for less than four bytes, and for more than a record can hold; `EBADF` if
    /// nothing is being recorded, or if there is no room.
    ///
    /// Context: process.
    pub(crate) fn mark_raw(&self, data: &[u8]) -> Result {
        context::on_this_cpu(|here| {
            let (ring, _) = self.rings.get(here).local(here);
            let length = marker::raw_length(data);
            if data.len() < marker::RAW_LEAST || length > ring.max_payload() {
                return Err(EINVAL);
            }
            let task = context::current();
            let note = Note::new(task.pid(), task.comm());
            self.record(length, note, here, |out| {
                marker::write_raw(out, task.pid(), data);
            })
            .map_err(|_| EBADF)
        })?;
        self.wake();
        Ok(())
    }

    /// Returns whether recording is on.
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Switches recording on or off.
    ///
    /// Context: process.
    pub(crate) fn set_on(&self, on: bool) {
        let _guard = self.readers.lock();
        self.on.store(on, Ordering::Relaxed);
        self.switch();
        self.waker.wake_now();
    }

    /// [`Buffer::set_on`] for hits; returns whether it changed the switch. The caller calls
    /// [`Buffer::wake`].
    ///
    /// Each ring has a copy of the switch, which a hit checks for free. If another CPU changes a
    /// switch meanwhile, all copies are written again, so the last change wins without a lock.
    ///
    /// Context: any.
    pub(crate) fn switch_in_hit(&self, on: bool, here: &OnCpu) -> bool {
        if self.on.swap(on, Ordering::Relaxed) == on {
            return false;
        }
        // This must precede loading the rings, which another task may replace meanwhile.
        self.switches.fetch_add(1, Ordering::SeqCst);
        self.enable(self.rings.get(here));
        if let Successor(Some(rings)) = self.successor.get(here) {
            self.enable(rings);
        }
        true
    }

    /// Pauses recording until [`Buffer::resume`] has been called as often.
    ///
    /// Context: process.
    pub(crate) fn pause(&self) {
        let _guard = self.readers.lock();
        self.pauses.fetch_add(1, Ordering::Relaxed);
        self.switch();
    }

    /// Undoes one [`Buffer::pause`].
    ///
    /// Context: process.
    pub(crate) fn resume(&self) {
        let _guard = self.readers.lock();
        self.pauses.fetch_sub(1, Ordering::Relaxed);
        self.switch();
    }

    /// Sets whether a full ring overwrites its oldest events or drops the newest.
    ///
    /// Context: process.
    pub(crate) fn set_overwrite(&self, overwrite: bool) {
        let _guard = self.readers.lock();
        self.overwrite.store(overwrite, Ordering::Relaxed);
        for ring in self.rings.load().iter() {
            ring.set_overwrite(overwrite);
        }
    }

    /// Enables or disables the rings after a switch has changed. Called with the readers' lock
    /// held, so that there is no successor.
    fn switch(&self) {
        self.switches.fetch_add(1, Ordering::SeqCst);
        self.enable(&self.rings.load());
    }

    /// Enables or disables `rings` according to the switches.
    ///
    /// Hits change switches at any time. A concurrent change by another CPU may have been
    /// overwritten here, so the work is repeated until there is none. The number of attempts is
    /// limited because a hit must end.
    ///
    /// Context: any.
    pub(super) fn enable(&self, rings: &RingSet) {
        const ATTEMPTS: usize = 100;
        for _ in 0..ATTEMPTS {
            let switches = self.switches.load(Ordering::SeqCst);
            let on = self.is_on() && self.pauses.load(Ordering::Relaxed) == 0;
            for ring in rings.iter() {
                ring.set_enabled(on && self.records_on(ring.cpu()));
            }
            // Pairs with the increments of the counter: of two CPUs that write the rings, the later
            // one sees the other's change.
            fence(Ordering::SeqCst);
            if self.switches.load(Ordering::SeqCst) == switches {
                break;
            }
        }
    }

    /// Returns whether hits on `cpu` are recorded while recording is on.
    pub(crate) fn records_on(&self, cpu: u32) -> bool {
        let masked = self.masked.get(cpu);
        !masked.is_some_and(|masked| masked.load(Ordering::Relaxed))
    }

    /// Sets the CPUs that record, by `mask`.
    ///
    /// Context: process.
    pub(crate) fn set_mask(&self, mask: impl Fn(u32) -> bool) {
        let _guard = self.readers.lock();
        for (cpu, masked) in self.masked.iter() {
            masked.store(!mask(cpu), Ordering::Relaxed);
        }
        self.switch();
    }

    /// Returns how full a ring must be to wake waiting readers of its pages, in percent.
    pub(crate) fn percent(&self) -> u32 {
        self.percent.load(Ordering::Relaxed)
    }

    /// Sets [`Buffer::percent`].
    ///
    /// # Errors
    ///
    /// `EINVAL` for more than 100.
    pub(crate) fn set_percent(&self, percent: u32) -> Result {
        if percent > 100 {
            return Err(EINVAL);
        }
        self.percent.store(percent, Ordering::Relaxed);
        self.waker.wake_now();
        Ok(())
    }

    /// Sleeps until `attempt` returns a value; see [`Waker::wait`].
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` on a signal; the errors of `attempt`.
    pub(crate) fn wait<R>(&self, attempt: impl FnMut() -> Result<Option<R>>) -> Result<R> {
        self.waker.wait(attempt)
    }

    /// Sleeps until `attempt` returns a value, calling it from time to time; see
    /// [`Waker::wait_for_many`].
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` on a signal; the errors of `attempt`.
    pub(crate) fn wait_for_many<R>(&self, attempt: impl FnMut() -> Result<Option<R>>) -> Result<R> {
        self.waker.wait_for_many(attempt)
    }

    /// Wakes blocked readers to check again; readers of pages return.
    pub(crate) fn release(&self) {
        self.releases.fetch_add(1, Ordering::Relaxed);
        self.waker.wake_now();
    }

    /// Returns a number that each [`Buffer::release`] changes.
    pub(crate) fn releases(&self) -> u32 {
        self.releases.load(Ordering::Relaxed)
    }

    /// Registers the wait queue of the readers with `poll`.
    pub(crate) fn register<'open>(&'open self, file: &OpenFile, table: &PollTable<'open>) {
        self.waker.register(file, table);
    }

    /// [`Buffer::register`] for a reader that waits for [`Buffer::percent`]: waking it for each
    /// event would mostly be in vain.
    pub(crate) fn register_until_full<'open>(
        &'open self,
        file: &OpenFile,
        table: &PollTable<'open>,
    ) {
        if self.percent() == 0 {
            self.waker.register(file, table);
        } else {
            self.waker.register_for_many(file, table);
        }
    }
}
