// SPDX-License-Identifier: GPL-2.0

//! What readers do with the buffer.

use super::{
    rings::{Shared, Timed},
    Buffer, Side, State,
};
use crate::{
    engine::{
        record::Header,
        ring::{EventRef, Merge, Snapshot, Stats},
    },
    kapi::clock::Clock,
    sys::Vec,
};
use kernel::{
    prelude::*,
    sync::{Arc, MutexGuard},
};

/// The right to read the buffer, which one has at a time. At its end those who
/// have mapped rings are told what was read.
pub(super) struct Reading<'a> {
    buffer: &'a Buffer,
    pub(super) state: MutexGuard<'a, State>,
}

impl<'a> Reading<'a> {
    /// Waits for those who have it.
    pub(super) fn new(buffer: &'a Buffer) -> Self {
        Self {
            buffer,
            state: buffer.readers.lock(),
        }
    }

    /// The rings of that side; none where no snapshot was taken.
    pub(super) fn rings(&self, side: Side) -> Option<Arc<Timed>> {
        match side {
            Side::Live => Some(self.buffer.rings.load()),
            Side::Snapshot => self.state.snapshot.clone(),
        }
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.buffer.tell_mappings();
    }
}

impl Buffer {
    /// Whether there is something to consume, of all CPUs or of `cpu`; at times
    /// when there is not.
    pub(crate) fn is_readable(&self, cpu: Option<u32>) -> bool {
        self.rings.load().some(cpu).any(|ring| ring.readable())
    }

    /// Whether the ring of `cpu` is so full that the readers of its pages are
    /// woken: by [`Buffer::percent`], where a ring without a whole sub-buffer is
    /// never full, and with a percentage of 0 by any event.
    pub(crate) fn is_full_on(&self, cpu: u32) -> bool {
        let percent = self.percent();
        let rings = self.rings.load();
        rings
            .of(cpu)
            .is_some_and(|ring| ring.readable() && (percent == 0 || ring.is_filled(percent)))
    }

    /// Whether `cpu` has a whole sub-buffer to consume; at times when it has not.
    pub(crate) fn is_whole_on(&self, cpu: u32) -> bool {
        let rings = self.rings.load();
        rings.of(cpu).is_some_and(|ring| ring.whole_readable())
    }

    /// Whether `cpu` has a whole sub-buffer to consume, for certain.
    ///
    /// Context: process, may sleep.
    pub(crate) fn has_whole(&self, cpu: u32) -> bool {
        let _reading = self.reading();
        let rings = self.rings.load();
        let reader = rings.of(cpu).and_then(|ring| ring.reader());
        reader.is_some_and(|mut reader| reader.has_whole())
    }

    /// Whether something of `cpu` is unread on that side.
    ///
    /// Context: process, may sleep.
    pub(crate) fn is_left(&self, side: Side, cpu: u32) -> bool {
        let rings = self.reading().rings(side);
        rings.is_some_and(|rings| rings.of(cpu).is_some_and(|ring| ring.readable()))
    }

    /// Consumes events of `cpu` in binary, as many of one sub-buffer as fit
    /// `page`, or only a whole one; returns how many bytes mean something,
    /// `None` when there is nothing.
    ///
    /// Context: process, may sleep.
    pub(crate) fn read_page(
        &self,
        (side, cpu): (Side, u32),
        page: &mut [u8],
        whole: bool,
    ) -> Option<usize> {
        let mut reading = self.reading();
        let rings = reading.rings(side)?;
        let commands = &mut reading.state.commands;
        let mut reader = rings.of(cpu)?.reader()?;
        let copied =
            reader.read_page_with(page, whole, |note| commands.see(note.pid(), note.name()))?;
        Some(copied.bytes)
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
        let mut reading = self.reading();
        let mut unread = snapshots_of(&self.rings.load(), None)?.0;
        let commands = &mut reading.state.commands;
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
        let _reading = self.reading();
        let rings = self.rings.load();
        let ring = rings.of(cpu)?;
        let oldest = ring.reader().and_then(|reader| reader.oldest());
        Some((ring.stats(), oldest))
    }

    /// Consumes events of all CPUs, or of `cpu`, in the order of their times for as long as `each`, which
    /// is told the clock, the CPU and the event, returns true.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; that of `each`, and then its event is not consumed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn consume(
        &self,
        cpu: Option<u32>,
        mut each: impl FnMut(Clock, u32, &EventRef<'_>) -> Result<bool>,
    ) -> Result {
        let _reading = self.reading();
        let rings = self.rings.load();
        let mut merge = Merge::new();
        let mut cpus = Vec::new();
        for ring in rings.some(cpu) {
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

    /// The events of all CPUs, or of `cpu`, that are on that side now, and what
    /// was counted there; `None` where no snapshot was taken.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn snapshots(
        &self,
        side: Side,
        cpu: Option<u32>,
    ) -> Result<Option<(Snapshots, Stats)>> {
        let reading = self.reading();
        let rings = reading.rings(side);
        rings.map(|rings| snapshots_of(&rings, cpu)).transpose()
    }

    /// Forgets all events of all CPUs, or of `cpu`, that are on that side now.
    ///
    /// Context: process, may sleep.
    pub(crate) fn clear(&self, side: Side, cpu: Option<u32>) {
        let reading = self.reading();
        let Some(rings) = reading.rings(side) else {
            return;
        };
        for ring in rings.some(cpu) {
            if let Some(mut reader) = ring.reader() {
                reader.reset();
            }
        }
    }
}

/// The events of all CPUs at one moment, in the order of their times.
pub(crate) struct Snapshots {
    /// What their times are.
    pub(crate) clock: Clock,
    merge: Merge<Snapshot<Shared>>,
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

/// [`Buffer::snapshots`] of `rings`. The caller holds the readers' lock.
fn snapshots_of(rings: &Timed, cpu: Option<u32>) -> Result<(Snapshots, Stats)> {
    let mut snapshots = Snapshots {
        clock: rings.clock,
        merge: Merge::new(),
        cpus: Vec::new(),
    };
    let mut total = Stats::default();
    for ring in rings.some(cpu) {
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
