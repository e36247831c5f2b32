// SPDX-License-Identifier: GPL-2.0

//! The packed words on which writers and the reader agree.
//!
//! A [`Seq`] numbers sub-buffers in the order in which they are written: a lap
//! in its high bits and the slot of the ring in its low ones, so that finding
//! the slot is a mask and not a division, whatever the number of slots.
//!
//! A [`Position`] is a `Seq`, the number of events on that sub-buffer and the
//! offset at which the next one goes, packed so that a reservation is one
//! addition:
//!
//! | bits   | content                                    |
//! |--------|--------------------------------------------|
//! | 0..18  | offset of the next event, in words         |
//! | 18..33 | events on this sub-buffer                  |
//! | 33..64 | `Seq`                                      |
//!
//! A `Seq` has 31 bits; its wrap is met only after four thousand million
//! sub-buffers, and comparisons are made modulo that. A [`Slot`] word names
//! the sub-buffer that a slot of the ring holds.

use super::layout::HEADER_WORDS;

const OFFSET_BITS: u32 = 18;
const ENTRIES_BITS: u32 = 15;
const SEQ_SHIFT: u32 = OFFSET_BITS + ENTRIES_BITS;
const SEQ_BITS: u32 = u64::BITS - SEQ_SHIFT;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;
const ENTRIES_MASK: u64 = (1 << ENTRIES_BITS) - 1;
const SEQ_MASK: u32 = (1 << SEQ_BITS) - 1;
const ONE_ENTRY: u64 = 1 << OFFSET_BITS;

/// Number of a sub-buffer in the order of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seq(pub(super) u32);

/// How many slots a ring has, and what follows from that for a [`Seq`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    slots: u32,
    slot_bits: u32,
    slot_mask: u32,
}

impl Geometry {
    /// The geometry of a ring of `slots` slots: at least 2, at most 2^24, so
    /// that a `Seq` counts at least 64 laps.
    pub(super) fn new(slots: u32) -> Option<Self> {
        if !(2..=1 << 24).contains(&slots) {
            return None;
        }
        let slot_bits = u32::BITS.wrapping_sub(slots.wrapping_sub(1).leading_zeros());
        Some(Self {
            slots,
            slot_bits,
            slot_mask: (1u32.wrapping_shl(slot_bits)).wrapping_sub(1),
        })
    }

    /// Slots of the ring.
    pub(super) fn slots(self) -> u32 {
        self.slots
    }

    /// The slot in which `seq` is written.
    #[inline(always)]
    pub(super) fn slot(self, seq: Seq) -> usize {
        // CAST: u32 to usize widens, on the 64-bit machines this is for.
        (seq.0 & self.slot_mask) as usize
    }

    /// The one after `seq`.
    pub(super) fn next(self, seq: Seq) -> Seq {
        let slot = (seq.0 & self.slot_mask).wrapping_add(1);
        if slot < self.slots {
            Seq(seq.0.wrapping_add(1))
        } else {
            self.lap_after(Seq(seq.0 & !self.slot_mask))
        }
    }

    /// The one that is written over `seq`.
    pub(super) fn lap_after(self, seq: Seq) -> Seq {
        Seq(seq.0.wrapping_add(self.slot_mask).wrapping_add(1) & SEQ_MASK)
    }

    /// The one that `seq` is written over.
    pub(super) fn lap_before(self, seq: Seq) -> Seq {
        Seq(seq.0.wrapping_sub(self.slot_mask).wrapping_sub(1) & SEQ_MASK)
    }

    /// How many sub-buffers `to` is after `from`; negative when before.
    pub(super) fn distance(self, from: Seq, to: Seq) -> i64 {
        let lap = |seq: Seq| seq.0.wrapping_shr(self.slot_bits);
        // The difference of laps, signed in the bits that a lap has.
        let spare = u32::BITS.wrapping_sub(SEQ_BITS.wrapping_sub(self.slot_bits));
        let laps = lap(to).wrapping_sub(lap(from)).wrapping_shl(spare);
        // CAST: the bits are to be read as signed.
        let laps = i64::from((laps as i32).wrapping_shr(spare));
        let slot = |seq: Seq| i64::from(seq.0 & self.slot_mask);
        laps.wrapping_mul(i64::from(self.slots))
            .wrapping_add(slot(to).wrapping_sub(slot(from)))
    }
}

/// Where the next event goes: see the head of this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position(pub(super) u64);

