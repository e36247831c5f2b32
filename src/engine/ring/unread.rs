// SPDX-License-Identifier: GPL-2.0

//! How far the reader is behind the writers.
//!
//! A ring that is not read keeps going round, so the sequences may wrap, even more than
//! once, between two checks by the reader. The difference of two sequences is then
//! meaningless, but the slots are not: a sub-buffer that the reader has taken or passed is
//! in no slot, unless the writers have reached its sequence again.

use super::position::{Position, Seq, Slot};
use super::state::{Ring, Storage};

impl<S: Storage> Ring<S> {
    /// Returns whether there is something that the reader has not taken.
    ///
    /// For a reader that waits: cheap, takes no lock. May return a spurious true, but never
    /// a spurious false.
    pub fn readable(&self) -> bool {
        let place = self.reader.0.place();
        let published = self.published();
        published.crossed(place)
            || published.offset() > place.offset()
            || self.came_round(self.passed(place))
    }

    /// Like [`Ring::readable`], for a sub-buffer that the writers have left.
    pub fn whole_readable(&self) -> bool {
        let place = self.reader.0.place();
        self.published().crossed(place) || self.came_round(self.passed(place))
    }

    /// Returns whether the sub-buffers that the reader has not taken fill at least `percent` of the
    /// ring. As in the kernel, the writers' sub-buffer counts, but is not enough alone.
    ///
    /// For a waiting reader, like [`Ring::readable`].
    pub fn is_filled(&self, percent: u32) -> bool {
        let place = self.reader.0.place();
        let untaken = self.untaken(self.passed(place), self.published().seq());
        // The sub-buffer that the reader holds, or the first that it does not.
        let used = untaken.saturating_add(u32::from(place.is_held()));
        let filled = u64::from(used).saturating_mul(100);
        used > 1 && filled >= u64::from(self.capacity()).saturating_mul(percent.into())
    }

    /// Returns the last sub-buffer that a reader at `place` has taken or passed.
    fn passed(&self, place: Position) -> Seq {
        if place.is_held() {
            place.seq()
        } else {
            self.geometry().prev(place.seq())
        }
    }

    /// Returns whether the writers have reached `seq`, which the reader has taken or
    /// passed, again; they are then on it or less than a lap behind it.
    pub(super) fn came_round(&self, seq: Seq) -> bool {
        let slot = self.slot(seq).map(|slot| Slot(slot.load_acquire()));
        slot.and_then(Slot::seq) == Some(seq)
    }

    /// Returns how many sub-buffers up to `published` the reader, which has taken or passed
    /// all up to `passed`, has not taken: at most the number of slots of the ring, whatever
    /// the writers have done since.
    pub(super) fn untaken(&self, passed: Seq, published: Seq) -> u32 {
        let slots = self.capacity();
        let ahead = self.geometry().ahead(passed, published);
        if ahead > slots || self.came_round(passed) {
            slots
        } else {
            ahead
        }
    }

    /// Returns the first untaken sub-buffer, and their number; see [`Ring::untaken`].
    pub(super) fn next_untaken(&self, passed: Seq, published: Seq) -> (Seq, u32) {
        let geometry = self.geometry();
        let count = self.untaken(passed, published);
        let before = if count == self.capacity() {
            // Everything but the last lap has certainly been overrun.
            geometry.lap_before(published)
        } else {
            passed
        };
        (geometry.next(before), count)
    }

    /// Returns whether the writers had not yet left `seq`, which the reader holds, at the
    /// time of `published`.
    pub(super) fn is_written(&self, seq: Seq, published: Position) -> bool {
        published.seq() == seq && !self.came_round(seq)
    }
}
