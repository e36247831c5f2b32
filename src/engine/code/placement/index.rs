// SPDX-License-Identifier: GPL-2.0

//! An index of addresses in a text, for lookup by range.
//!
//! The kernel's tables of jump labels, exceptions and BUGs have tens of thousands of entries, in an
//! order of no use here. Most definitions need the entries of one function, so the addresses are
//! grouped once by blocks of the text.

use crate::sys::{AllocError, Vec};
use core::ops::Range;

/// The number of low bits of an offset within a block. A block of the kernel's text then has about
/// ten addresses.
const BLOCK_BITS: u32 = 12;

/// Addresses at which control arrives other than by branches, or ends, by the kernel's tables.
#[derive(Debug)]
pub struct Ways {
    /// Targets of jump labels, and fixups of exceptions.
    pub landings: PlacementIndex,
    /// BUGs, which do not return.
    pub stops: PlacementIndex,
}

/// Addresses in a text, grouped by blocks of it.
#[derive(Debug)]
pub struct PlacementIndex {
    text: Range<u64>,
    /// For each block, the end of its offsets in `offsets`; they begin at the end of the preceding
    /// block's.
    ends: Vec<u32>,
    /// Distances from the start of the text, in bytes.
    offsets: Vec<u32>,
}

impl PlacementIndex {
    /// Makes an index of the addresses in `text`, the first 4 GiB of it, that `each` passes to its
    /// argument. `each` is called twice; addresses that it passes only the second time may be
    /// missing.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory, and the errors of `each`.
    pub fn new(
        text: Range<u64>,
        mut each: impl FnMut(&mut dyn FnMut(u64)) -> Result<(), AllocError>,
    ) -> Result<Self, AllocError> {
        let mut index = Self {
            text,
            ends: Vec::new(),
            offsets: Vec::new(),
        };
        let len = index.text.end.saturating_sub(index.text.start);
        let last = u32::try_from(len.saturating_sub(1)).unwrap_or(u32::MAX);
        let blocks = block(last).saturating_add(1);
        index.ends.reserve(blocks)?;
        for _ in 0..blocks {
            index.ends.push(0)?;
        }
        each(&mut |address| {
            let offset = offset(&index.text, address);
            if let Some(count) = offset.and_then(|offset| index.ends.get_mut(block(offset))) {
                *count = count.saturating_add(1);
            }
        })?;
        let mut sum = 0u32;
        for end in index.ends.iter_mut() {
            // Here still the start of the block; it becomes the end when the offsets are filled in.
            let count = core::mem::replace(end, sum);
            sum = sum.saturating_add(count);
        }
        let count = usize::try_from(sum).unwrap_or(usize::MAX);
        index.offsets.reserve(count)?;
        for _ in 0..count {
            index.offsets.push(u32::MAX)?;
        }
        each(&mut |address| {
            let Some(offset) = offset(&index.text, address) else {
                return;
            };
            let Some(end) = index.ends.get_mut(block(offset)) else {
                return;
            };
            let place = usize::try_from(*end).unwrap_or(usize::MAX);
            if let Some(place) = index.offsets.get_mut(place) {
                *place = offset;
                *end = end.saturating_add(1);
            }
        })?;
        Ok(index)
    }

    /// Returns the addresses within `range`, in no order.
    pub fn within(&self, range: &Range<u64>) -> impl Iterator<Item = u64> + '_ {
        let range = range.start.max(self.text.start)..range.end.min(self.text.end);
        let first = offset(&self.text, range.start).map_or(usize::MAX, block);
        let last = offset(&self.text, range.end.saturating_sub(1)).map_or(0, block);
        let end = |block: usize| self.ends.get(block).map_or(0, |end| *end as usize);
        let from = first.checked_sub(1).map_or(0, end);
        self.offsets
            .get(from..end(last))
            .unwrap_or_default()
            .iter()
            .map(|offset| self.text.start.wrapping_add(u64::from(*offset)))
            .filter(move |address| range.contains(address))
    }
}

/// Returns the offset of `address` in `text`; `None` if it is elsewhere.
fn offset(text: &Range<u64>, address: u64) -> Option<u32> {
    let offset = address.wrapping_sub(text.start);
    text.contains(&address)
        .then(|| u32::try_from(offset).ok())
        .flatten()
}

const fn block(offset: u32) -> usize {
    (offset >> BLOCK_BITS) as usize
}
