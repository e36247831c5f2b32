// SPDX-License-Identifier: GPL-2.0

//! The packed words on which writers and the reader agree.
//!
//! A [`Seq`] numbers sub-buffers in the order of writing: a lap in its high bits and the
//! slot of the ring in its low bits, so that finding the slot is a mask and not a division,
//! whatever the number of slots.
//!
//! A [`Position`] is a `Seq`, the number of events on that sub-buffer and the offset of the
//! next event, packed so that a reservation is one addition:
//!
//! | bits   | content                                    |
//! |--------|--------------------------------------------|
//! | 0..18  | offset of the next event, in words         |
//! | 18..33 | events on this sub-buffer                  |
//! | 33..64 | `Seq`                                      |
//!
//! A `Seq` has 31 bits and wraps sooner or later in a ring that is not read. So two of them
//! give a distance only if that is known to be less than a lap;
//! [`Ring::untaken`](super::Ring::untaken) explains how a reader knows. A [`Slot`] word
//! names the sub-buffer that a slot of the ring holds.

use super::layout::{self, HEADER_WORDS};

const OFFSET_BITS: u32 = 18;
const ENTRIES_BITS: u32 = 15;
const SEQ_SHIFT: u32 = OFFSET_BITS + ENTRIES_BITS;
const SEQ_BITS: u32 = u64::BITS - SEQ_SHIFT;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;
const ENTRIES_MASK: u64 = (1 << ENTRIES_BITS) - 1;
const ONE_ENTRY: u64 = 1 << OFFSET_BITS;

/// Number of a sub-buffer in the order of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seq(pub(super) u32);

/// The laps that the sequences of a ring count.
#[derive(Clone, Copy, Debug)]
pub struct Laps {
    /// The lap in which the writers begin.
    pub first: u32,
    /// Number of bits of a lap, at least 2; limited to the bits that a sequence has for it.
    pub bits: u32,
}

impl Laps {
    /// All laps, from the second on: the one before is for migrated events.
    pub const ALL: Self = Self {
        first: 1,
        bits: u32::MAX,
    };
}

/// The number of slots of a ring, and the masks and shifts of a [`Seq`] that follow from
/// it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    slots: u32,
    slot_bits: u32,
    slot_mask: u32,
    seq_mask: u32,
}

impl Geometry {
    /// Returns the geometry of a ring of `slots` slots and `laps`. `slots` is at least 2,
    /// and at most 2^24, so that a `Seq` counts at least 64 laps.
    pub(super) fn new(slots: u32, laps: Laps) -> Option<Self> {
        if !(2..=1 << 24).contains(&slots) {
            return None;
        }
        let slot_bits = u32::BITS.wrapping_sub(slots.wrapping_sub(1).leading_zeros());
        let lap_bits = laps.bits.max(2).min(SEQ_BITS.wrapping_sub(slot_bits));
        let ones = |bits: u32| (1u32.wrapping_shl(bits)).wrapping_sub(1);
        Some(Self {
            slots,
            slot_bits,
            slot_mask: ones(slot_bits),
            seq_mask: ones(slot_bits.wrapping_add(lap_bits)),
        })
    }

    /// Returns the first slot of `lap`.
    pub(super) fn start_of(self, lap: u32) -> Seq {
        Seq(lap.wrapping_shl(self.slot_bits) & self.seq_mask)
    }

    /// Returns the number of slots of the ring.
    pub(super) fn slots(self) -> u32 {
        self.slots
    }

    /// Returns the slot in which `seq` is written.
    #[inline(always)]
    pub(super) fn slot(self, seq: Seq) -> usize {
        // CAST: u32 to usize widens, on the supported 64-bit machines.
        (seq.0 & self.slot_mask) as usize
    }

    /// Returns the sequence after `seq`.
    pub(super) fn next(self, seq: Seq) -> Seq {
        let slot = (seq.0 & self.slot_mask).wrapping_add(1);
        if slot < self.slots {
            Seq(seq.0.wrapping_add(1))
        } else {
            self.lap_after(Seq(seq.0 & !self.slot_mask))
        }
    }

    /// Returns the sequence before `seq`.
    pub(super) fn prev(self, seq: Seq) -> Seq {
        if seq.0 & self.slot_mask == 0 {
            let last = self.slots.wrapping_sub(1);
            Seq(self.lap_before(seq).0.wrapping_add(last))
        } else {
            Seq(seq.0.wrapping_sub(1))
        }
    }

