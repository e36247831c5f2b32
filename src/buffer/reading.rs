// SPDX-License-Identifier: GPL-2.0

//! Reading the buffer.

use super::{
    recording::{Buffer, Side, State},
    rings::{RingSet, Shared},
};
use crate::{
    commands::Commands,
    engine::{
        record::Header,
        ring::{EventRef, Iter, Lent, Merge, Note, Stats},
    },
    kapi::{clock::Clock, context, tree::Pipe},
    sys::Vec,
};
use core::sync::atomic::Ordering;
use kernel::{
    prelude::*,
    sync::{Arc, MutexGuard},
};

/// The right to read the buffer: a guard of the readers' lock. Dropping it updates the
/// descriptions of the mapped rings.
pub(super) struct Reading<'a> {
    buffer: &'a Buffer,
    pub(super) state: MutexGuard<'a, State>,
}

impl Reading<'_> {
    /// Returns the rings of `side`; `None` if it is the snapshot and none was taken.
    pub(super) fn rings(&self, side: Side) -> Option<Arc<RingSet>> {
        match side {
            Side::Live => Some(self.buffer.rings.load()),
            Side::Snapshot => self.state.snapshot.clone(),
        }
    }

    /// [`Reading::rings`] without taking a reference, and the saved names.
    fn rings_and_names(&mut self, side: Side) -> Option<(&RingSet, &mut Commands)> {
        let State {
            commands,
            live,
            snapshot,
            ..
        } = &mut *self.state;
        let rings: &RingSet = match side {
            Side::Live => live,
            Side::Snapshot => snapshot.as_ref()?,
        };
        Some((rings, commands))
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.buffer.tell_mappings();
    }
}

