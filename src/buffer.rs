// SPDX-License-Identifier: GPL-2.0

//! The buffer: a ring for each CPU, its readers, and their waking.

mod mapping;
mod reading;
mod resizing;
mod rings;
mod snapshot;

use crate::{
    commands::Commands,
    engine::{
        marker,
        ring::{Always, Note, Quick, Reservation, Short, Task},
    },
    kapi::{
        clock::Clock,
        context::{self, OnCpu},
        debugfs::OpenFile,
        percpu::PerCpu,
        rcu::RcuCell,
        scratch::{self, Scratch},
        wake::{PollTable, Waker},
    },
    sys::Pages,
};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};
use mapping::Mappings;
use reading::Reading;
use rings::Timed;

pub(crate) use crate::engine::ring::Lost;
pub(crate) use reading::Snapshots;
pub(crate) use snapshot::Side;

/// Bytes of a sub-buffer until another size is chosen.
const SUB_BUFFER: usize = 4096;

/// What may be called for a quick reservation.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// Nothing.
    Quickest,
    /// A clock that takes more than some instructions.
    Quick,
}

/// The buffer.
#[pin_data]
pub(crate) struct Buffer {
    rings: RcuCell<Timed>,
    scratch: Scratch,
    on: AtomicBool,
    /// How many want nothing to be recorded meanwhile.
    pauses: AtomicU32,
    /// A full ring loses its oldest events.
    overwrite: AtomicBool,
    /// CPUs that do not record.
    masked: PerCpu<AtomicBool>,
    /// How full a ring wakes the readers of its pages, in percent.
    percent: AtomicU32,
    #[pin]
    waker: Waker,
    /// How often blocked readers were told to give up.
    releases: AtomicU32,
    /// Held by who consumes, clears or replaces.
    #[pin]
    readers: Mutex<State>,
    /// Rings that tasks have mapped.
    #[pin]
    mappings: Mutex<Mappings>,
}

/// What belongs to who reads.
struct State {
    /// Names of tasks whose records left in binary.
    commands: Commands,
    /// The rings that were set aside, if any were.
    snapshot: Option<Arc<Timed>>,
}

