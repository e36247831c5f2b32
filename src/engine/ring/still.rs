// SPDX-License-Identifier: GPL-2.0

//! Finds the newest events of several rings, while nothing is recorded.
//!
//! For a kernel that panics: allocates nothing, consumes nothing, and finds each event again in
//! place. If something is recorded nevertheless, events may be missing or wrong.
//! again where it is. If somebody records meanwhile after all, events may be missing or wrong.

use super::cursor::Cursor;
use super::names::RingNames;
use super::position::Slot;
use super::reader::EventRef;
use super::state::{Ring, Storage};
use crate::sys::{self, AllocError, AtomicU32};

/// The location of an unread event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StillEvent {
    /// Its time.
    pub ts: u64,
    /// The CPU that recorded it.
    pub cpu: u32,
    page: u32,
    /// The first word of the payload, and the word behind it.
    start: usize,
    end: usize,
}

impl<S: Storage> Ring<S> {
    /// Calls `each` with each event that is not consumed, the oldest first. Returns false, without
    /// events, if a reader is active.
    ///
    /// Context: any, while nothing is recorded.
    pub fn each_still(&self, each: &mut dyn FnMut(StillEvent)) -> bool {
        let Some(reader) = self.reader() else {
            return false;
        };
        let place = reader.place();
        let end = self.published();
        if place.holds {
            let (limit, _) = self.extent_of_held(&place, end);
            self.walk((place.page, place.words), (place.cursor, limit), each);
        }
        let (mut seq, left) = self.next_untaken(place.last, end.seq());
        for _ in 0..left {
            let found = self.slot(seq).map(|slot| Slot(slot.load_acquire()));
            if let Some(found) = found.filter(|found| found.seq() == Some(seq)) {
                let (limit, _) = self.extent(seq, found.page(), end);
                if let Some(words) = self.storage.page(found.page()) {
                    let place = (Cursor::start(words), limit);
                    self.walk((found.page(), words), place, each);
                }
            }
            seq = self.geometry().next(seq);
        }
        true
    }

    /// Calls `each` with the events of a page from a position to its end.
    fn walk(
        &self,
        (page, words): (u32, &[AtomicU32]),
        (mut cursor, limit): (Cursor, usize),
        each: &mut dyn FnMut(StillEvent),
    ) {
        let mut names = RingNames::new();
        while let Some(found) = cursor.find(words, limit, &mut names) {
            each(StillEvent {
                ts: found.ts,
                cpu: self.cpu(),
                page,
                start: found.payload.start,
                end: found.payload.end,
            });
            cursor.pass(&found);
        }
    }

    /// Calls `with` with an event that [`Ring::each_still`] has found, whose payload is copied to
    /// `room`. Does nothing if `room` is too small.
    ///
    /// Context: any, while nothing is recorded.
    pub fn with_still(
        &self,
        event: StillEvent,
        room: &[AtomicU32],
        with: &mut dyn FnMut(&EventRef<'_>),
    ) {
        let Some(words) = self.storage.page(event.page) else {
            return;
        };
        let mut names = RingNames::new();
        let mut cursor = Cursor::start(words);
        while let Some(found) = cursor.find(words, event.end, &mut names) {
            if found.payload.start >= event.start {
                break;
            }
            cursor.pass(&found);
        }
        let payload = words.get(event.start..event.end).unwrap_or_default();
        let Some(copy) = room.get(..payload.len()) else {
            return;
        };
        for (to, from) in copy.iter().zip(payload) {
            to.store_relaxed(from.load_relaxed());
        }
        with(&EventRef::new((event.ts, 0), copy, (words, &names)));
    }
}

/// Keeps the newest of many events, in a heap whose first element is the oldest.
pub struct Newest {
    heap: sys::Vec<StillEvent>,
    room: usize,
    most: usize,
}

impl Newest {
    /// Creates a heap with room for `capacity` events.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn new(capacity: usize) -> Result<Self, AllocError> {
        Ok(Self {
            heap: sys::Vec::with_capacity(capacity)?,
            room: capacity,
            most: capacity,
        })
    }

    /// Clears the heap, and limits it to `most` events, or its capacity.
    ///
    /// Context: any.
    pub fn begin(&mut self, most: usize) {
        self.heap.clear();
        self.most = most.min(self.room);
    }

    /// Adds `event` if it is one of the newest.
    ///
    /// Context: any.
    pub fn see(&mut self, event: StillEvent) {
        if self.heap.len() < self.most {
            // There is room.
            let _ = self.heap.push(event);
            self.rise();
            return;
        }
        if let Some(first) = self.heap.first_mut().filter(|first| first.ts < event.ts) {
            *first = event;
            self.sink();
        }
    }

    /// Removes and returns the oldest.
    ///
    /// Context: any.
    pub fn pop(&mut self) -> Option<StillEvent> {
        let last = self.heap.pop()?;
        let Some(first) = self.heap.first_mut() else {
            return Some(last);
        };
        let oldest = core::mem::replace(first, last);
        self.sink();
        Some(oldest)
    }

    fn time(&self, at: usize) -> Option<u64> {
        self.heap.get(at).map(|event| event.ts)
    }

    fn exchange(&mut self, one: usize, other: usize) {
        let (Some(&a), Some(&b)) = (self.heap.get(one), self.heap.get(other)) else {
            return;
        };
        if let Some(to) = self.heap.get_mut(one) {
            *to = b;
        }
        if let Some(to) = self.heap.get_mut(other) {
            *to = a;
        }
    }

    /// Restores the heap order after the last event was added.
    fn rise(&mut self) {
        let mut at = self.heap.len().saturating_sub(1);
        while at > 0 {
            let above = at.saturating_sub(1) / 2;
            if self.time(above) <= self.time(at) {
                return;
            }
            self.exchange(above, at);
            at = above;
        }
    }

    /// Restores the heap order after the first event was replaced.
    fn sink(&mut self) {
        let mut at = 0usize;
        loop {
            let below = at.saturating_mul(2).saturating_add(1);
            let other = below.saturating_add(1);
            let least = match (self.time(below), self.time(other)) {
                (None, _) => return,
                (Some(one), Some(two)) if two < one => other,
                _ => below,
            };
            if self.time(at) <= self.time(least) {
                return;
            }
            self.exchange(at, least);
            at = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Newest, StillEvent};

    #[test]
    fn the_newest_are_kept_in_order() {
        let mut newest = Newest::new(50).unwrap();
        for most in [0, 1, 2, 7, 50, 60] {
            newest.begin(most);
            let mut all: std::vec::Vec<u64> = (0..300u64).map(|n| n * 7919 % 1009).collect();
            for &ts in &all {
                newest.see(StillEvent {
                    ts,
                    ..StillEvent::default()
                });
            }
            all.sort_unstable();
            let kept: std::vec::Vec<_> = std::iter::from_fn(|| newest.pop())
                .map(|event| event.ts)
                .collect();
            assert_eq!(kept, all[all.len() - most.min(50)..], "{most}");
        }
    }
}