    /// Returns the sequence that overwrites `seq`.
    pub(super) fn lap_after(self, seq: Seq) -> Seq {
        Seq(seq.0.wrapping_add(self.slot_mask).wrapping_add(1) & self.seq_mask)
    }

    /// Returns the sequence that `seq` overwrites.
    pub(super) fn lap_before(self, seq: Seq) -> Seq {
        Seq(seq.0.wrapping_sub(self.slot_mask).wrapping_sub(1) & self.seq_mask)
    }

    /// Returns how many sub-buffers `to` is after `from`, if that is at most a lap;
    /// otherwise a number above a lap.
    ///
    /// The distance is modulo the range of sequences: `to` may be any number of ranges
    /// further.
    pub(super) fn ahead(self, from: Seq, to: Seq) -> u32 {
        let lap = |seq: Seq| seq.0.wrapping_shr(self.slot_bits);
        let slot = |seq: Seq| seq.0 & self.slot_mask;
        let all_laps = self.seq_mask.wrapping_shr(self.slot_bits);
        let laps = lap(to).wrapping_sub(lap(from)) & all_laps;
        // Laps and a slot: wrapping, because `to` may have the lower slot. A negative
        // distance becomes far more than one lap.
        laps.wrapping_mul(self.slots)
            .wrapping_add(slot(to))
            .wrapping_sub(slot(from))
    }
}

/// The position of the next event; see the head of this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position(pub(super) u64);

impl Position {
    /// The end of a sub-buffer that was never written: before every event of any
    /// sub-buffer.
    pub(super) const NOWHERE: Self = Self(0);

    /// Returns the start of an empty sub-buffer.
    #[inline(always)]
    pub(super) fn start(seq: Seq) -> Self {
        // CAST: usize to u64 widens.
        Self((u64::from(seq.0) << SEQ_SHIFT) | HEADER_WORDS as u64)
    }

    /// Returns the sub-buffer.
    #[inline(always)]
    pub(super) fn seq(self) -> Seq {
        // CAST: 31 bits are left after the shift.
        Seq((self.0 >> SEQ_SHIFT) as u32)
    }

    /// Returns whether `other` is on another sub-buffer.
    #[inline(always)]
    pub(super) fn crossed(self, other: Self) -> bool {
        (self.0 ^ other.0) >> SEQ_SHIFT != 0
    }

    /// Returns the offset of the next event in words.
    #[inline(always)]
    pub(super) fn offset(self) -> usize {
        // CAST: u64 to usize, and the value has 18 bits.
        (self.0 & OFFSET_MASK) as usize
    }

    /// Returns the bytes of data before it on its sub-buffer.
    pub(super) fn data_bytes(self) -> u64 {
        let words = self.offset().saturating_sub(HEADER_WORDS);
        u64::from(layout::bytes_of(words))
    }

    /// Returns the number of events on the sub-buffer.
    #[inline(always)]
    pub(super) fn entries(self) -> u64 {
        (self.0 >> OFFSET_BITS) & ENTRIES_MASK
    }

    /// Returns `offset` on the same sub-buffer.
    pub(super) fn at(self, offset: usize) -> Self {
        // CAST: usize to u64 widens.
        Self((self.0 & !OFFSET_MASK) | (offset as u64 & OFFSET_MASK))
    }

    /// Returns the same position, marked as on a sub-buffer that a reader holds.
    pub(super) fn held(self) -> Self {
        Self(self.0 | ONE_ENTRY)
    }

    /// Returns whether a reader's position is [`held`](Self::held).
    pub(super) fn is_held(self) -> bool {
        self.entries() != 0
    }

    /// Returns the same position on the sub-buffer `seq`.
    pub(super) fn on(self, seq: Seq) -> Self {
        let within = self.0 & (OFFSET_MASK | (ENTRIES_MASK << OFFSET_BITS));
        Self((u64::from(seq.0) << SEQ_SHIFT) | within)
    }

    /// Returns the position after one more event of `words`, which fit.
    #[inline(always)]
    pub(super) fn after(self, words: usize) -> Self {
        // CAST: usize to u64 widens.
        Self(self.0.wrapping_add(ONE_ENTRY).wrapping_add(words as u64))
    }
}

/// The content of a slot of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(pub(super) u64);