impl Buffer {
    /// A buffer with `kilobytes` for each CPU, that records the times of `clock`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(kilobytes: usize, clock: Clock) -> Result<Arc<Self>> {
        let rings = Timed::new(clock, SUB_BUFFER, |cpu| {
            rings::make(cpu, kilobytes, SUB_BUFFER, clock)
        })?;
        let masked = PerCpu::new(|_| Ok(AtomicBool::new(false)))?;
        let scratch = Scratch::new()?;
        Arc::pin_init(
            pin_init!(Self {
                rings: RcuCell::new(rings),
                scratch,
                on: AtomicBool::new(true),
                pauses: AtomicU32::new(0),
                overwrite: AtomicBool::new(true),
                masked,
                percent: AtomicU32::new(50),
                waker <- Waker::new(),
                releases: AtomicU32::new(0),
                readers <- new_mutex!(State {
                    commands: Commands::new(),
                    snapshot: None,
                }),
                mappings <- new_mutex!(Mappings::new()),
            }),
            GFP_KERNEL,
        )
    }

    /// Reserves room for a record of `length` bytes of the task described by
    /// `note`.
    ///
    /// # Errors
    ///
    /// Why there is none.
    ///
    /// Contexts: any.
    #[inline(always)]
    pub(crate) fn reserve<'a>(
        &'a self,
        length: usize,
        note: Note,
        here: &'a OnCpu,
    ) -> Result<Reservation<'a, Pages>, Lost> {
        let (writer, clock) = self.rings.get(here).writer(here);
        writer.reserve(length, note, clock)
    }

    /// The same where nothing unusual is to be done, in few instructions; `None`
    /// leaves everything to [`Buffer::reserve`], which has to be called.
    ///
    /// Contexts: any.
    #[inline(always)]
    pub(crate) fn reserve_quickly<'a, const LEAST: usize>(
        &'a self,
        short: &Short<LEAST>,
        task: &impl Task,
        pace: Pace,
        here: &'a OnCpu,
    ) -> Option<Quick<'a, Pages, LEAST>> {
        let (writer, clock) = self.rings.get(here).writer(here);
        match pace {
            Pace::Quickest => writer.reserve_quickly(short, task, clock),
            Pace::Quick => writer.reserve_quickly(short, task, Always(clock)),
        }
    }

    /// Whether somebody waits for events.
    #[inline(always)]
    pub(crate) fn is_awaited(&self) -> bool {
        self.waker.is_wanted()
    }

    /// What is left to do after an event that was reserved quickly: publishes what
    /// came meanwhile, and wakes readers.
    ///
    /// Contexts: any.
    pub(crate) fn finish(&self, here: &OnCpu) {
        self.rings.get(here).writer(here).0.settle();
        self.wake();
    }

    /// Wakes the readers that wait for events, soon.
    ///
    /// Contexts: any.
    #[inline(always)]
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    /// Lends working memory to `work`, as much as the largest record has; see
    /// [`Scratch::with`].
    ///
    /// Contexts: any.
    #[inline(always)]
    pub(crate) fn scratch<R>(&self, here: &OnCpu, work: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        let largest = self.rings.get(here).writer(here).0.max_payload();
        self.scratch.with(here, |memory| {
            let length = memory.len().min(largest);
            work(memory.get_mut(..length).unwrap_or_default())
        })
    }

    /// Records `text` as written by the running task, in as many records as it
    /// needs.
    ///
    /// # Errors
    ///
    /// `EBADF` while nothing is recorded, or where there is no room.
    ///
    /// Context: process.
    pub(crate) fn mark(&self, text: &[u8]) -> Result {
        let mut rest = text;
        while !rest.is_empty() {
            rest = context::on_this_cpu(|here| {
                let (writer, _) = self.rings.get(here).writer(here);
                let largest = writer.max_payload().min(scratch::SIZE);
                let room = largest.saturating_sub(marker::OVERHEAD).max(1);
                let (now, later) = rest.split_at_checked(room).unwrap_or((rest, &[]));
                let task = context::current();
                let note = Note::new(task.pid(), task.comm());
                let mut reserved = self.reserve(marker::length(now), note, here).ok()?;
                marker::write_record(reserved.bytes(), task.pid(), now);
                reserved.commit();
                Some(later)
            })
            .ok_or(EBADF)?;
        }
        self.wake();
        Ok(())
    }

    /// Whether hits are recorded.
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Records hits from now on, or does not.
    ///
    /// Context: process.
    pub(crate) fn set_on(&self, on: bool) {
        let _guard = self.readers.lock();
        self.on.store(on, Ordering::Relaxed);
        self.enable(&self.rings.load());
        self.waker.wake_now();
    }

    /// Records nothing until as many calls of [`Buffer::resume`].
    ///
    /// Context: process.
    pub(crate) fn pause(&self) {
        let _guard = self.readers.lock();
        self.pauses.fetch_add(1, Ordering::Relaxed);
        self.enable(&self.rings.load());
    }

    /// Undoes one [`Buffer::pause`].
    ///
    /// Context: process.
    pub(crate) fn resume(&self) {
        let _guard = self.readers.lock();
        self.pauses.fetch_sub(1, Ordering::Relaxed);
        self.enable(&self.rings.load());
    }

    /// Lets full rings lose their oldest events, or the newest.
    ///
    /// Context: process.
    pub(crate) fn set_overwrite(&self, overwrite: bool) {
        let _guard = self.readers.lock();
        self.overwrite.store(overwrite, Ordering::Relaxed);
        for ring in self.rings.load().iter() {
            ring.set_overwrite(overwrite);
        }
    }

    /// Lets `rings` record if they are to. The caller holds the readers' lock.
    fn enable(&self, rings: &Timed) {
        let on = self.is_on() && self.pauses.load(Ordering::Relaxed) == 0;
        for ring in rings.iter() {
            ring.set_enabled(on && self.records_on(ring.cpu()));
        }
    }

    /// Whether hits on `cpu` are recorded while any are.
    pub(crate) fn records_on(&self, cpu: u32) -> bool {
        let masked = self.masked.get(cpu);
        !masked.is_some_and(|masked| masked.load(Ordering::Relaxed))
    }

    /// Lets those CPUs record that `mask` says.
    ///
    /// Context: process.
    pub(crate) fn set_mask(&self, mask: impl Fn(u32) -> bool) {
        let _guard = self.readers.lock();
        for (cpu, masked) in self.masked.iter() {
            masked.store(!mask(cpu), Ordering::Relaxed);
        }
        self.enable(&self.rings.load());
    }

    /// How full a ring wakes the readers of its pages that wait, in percent.
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

    /// Keeps others from reading, clearing and replacing.
    ///
    /// Context: process, may sleep.
    fn reading(&self) -> Reading<'_> {
        Reading::new(self)
    }

    /// Sleeps until `ready`; see [`Waker::wait`].
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` on a signal.
    pub(crate) fn wait(&self, ready: impl FnMut() -> bool) -> Result {
        self.waker.wait(ready)
    }

    /// Sleeps until `ready`, asking now and then; see [`Waker::wait_for_many`].
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` on a signal.
    pub(crate) fn wait_for_many(&self, ready: impl FnMut() -> bool) -> Result {
        self.waker.wait_for_many(ready)
    }

    /// Makes readers that block look up, and those of pages give up.
    pub(crate) fn release(&self) {
        self.releases.fetch_add(1, Ordering::Relaxed);
        self.waker.wake_now();
    }

    /// A number that changes with each [`Buffer::release`].
    pub(crate) fn releases(&self) -> u32 {
        self.releases.load(Ordering::Relaxed)
    }

    /// Tells `poll` of the queue that wakes readers.
    pub(crate) fn register(&self, file: &OpenFile, table: &PollTable) {
        self.waker.register(file, table);
    }
}