impl Position {
    /// The start of an empty sub-buffer.
    #[inline(always)]
    pub(super) fn start(seq: Seq) -> Self {
        // CAST: usize to u64 widens.
        Self((u64::from(seq.0) << SEQ_SHIFT) | HEADER_WORDS as u64)
    }

    /// The sub-buffer.
    #[inline(always)]
    pub(super) fn seq(self) -> Seq {
        // CAST: 31 bits are left after the shift.
        Seq((self.0 >> SEQ_SHIFT) as u32)
    }

    /// Whether `other` is on another sub-buffer.
    #[inline(always)]
    pub(super) fn crossed(self, other: Self) -> bool {
        (self.0 ^ other.0) >> SEQ_SHIFT != 0
    }

    /// Offset of the next event in words.
    #[inline(always)]
    pub(super) fn offset(self) -> usize {
        // CAST: u64 to usize, and of 18 bits.
        (self.0 & OFFSET_MASK) as usize
    }

    /// Events on the sub-buffer.
    #[inline(always)]
    pub(super) fn entries(self) -> u64 {
        (self.0 >> OFFSET_BITS) & ENTRIES_MASK
    }

    /// The same sub-buffer at `offset`.
    pub(super) fn at(self, offset: usize) -> Self {
        // CAST: usize to u64 widens.
        Self((self.0 & !OFFSET_MASK) | (offset as u64 & OFFSET_MASK))
    }

    /// The same place on the sub-buffer `seq`.
    pub(super) fn on(self, seq: Seq) -> Self {
        let within = self.0 & (OFFSET_MASK | (ENTRIES_MASK << OFFSET_BITS));
        Self((u64::from(seq.0) << SEQ_SHIFT) | within)
    }

    /// The position after an event of `words` more, which fit.
    #[inline(always)]
    pub(super) fn after(self, words: usize) -> Self {
        // CAST: usize to u64 widens.
        Self(self.0.wrapping_add(ONE_ENTRY).wrapping_add(words as u64))
    }
}

/// What a slot of the ring holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(pub(super) u64);

impl Slot {
    const HOLDS: u64 = 1 << 31;

    /// A page without anything to read.
    pub(super) fn empty(page: u32) -> Self {
        Self(u64::from(page))
    }

    /// The page on which `seq` is or will be written, and which no reader has
    /// taken.
    pub(super) fn holding(seq: Seq, page: u32) -> Self {
        Self((u64::from(seq.0) << 32) | Self::HOLDS | u64::from(page))
    }

    /// The page in the slot.
    pub(super) fn page(self) -> u32 {
        // CAST: 31 bits are left by the mask.
        (self.0 & (Self::HOLDS - 1)) as u32
    }

    /// The sub-buffer in the slot; `None` when it is empty.
    pub(super) fn seq(self) -> Option<Seq> {
        // CAST: 32 bits are left after the shift.
        (self.0 & Self::HOLDS != 0).then_some(Seq((self.0 >> 32) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_advance_by_slots_and_laps() {
        for slots in [2, 3, 4, 5, 352, 1024] {
            let ring = Geometry::new(slots).unwrap();
            let mut seq = Seq(0);
            for count in 0..5 * u64::from(slots) {
                assert_eq!(ring.slot(seq) as u64, count % u64::from(slots));
                assert_eq!(ring.distance(Seq(0), seq), count as i64);
                assert_eq!(ring.distance(seq, Seq(0)), -(count as i64));
                assert_eq!(ring.lap_before(ring.lap_after(seq)), seq);
                seq = ring.next(seq);
            }
        }
    }

    #[test]
    fn distance_survives_the_wrap() {
        for slots in [2, 3, 7, 352] {
            let ring = Geometry::new(slots).unwrap();
            let mut seq = ring.lap_before(ring.lap_before(Seq(0)));
            let first = seq;
            for count in 0..6 * i64::from(slots) {
                assert_eq!(ring.distance(first, seq), count);
                assert_eq!(ring.distance(seq, first), -count);
                seq = ring.next(seq);
            }
        }
    }

    #[test]
    fn refuses_too_few_and_too_many_slots() {
        assert!(Geometry::new(0).is_none());
        assert!(Geometry::new(1).is_none());
        assert!(Geometry::new((1 << 24) + 1).is_none());
        assert!(Geometry::new(1 << 24).is_some());
    }

    #[test]
    fn a_reservation_is_one_addition() {
        let at = Position::start(Seq(SEQ_MASK));
        let end = at.after(100).after(131_000 - 100);
        assert_eq!(end.seq(), Seq(SEQ_MASK));
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
