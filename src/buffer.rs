// SPDX-License-Identifier: GPL-2.0

//! The buffer: a ring for each CPU, its readers, and their waking.

use crate::{
    commands::Commands,
    engine::{
        marker,
        record::Header,
        ring::{self, EventRef, Merge, Note, Quick, Reservation, Ring, Short, Snapshot, Stats},
    },
    kapi::{
        clock::{Clock, Hands},
        context::{self, OnCpu},
        debugfs::OpenFile,
        percpu::PerCpu,
        rcu::RcuCell,
        scratch::Scratch,
        wake::{PollTable, Waker},
    },
    sys::{self, Pages, Vec},
};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

pub(crate) use crate::engine::ring::Lost;

/// Bytes of a sub-buffer.
const SUB_BUFFER: usize = 4096;

/// Sub-buffers of a CPU, at the least: one that is written, one that is read,
/// and one between.
const MIN_SUB_BUFFERS: usize = 3;

/// What changes as a whole: nothing is in a ring with another clock's time.
struct Timed {
    /// Each CPU's ring.
    here: PerCpu<Here>,
    clock: Clock,
}

/// What the writers of one CPU need: its ring, and the clock close by.
struct Here {
    ring: sys::Arc<Ring<Pages>>,
    clock: Hands,
}

struct ByReference<'a>(&'a Hands);

impl ring::Clock for ByReference<'_> {
    #[inline(always)]
    fn now(&self) -> u64 {
        self.0.now()
    }
}

impl Timed {
    /// The rings, in the order of their CPUs.
    fn iter(&self) -> impl Iterator<Item = &sys::Arc<Ring<Pages>>> {
        self.here.iter().map(|(_, here)| &here.ring)
    }

    /// The ring of `cpu`, if it has one.
    fn of(&self, cpu: u32) -> Option<&sys::Arc<Ring<Pages>>> {
        self.here.get(cpu).map(|here| &here.ring)
    }

    /// Bytes of the largest payload of a record.
    #[inline]
    fn max_payload(&self) -> usize {
        self.here.this_cpu().ring.max_payload()
    }
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
    #[pin]
    waker: Waker,
    /// How often blocked readers were told to give up.
    releases: AtomicU32,
    /// Held by who consumes, clears or replaces. Names of tasks whose records
    /// left in binary.
    #[pin]
    readers: Mutex<Commands>,
}

