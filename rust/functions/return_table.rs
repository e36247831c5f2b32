// SPDX-License-Identifier: GPL-2.0

//! The functions whose returns are followed, by the addresses that ftrace patches.

use super::{counters::SiteCounters, link::Site, table::hash};
use crate::kapi::percpu::CounterOfCpus;
use kernel::{alloc::KVVec, prelude::*};

/// A hash table with open addressing, half full at most, which does not change.
///
/// # Invariants
///
/// The number of slots is a power of two, one more than `mask`.
pub(super) struct ReturnTable {
    slots: KVVec<ReturnSlot>,
    mask: usize,
}

/// A function.
#[derive(Clone, Copy)]
pub(super) struct ReturnSlot {
    /// 0 if the slot is free.
    site: u64,
    /// The address of the function, its lower half first.
    pub(super) place: [u32; 2],
    /// Counts its hits, in memory that is freed after the table.
    pub(super) hits: Option<CounterOfCpus>,
}

impl ReturnSlot {
    const FREE: Self = Self {
        site: 0,
        place: [0; 2],
        hits: None,
    };
}

impl ReturnTable {
    /// Makes the table of `sites`, whose hits `counters` count.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(sites: &[Site], counters: &SiteCounters) -> Result<Self> {
        let size = sites.len().max(1).checked_next_power_of_two();
        let size = size.and_then(|size| size.checked_mul(2)).ok_or(ENOMEM)?;
        let mut slots = KVVec::from_elem(ReturnSlot::FREE, size, GFP_KERNEL)?;
        let mask = size.wrapping_sub(1);
        for (index, site) in sites.iter().enumerate() {
            let mut at = hash(site.site);
            // There is a free one.
            while slots.get(at & mask).is_some_and(|slot| slot.site != 0) {
                at = at.wrapping_add(1);
            }
            if let Some(slot) = slots.get_mut(at & mask) {
                *slot = ReturnSlot {
                    site: site.site,
                    // CAST: Halves.
                    place: [site.function as u32, (site.function >> 32) as u32],
                    hits: counters.counter(index),
                };
            }
        }
        // INVARIANT: A power of two, doubled.
        Ok(Self { slots, mask })
    }

    /// Returns the function at `site`.
    ///
    /// Context: any.
    #[inline(always)]
    pub(super) fn find(&self, site: u64) -> Option<&ReturnSlot> {
        let mut at = hash(site);
        // As the table is half full at most, a search ends soon.
        loop {
            // SAFETY: By the type invariant the index is within the slots.
            let slot = unsafe { self.slots.as_slice().get_unchecked(at & self.mask) };
            if slot.site == site {
                return Some(slot);
            }
            if slot.site == 0 {
                return None;
            }
            at = at.wrapping_add(1);
        }
    }
}