impl Buffer {
    /// Takes the readers' lock, which excludes reading, clearing and replacing rings.
    ///
    /// Context: process, may sleep.
    pub(super) fn reading(&self) -> Reading<'_> {
        Reading {
            buffer: self,
            state: self.readers.lock(),
        }
    }

    /// Returns whether there is something to consume, of all CPUs or of `cpu`. May return
    /// a spurious true.
    pub(crate) fn is_readable(&self, cpu: Option<u32>) -> bool {
        self.rings.load().some(cpu).any(|ring| ring.readable())
    }

    /// Returns whether the ring of `cpu` is full enough to wake readers of its pages, see
    /// [`Buffer::percent`]. A ring without a whole sub-buffer is never full. At 0 percent, any
    /// event suffices.
    pub(crate) fn is_full_on(&self, cpu: u32) -> bool {
        let percent = self.percent();
        let rings = self.rings.load();
        rings
            .of(cpu)
            .is_some_and(|ring| ring.readable() && (percent == 0 || ring.is_filled(percent)))
    }

    /// Returns whether `cpu` has a whole sub-buffer to consume.
    ///
    /// Context: process, may sleep.
    pub(crate) fn has_whole(&self, cpu: u32) -> bool {
        let rings = self.rings.load();
        let Some(ring) = rings.of(cpu).filter(|ring| ring.whole_readable()) else {
            return false;
        };
        // The cheap check may be wrong.
        let _reading = self.reading();
        let reader = ring.reader();
        reader.is_some_and(|mut reader| reader.has_whole())
    }

    /// Returns whether something of `cpu` is unread on `side`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn is_left(&self, side: Side, cpu: u32) -> bool {
        let rings = self.reading().rings(side);
        rings.is_some_and(|rings| rings.of(cpu).is_some_and(|ring| ring.readable()))
    }

    /// Returns the size of a sub-buffer on `side`, in bytes. A snapshot keeps the size
    /// that it was taken with.
    ///
    /// Context: process, may sleep.
    pub(crate) fn page_bytes_of(&self, side: Side) -> usize {
        let rings = self.reading().rings(side);
        rings.map_or_else(|| self.page_bytes(), |rings| rings.sub_buffer)
    }

    /// Consumes events of `cpu` in binary: as many of one sub-buffer as fit `page`, or
    /// only a whole sub-buffer if `whole`. Returns the number of valid bytes, `None` if
    /// there is nothing.
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

    /// Consumes a whole, unread sub-buffer of `cpu` that fits `room` bytes, by passing its bytes to
    /// `put`. Returns their number; `None`, with nothing consumed, if there is none or `put`
    /// returns false.
    ///
    /// `put` runs with the readers' lock held.
    ///
    /// Context: process, may sleep.
    pub(crate) fn read_whole(
        &self,
        (side, cpu): (Side, u32),
        room: usize,
        put: impl FnOnce(&[u8]) -> bool,
    ) -> Option<usize> {
        let mut reading = self.reading();
        let (rings, commands) = reading.rings_and_names(side)?;
        let see = |note: &Note| commands.see(note.pid(), note.name());
        rings
            .of(cpu)?
            .with_reader(|reader| reader.read_whole(room, see, put))?
    }

    /// Consumes a whole sub-buffer of `cpu` by lending its memory to `pipe`, if no ring is
    /// mapped.
    ///
    /// # Errors
    ///
    /// `EPIPE` if the pipe has no readers.
    ///
    /// Context: process, may sleep.
    pub(crate) fn lend(&self, (side, cpu): (Side, u32), pipe: &mut Pipe) -> Result<Lent> {
        if self.mapped.load(Ordering::Relaxed) {
            return Ok(Lent::Copy);
        }
        let mut reading = self.reading();
        let Some((rings, commands)) = reading.rings_and_names(side) else {
            return Ok(Lent::Nothing);
        };
        let ring = rings.of(cpu).ok_or(ENODEV)?;
        let mut failed = Ok(());
        let lent = ring.with_reader(|reader| {
            reader.lend(
                |page| ring.view().is_unshared(page),
                |note| commands.see(note.pid(), note.name()),
                |page| {
                    failed = pipe.lend(ring.view(), page);
                    failed.is_ok()
                },
            )
        });
        match failed {
            // The copy checks for space in the pipe again.
            Err(error) if error != EAGAIN && error != EINVAL => Err(error),
            _ => Ok(lent.unwrap_or(Lent::Copy)),
        }
    }

    /// Calls `each` with the pid and the name of every task that has a record in the
    /// buffer, or had one that was read in binary. May name a task more than once.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EINTR` if the task is being killed, and the errors of `each`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn commands(&self, mut each: impl FnMut(u32, &[u8]) -> Result) -> Result {
        let mut reading = self.reading();
        let mut unread = iterators_of(&self.rings.load(), None)?.0;
        let commands = &mut reading.state.commands;
        while let Some((_, event)) = unread.peek() {
            if let Some(header) = Header::from_record(event.payload()) {
                // CAST: pids are not negative.
                commands.see(header.pid as u32, event.comm(header.pid));
            }
            unread.advance();
            if context::is_being_killed() {
                return Err(EINTR);
            }
        }
        commands.each(&mut each)
    }

    /// Calls `each` with the event id of every record, of both sides.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINTR` if the task is being killed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn each_record(&self, mut each: impl FnMut(u16)) -> Result {
        /// Records between two checks for a kill signal.
        const MANY: usize = 1024;

        let reading = self.reading();
        for side in [Side::Live, Side::Snapshot] {
            let Some(rings) = reading.rings(side) else {
                continue;
            };
            for ring in rings.iter() {
                let Some(reader) = ring.reader() else {
                    continue;
                };
                let mut events = Iter::new(ring.clone(), &reader)?;
                let mut count = 0_usize;
                while let Some(event) = events.peek() {
                    if let Some(header) = Header::from_record(event.payload()) {
                        each(header.event);
                    }
                    events.advance();
                    count = count.wrapping_add(1);
                    if count % MANY == 0 && context::is_being_killed() {
                        return Err(EINTR);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the counters of `cpu`, and the time of its oldest event.
    ///
    /// Context: process, may sleep.
    pub(crate) fn stats(&self, cpu: u32) -> Option<(Stats, Option<u64>)> {
        let _reading = self.reading();
        let rings = self.rings.load();
        let ring = rings.of(cpu)?;
        let oldest = ring.reader().and_then(|reader| reader.oldest());
        Some((ring.stats(), oldest))
    }

    /// Consumes events of all CPUs, or of `cpu`, in the order of their times, for as long
    /// as `each` returns true. `each` gets the clock, the CPU and the event.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; the error of `each`: its event is not consumed.
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
            // The readers' lock excludes other readers.
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

    /// Returns the current events of all CPUs, or of `cpu`, on `side`, and its counters; `None` if
    /// `side` is the snapshot and none was taken.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn iterators(
        &self,
        side: Side,
        cpu: Option<u32>,
    ) -> Result<Option<(Iterators, Stats)>> {
        let reading = self.reading();
        let rings = reading.rings(side);
        rings.map(|rings| iterators_of(&rings, cpu)).transpose()
    }

    /// Clears `side`, for all CPUs or for `cpu`.
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

/// The events of all CPUs at one moment, by time.
pub(crate) struct Iterators {
    /// The clock of their times.
    pub(crate) clock: Clock,
    merge: Merge<Iter<Shared>>,
    cpus: Vec<u32>,
}

impl Iterators {
    /// Returns the next event and its CPU.
    pub(crate) fn peek(&mut self) -> Option<(u32, EventRef<'_>)> {
        let (index, event) = self.merge.peek()?;
        Some((self.cpus.get(index).copied().unwrap_or(0), event))
    }

    /// Skips the next event.
    pub(crate) fn advance(&mut self) {
        self.merge.advance();
    }
}

/// [`Buffer::iterators`] of `rings`. Called with the readers' lock held.
fn iterators_of(rings: &RingSet, cpu: Option<u32>) -> Result<(Iterators, Stats)> {
    let mut iterators = Iterators {
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
        iterators.merge.push(Iter::new(ring.clone(), &reader)?)?;
        iterators.cpus.push(ring.cpu())?;
    }
    Ok((iterators, total))
}