impl Buffer {
    /// A buffer with `kilobytes` for each CPU, that records the times of `clock`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(kilobytes: usize, clock: Clock) -> Result<Arc<Self>> {
        let rings = make(|_| kilobytes, clock)?;
        let scratch = Scratch::new()?;
        Arc::pin_init(
            pin_init!(Self {
                rings: RcuCell::new(rings),
                scratch,
                on: AtomicBool::new(true),
                pauses: AtomicU32::new(0),
                overwrite: AtomicBool::new(true),
                waker <- Waker::new(),
                releases: AtomicU32::new(0),
                readers <- new_mutex!(Commands::new()),
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
        let own = self.rings.get(here).here.this_cpu();
        match own.ring.writer_here(here) {
            Some(writer) => writer.reserve(length, note, ByReference(&own.clock)),
            None => Err(Lost::Disabled),
        }
    }

    /// The same where nothing unusual is to be done, in few instructions; `None`
    /// leaves everything to [`Buffer::reserve`].
    ///
    /// Contexts: any.
    #[inline(always)]
    pub(crate) fn reserve_quickly<'a>(
        &'a self,
        short: Short,
        note: impl Fn() -> Note,
        here: &'a OnCpu,
    ) -> Option<Quick<'a, Pages>> {
        let own = self.rings.get(here).here.this_cpu();
        let writer = own.ring.writer_here(here)?;
        writer.reserve_quickly(short, note, ByReference(&own.clock))
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
        let largest = self.rings.get(here).max_payload();
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
                let largest = self.rings.get(here).max_payload();
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
            ring.set_enabled(on);
        }
    }

    /// Whether there is something to consume; at times when there is not.
    pub(crate) fn is_readable(&self) -> bool {
        self.rings.load().iter().any(|ring| ring.readable())
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

    /// Whether `cpu` has something to consume, or a whole sub-buffer; at times
    /// when it has not.
    pub(crate) fn is_readable_on(&self, cpu: u32, whole: bool) -> bool {
        let rings = self.rings.load();
        rings.of(cpu).is_some_and(|ring| {
            if whole {
                ring.whole_readable()
            } else {
                ring.readable()
            }
        })
    }

    /// Whether `cpu` has a whole sub-buffer to consume, for certain.
    ///
    /// Context: process, may sleep.
    pub(crate) fn has_whole(&self, cpu: u32) -> bool {
        let _guard = self.readers.lock();
        let rings = self.rings.load();
        let reader = rings.of(cpu).and_then(|ring| ring.reader());
        reader.is_some_and(|mut reader| reader.has_whole())
    }

    /// Consumes events of `cpu` in binary, as many of one sub-buffer as fit
    /// `page`, or only a whole one; returns how many bytes mean something,
    /// `None` when there is nothing.
    ///
    /// Context: process, may sleep.
    pub(crate) fn read_page(&self, cpu: u32, page: &mut [u8], whole: bool) -> Option<usize> {
        let mut commands = self.readers.lock();
        let rings = self.rings.load();
        let mut reader = rings.of(cpu)?.reader()?;
        reader.read_page_with(page, whole, |note| commands.see(note.pid(), note.name()))
    }

    /// Calls `each` with the number and name of every task that has a record in
    /// the buffer, or had one that was read in binary; with some more than once.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of `each`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn commands(&self, mut each: impl FnMut(u32, &[u8]) -> Result) -> Result {
        let (mut unread, _) = self.snapshots()?;
        let mut commands = self.readers.lock();
        while let Some((_, event)) = unread.peek() {
            if let Some(header) = Header::from_record(event.payload()) {
                // CAST: numbers of tasks are positive.
                commands.see(header.pid as u32, event.comm(header.pid));
            }
            unread.advance();
        }
        commands.each(&mut each)
    }

    /// What `cpu` has counted, and the time of its oldest event.
    ///
    /// Context: process, may sleep.
    pub(crate) fn stats(&self, cpu: u32) -> Option<(Stats, Option<u64>)> {
        let _guard = self.readers.lock();
        let rings = self.rings.load();
        let ring = rings.of(cpu)?;
        let oldest = ring.reader().and_then(|mut reader| Some(reader.peek()?.ts));
        Some((ring.stats(), oldest))
    }

    /// Tells `poll` of the queue that wakes readers.
    pub(crate) fn register(&self, file: &OpenFile, table: &PollTable) {
        self.waker.register(file, table);
    }

    /// Consumes events in the order of their times for as long as `each`, which
    /// is told the clock, the CPU and the event, returns true.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; that of `each`, and then its event is not consumed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn consume(
        &self,
        mut each: impl FnMut(Clock, u32, &EventRef<'_>) -> Result<bool>,
    ) -> Result {
        let _guard = self.readers.lock();
        let rings = self.rings.load();
        let mut merge = Merge::new();
        let mut cpus = Vec::new();
        for ring in rings.iter() {
            // Nobody else reads while the lock is held.
            if let Some(reader) = ring.reader() {
                cpus.push(ring.cpu())?;
                merge.push(reader)?;
            }
        }
        while let Some((index, event)) = merge.peek() {
            let cpu = cpus.get(index).copied().unwrap_or(0);
            let go_on = each(rings.clock, cpu, &event)?;
            merge.advance();
            if !go_on {
                break;
            }
        }
        Ok(())
    }

    /// The events that are in the buffer now, and what it has counted.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn snapshots(&self) -> Result<(Snapshots, Stats)> {
        let _guard = self.readers.lock();
        let rings = self.rings.load();
        let mut snapshots = Snapshots {
            clock: rings.clock,
            merge: Merge::new(),
            cpus: Vec::new(),
        };
        let mut total = Stats::default();
        for ring in rings.iter() {
            total = total.plus(&ring.stats());
            let Some(reader) = ring.reader() else {
                continue;
            };
            snapshots
                .merge
                .push(Snapshot::new(ring.clone(), &reader)?)?;
            snapshots.cpus.push(ring.cpu())?;
        }
        Ok((snapshots, total))
    }

    /// Forgets all events that are in the buffer now.
    ///
    /// Context: process, may sleep.
    pub(crate) fn clear(&self) {
        let _guard = self.readers.lock();
        for ring in self.rings.load().iter() {
            if let Some(mut reader) = ring.reader() {
                reader.reset();
            }
        }
    }

    /// Size of the ring of `cpu`, in KiB.
    pub(crate) fn kilobytes_of(&self, cpu: u32) -> usize {
        self.rings.load().of(cpu).map_or(0, |ring| kilobytes(ring))
    }

    /// Size of each CPU's ring, in KiB; `None` if they differ.
    pub(crate) fn kilobytes(&self) -> Option<usize> {
        let rings = self.rings.load();
        let mut sizes = rings.iter().map(|ring| kilobytes(ring));
        let first = sizes.next()?;
        sizes.all(|size| size == first).then_some(first)
    }

    /// Size of all rings, in KiB.
    pub(crate) fn total_kilobytes(&self) -> usize {
        let rings = self.rings.load();
        rings
            .iter()
            .fold(0, |sum, ring| kilobytes(ring).saturating_add(sum))
    }

    /// Bytes of a sub-buffer.
    pub(crate) fn page_bytes(&self) -> usize {
        SUB_BUFFER
    }

    /// Gives each CPU, or only the `one`, a ring of `kilobytes`. What is in the
    /// buffer is lost, as it is when the kernel's sub-buffers change.
    ///
    /// # Errors
    ///
    /// `EINVAL` for 0, `ENOMEM`; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn resize(&self, kilobytes: usize, one: Option<u32>) -> Result {
        if kilobytes == 0 {
            return Err(EINVAL);
        }
        let _guard = self.readers.lock();
        let size = |cpu| match one {
            Some(one) if one != cpu => self.kilobytes_of(cpu),
            _ => kilobytes,
        };
        self.replace(make(size, self.clock())?);
        Ok(())
    }

    /// The clock that tells the times of events.
    pub(crate) fn clock(&self) -> Clock {
        self.rings.load().clock
    }

    /// Takes the times of events from `clock`. What is in the buffer is lost:
    /// times of two clocks cannot be compared.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_clock(&self, clock: Clock) -> Result {
        let _guard = self.readers.lock();
        self.replace(make(|cpu| self.kilobytes_of(cpu), clock)?);
        Ok(())
    }

    /// Puts empty `rings` in the place of those there are. The caller holds the
    /// readers' lock.
    fn replace(&self, rings: Arc<Timed>) {
        self.enable(&rings);
        for ring in rings.iter() {
            ring.set_overwrite(self.overwrite.load(Ordering::Relaxed));
        }
        drop(self.rings.replace(rings));
    }
}