impl Slot {
    const HOLDS: u64 = 1 << 31;

    /// Returns a slot with a page that has nothing to read.
    pub(super) fn empty(page: u32) -> Self {
        Self(u64::from(page))
    }

    /// Returns a slot with the page on which `seq` is or will be written, and which no
    /// reader has taken.
    pub(super) fn holding(seq: Seq, page: u32) -> Self {
        Self((u64::from(seq.0) << 32) | Self::HOLDS | u64::from(page))
    }

    /// Returns the page in the slot.
    pub(super) fn page(self) -> u32 {
        // CAST: 31 bits are left by the mask.
        (self.0 & (Self::HOLDS - 1)) as u32
    }

    /// Returns the sub-buffer in the slot; `None` if it is empty.
    pub(super) fn seq(self) -> Option<Seq> {
        // CAST: 32 bits are left after the shift.
        (self.0 & Self::HOLDS != 0).then_some(Seq((self.0 >> 32) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: u32 = (1 << SEQ_BITS) - 1;

    #[test]
    fn sequences_advance_by_slots_and_laps() {
        for slots in [2, 3, 4, 5, 352, 1024] {
            let ring = Geometry::new(slots, Laps::ALL).unwrap();
            let mut seq = Seq(0);
            for count in 0..5 * slots {
                assert_eq!(ring.slot(seq) as u32, count % slots);
                assert_eq!(ring.ahead(Seq(0), seq), count);
                assert!(count == 0 || ring.ahead(seq, Seq(0)) > slots);
                assert_eq!(ring.lap_before(ring.lap_after(seq)), seq);
                assert_eq!(ring.prev(ring.next(seq)), seq);
                seq = ring.next(seq);
            }
        }
    }

    /// At every end of the range: counts are exact up to a lap, and an earlier sub-buffer
    /// is further away than that.
    #[test]
    fn sequences_are_compared_over_the_end_of_their_range() {
        for slots in [2, 3, 7, 8, 352, 1 << 24] {
            for bits in [2, 3, u32::MAX] {
                let first = u32::MAX - 1;
                let ring = Geometry::new(slots, Laps { first, bits }).unwrap();
                let first = ring.start_of(first);
                let (mut seq, mut before) = (first, first);
                for count in 0..=slots.min(1000) {
                    assert_eq!(ring.ahead(first, seq), count);
                    assert!(count == 0 || ring.ahead(seq, first) > slots);
                    assert_eq!(ring.ahead(before, first), count);
                    seq = ring.next(seq);
                    before = ring.prev(before);
                }
                assert_eq!(ring.ahead(first, ring.lap_after(first)), slots);
                assert!(ring.ahead(first, ring.next(ring.lap_after(first))) > slots);
            }
        }
    }

    #[test]
    fn a_sequence_returns_after_its_range() {
        for (slots, bits, range) in [(2, 2, 8), (3, 2, 12), (5, 3, 40)] {
            let ring = Geometry::new(slots, Laps { first: 1, bits }).unwrap();
            let mut seq = ring.start_of(1);
            for _ in 0..range {
                seq = ring.next(seq);
            }
            assert_eq!(seq, ring.start_of(1));
        }
    }

    #[test]
    fn refuses_too_few_and_too_many_slots() {
        assert!(Geometry::new(0, Laps::ALL).is_none());
        assert!(Geometry::new(1, Laps::ALL).is_none());
        assert!(Geometry::new((1 << 24) + 1, Laps::ALL).is_none());
        assert!(Geometry::new(1 << 24, Laps::ALL).is_some());
    }

    #[test]
    fn a_reservation_is_one_addition() {
        let at = Position::start(Seq(LAST));
        let end = at.after(100).after(131_000 - 100);
        assert_eq!(end.seq(), Seq(LAST));
        assert_eq!(end.entries(), 2);
        assert_eq!(end.offset(), 131_000 + HEADER_WORDS);
        assert!(!at.crossed(end));
        assert!(end.crossed(Position::start(Seq(0))));
    }

    #[test]
    fn slots_tell_empty_from_held() {
        let slot = Slot::holding(Seq(0), 7);
        assert_eq!((slot.seq(), slot.page()), (Some(Seq(0)), 7));
        let slot = Slot::empty(7);
        assert_eq!((slot.seq(), slot.page()), (None, 7));
    }
}
