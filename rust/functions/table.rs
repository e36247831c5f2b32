// SPDX-License-Identifier: GPL-2.0

//! The handlers of functions, found by the address that ftrace patches.

use super::{entry::Function, link::Link};
use crate::kapi::handler::Handler;
use core::{
    ptr,
    sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering},
};
use kernel::{alloc::KVVec, prelude::*};

/// The least number of slots.
pub(super) const LEAST: usize = 4096;

/// A hash table with open addressing, at most half full. A slot keeps its site for as long
/// as the table exists.
///
/// # Invariants
///
/// The number of slots is a power of two, one more than `mask`. A link in a slot, and those behind
/// it, are of registrations that are armed, or were a moment ago: they exist for a grace period.
pub(super) struct SiteTable<H: Handler<Function>> {
    slots: KVVec<TableSlot<H>>,
    /// One less than their number.
    mask: usize,
    used: AtomicUsize,
}

/// The handlers of one site; the site is 0 as long as the slot is free.
struct TableSlot<H: Handler<Function>> {
    site: AtomicU64,
    first: AtomicPtr<Link<H>>,
}

// SAFETY: What changes is atomic; links may be shared and sent.
unsafe impl<H: Handler<Function>> Sync for SiteTable<H> {}
// SAFETY: As above.
unsafe impl<H: Handler<Function>> Send for SiteTable<H> {}

impl<H: Handler<Function>> SiteTable<H> {
    /// Makes an empty table for `count` sites.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn with_room(count: usize) -> Result<Self> {
        let size = count.max(LEAST).checked_next_power_of_two().ok_or(ENOMEM)?;
        let size = size.checked_mul(2).ok_or(ENOMEM)?;
        let mut slots = KVVec::with_capacity(size, GFP_KERNEL)?;
        for _ in 0..size {
            slots.push(
                TableSlot {
                    site: AtomicU64::new(0),
                    first: AtomicPtr::new(ptr::null_mut()),
                },
                GFP_KERNEL,
            )?;
        }
        Ok(Self {
            slots,
            mask: size.wrapping_sub(1),
            used: AtomicUsize::new(0),
        })
    }

    /// Returns whether there is room for `count` more sites.
    pub(super) fn has_room(&self, count: usize) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        used.saturating_add(count) <= self.slots.len() / 2
    }

    /// Returns the number of sites that have handlers.
    pub(super) fn len(&self) -> usize {
        let all = self.slots.iter();
        all.filter(|slot| !slot.first.load(Ordering::Relaxed).is_null())
            .count()
    }

    /// Copies what has handlers to `table`, which is empty and has room.
    pub(super) fn copy_to(&self, table: &Self) {
        for slot in &self.slots {
            let first = slot.first.load(Ordering::Relaxed);
            if first.is_null() {
                continue;
            }
            if let Some(to) = table.slot(slot.site.load(Ordering::Relaxed)) {
                to.store(first, Ordering::Relaxed);
            }
        }
    }

    /// Returns the first handler of `site`, null if there is none; `None` if the site is not in
    /// the slot in which it is looked for first.
    ///
    /// Context: any.
    #[inline(always)]
    pub(super) fn find(&self, site: u64) -> Option<*mut Link<H>> {
        // SAFETY: By the type invariant the index is within the slots.
        let slot = unsafe { self.slots.as_slice().get_unchecked(hash(site) & self.mask) };
        // As in rcu_dereference(), the address dependency orders accesses to the link.
        let is_it = slot.site.load(Ordering::Relaxed) == site;
        is_it.then(|| slot.first.load(Ordering::Relaxed))
    }

    /// Returns the first handler of `site`, null if there is none.
    ///
    /// Context: any.
    pub(super) fn search(&self, site: u64) -> *mut Link<H> {
        let mut index = hash(site);
        // As the table is half full at most, a search ends soon.
        while let Some(slot) = self.slots.get(index & self.mask) {
            let found = slot.site.load(Ordering::Relaxed);
            if found == site {
                return slot.first.load(Ordering::Relaxed);
            }
            if found == 0 {
                break;
            }
            index = index.wrapping_add(1);
        }
        ptr::null_mut()
    }

    /// Returns the place for the handlers of `site`, and makes one if there is none and there
    /// is room. The caller holds the lock of the state.
    pub(super) fn slot(&self, site: u64) -> Option<&AtomicPtr<Link<H>>> {
        for step in 0..self.slots.len() {
            let slot = self.slots.get(hash(site).wrapping_add(step) & self.mask)?;
            let found = slot.site.load(Ordering::Relaxed);
            if found == site {
                return Some(&slot.first);
            }
            if found == 0 {
                if !self.has_room(1) {
                    return None;
                }
                self.used.fetch_add(1, Ordering::Relaxed);
                slot.site.store(site, Ordering::Relaxed);
                return Some(&slot.first);
            }
        }
        None
    }
}

/// Returns a number of which the low bits differ between sites.
#[inline(always)]
pub(super) fn hash(site: u64) -> usize {
    // CAST: Lossless. The constant spreads the bits of a number over its upper half.
    (site.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}