/// Size of `ring`, in KiB.
fn kilobytes(ring: &Ring<Pages>) -> usize {
    // CAST: u32 to usize widens.
    (ring.capacity() as usize).saturating_mul(SUB_BUFFER / 1024)
}

/// Rings for all CPUs that can ever be online, with as many `kilobytes` as it
/// says for each.
fn make(kilobytes: impl Fn(u32) -> usize, clock: Clock) -> Result<Arc<Timed>> {
    let here = PerCpu::new(|cpu| {
        let bytes = kilobytes(cpu).checked_mul(1024).ok_or(ENOMEM)?;
        // One more for the reader.
        let count = (bytes.div_ceil(SUB_BUFFER).saturating_add(1)).max(MIN_SUB_BUFFERS);
        let pages_count = u32::try_from(count).map_err(|_| ENOMEM)?;
        let pages = Pages::new(count, SUB_BUFFER)?;
        let ring = Ring::new(cpu, pages, pages_count, true).map_err(|error| match error {
            ring::Error::NoMemory => ENOMEM,
            ring::Error::BadSize => EINVAL,
        })?;
        Ok(Here {
            ring: sys::Arc::new(ring)?,
            clock: Hands::of(clock),
        })
    })?;
    Ok(Arc::new(Timed { here, clock }, GFP_KERNEL)?)
}

/// The events of all CPUs at one moment, in the order of their times.
pub(crate) struct Snapshots {
    /// What their times are.
    pub(crate) clock: Clock,
    merge: Merge<Snapshot<sys::Arc<Ring<Pages>>>>,
    cpus: Vec<u32>,
}

impl Snapshots {
    /// The next event and its CPU.
    pub(crate) fn peek(&mut self) -> Option<(u32, EventRef<'_>)> {
        let (index, event) = self.merge.peek()?;
        Some((self.cpus.get(index).copied().unwrap_or(0), event))
    }

    /// Goes past the next event.
    pub(crate) fn advance(&mut self) {
        self.merge.advance();
    }
}
