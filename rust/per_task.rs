// SPDX-License-Identifier: GPL-2.0

//! Values that a task stores and takes later.

use super::context;
use core::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
    ptr,
    sync::atomic::{AtomicPtr, AtomicU64, Ordering},
};
use kernel::{alloc::KVVec, prelude::*};

/// Values of at least `COUNT` tasks at a time.
///
/// # Invariants
///
/// `slots` is null, or the pointer of a `KBox`, which is freed by the drop only.
pub struct PerTask<T, const COUNT: usize> {
    slots: AtomicPtr<Slots<T>>,
    /// Values that were not stored because there was no room.
    refused: AtomicU64,
}

/// # Invariants
///
/// There are as many owners as values, a power of two. Only the one that has set [`BUSY`] in an
/// owner accesses its value, until it replaces the owner.
struct Slots<T> {
    /// The address of the value's task, or [`FREE`].
    // Apart from the values, so that a search touches few cache lines.
    owners: KVVec<AtomicU64>,
    values: KVVec<UnsafeCell<T>>,
}

// SAFETY: By the type invariant no value is accessed by two threads at a time, and `T` may be
// sent to another one.
unsafe impl<T: Send> Sync for Slots<T> {}
// SAFETY: The slots belong to the table; `T` may be sent to another thread.
unsafe impl<T: Send, const COUNT: usize> Send for PerTask<T, COUNT> {}
// SAFETY: The slots are `Sync`, and are neither replaced nor freed before the drop.
unsafe impl<T: Send, const COUNT: usize> Sync for PerTask<T, COUNT> {}

/// The owner of a free value.
const FREE: u64 = 0;

/// Bit of an owner: the value is being accessed. Addresses of tasks are aligned.
const BUSY: u64 = 1;

/// Number of slots that are searched for a task's value, from the one that its address selects.
/// With half of all slots in use, one search in 2^32 finds no free one.
const PROBES: u64 = 32;

impl<T: Send, const COUNT: usize> PerTask<T, COUNT> {
    /// The number of slots.
    const SLOTS: usize = COUNT * 2;

    /// Makes an empty table without room.
    pub const fn new() -> Self {
        const { assert!(Self::SLOTS.is_power_of_two() && COUNT as u64 >= PROBES) };
        Self {
            slots: AtomicPtr::new(ptr::null_mut()),
            refused: AtomicU64::new(0),
        }
    }

    /// Allocates the values, initialised by `init`, unless that has been done.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn make_room(&self, init: impl Fn() -> T) -> Result {
        if self.slots().is_some() {
            return Ok(());
        }
        let mut slots = Slots {
            owners: KVVec::with_capacity(Self::SLOTS, GFP_KERNEL)?,
            values: KVVec::with_capacity(Self::SLOTS, GFP_KERNEL)?,
        };
        for _ in 0..Self::SLOTS {
            slots.owners.push(AtomicU64::new(FREE), GFP_KERNEL)?;
            slots.values.push(UnsafeCell::new(init()), GFP_KERNEL)?;
        }
        let slots = KBox::into_raw(KBox::new(slots, GFP_KERNEL)?);
        let (none, release) = (ptr::null_mut(), Ordering::Release);
        let stored = self
            .slots
            .compare_exchange(none, slots, release, Ordering::Relaxed);
        if stored.is_err() {
            // Another task allocated them first.
            // SAFETY: It comes from `into_raw` above, and nothing else has it.
            drop(unsafe { KBox::from_raw(slots) });
        }
        Ok(())
    }

    #[inline(always)]
    fn slots(&self) -> Option<&Slots<T>> {
        // As in rcu_dereference(), the address dependency orders accesses to the slots.
        // SAFETY: By the type invariant.
        unsafe { self.slots.load(Ordering::Relaxed).as_ref() }
    }

    /// Claims a value for the current task. Returns `None`, and counts that, if there is no room.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn put(&self) -> Option<Kept<'_, T>> {
        let task = context::current().address();
        let slot = self.slots().and_then(|slots| slots.claim::<true>(task));
        match slot {
            // INVARIANT: Claimed above.
            Some((owner, value)) => Some(TaskValue { owner, value }),
            None => self.refuse(),
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse(&self) -> Option<Kept<'_, T>> {
        self.refused.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Takes the current task's value; its slot is freed by the drop. Returns `None` if the task
    /// has none.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn take(&self) -> Option<Taken<'_, T>> {
        self.claimed()
    }

    /// Returns the current task's value, which the task keeps. Returns `None` if it has none.
    ///
    /// Context: any.
    pub fn look(&self) -> Option<Kept<'_, T>> {
        self.claimed()
    }

    #[inline(always)]
    fn claimed<const KEEP: bool>(&self) -> Option<TaskValue<'_, T, KEEP>> {
        let task = context::current().address();
        let (owner, value) = self.slots()?.claim::<false>(task)?;
        // INVARIANT: Claimed above.
        Some(TaskValue { owner, value })
    }

    /// Frees all values of the current task, which is about to exit.
    ///
    /// Context: any.
    pub fn forget(&self) {
        // A value that was not taken may hide an older one.
        while self.take().is_some() {}
    }

    /// Frees all values that are not being accessed.
    pub fn clear(&self) {
        for owner in self.slots().iter().flat_map(|slots| &slots.owners) {
            let task = owner.load(Ordering::Relaxed);
            if task & BUSY == 0 {
                // On failure the value has been taken, and maybe claimed again.
                let _ = owner.compare_exchange(task, FREE, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }

    /// Returns how often there was no room.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

impl<T: Send, const COUNT: usize> Default for PerTask<T, COUNT> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const COUNT: usize> Drop for PerTask<T, COUNT> {
    fn drop(&mut self) {
        let slots = *self.slots.get_mut();
        if !slots.is_null() {
            // SAFETY: By the type invariant; no value can be in use.
            drop(unsafe { KBox::from_raw(slots) });
        }
    }
}

/// Exclusive access to a task's value. The drop frees its slot, unless `KEEP`.
///
/// # Invariants
///
/// The owner was claimed for this.
pub struct TaskValue<'a, T, const KEEP: bool> {
    owner: &'a AtomicU64,
    value: &'a UnsafeCell<T>,
}

/// A value that the task keeps after the drop.
pub type Kept<'a, T> = TaskValue<'a, T, true>;

/// A value whose slot the drop frees.
pub type Taken<'a, T> = TaskValue<'a, T, false>;

impl<T, const KEEP: bool> Deref for TaskValue<'_, T, KEEP> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: By the type invariant, and that of `Slots`.
        unsafe { &*self.value.get() }
    }
}

impl<T, const KEEP: bool> DerefMut for TaskValue<'_, T, KEEP> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: As in `deref`; `&mut self` excludes other references.
        unsafe { &mut *self.value.get() }
    }
}

impl<T, const KEEP: bool> Drop for TaskValue<'_, T, KEEP> {
    #[inline(always)]
    fn drop(&mut self) {
        let left = match KEEP {
            true => self.owner.load(Ordering::Relaxed) & !BUSY,
            false => FREE,
        };
        self.owner.store(left, Ordering::Release);
    }
}

impl<T: Send> Slots<T> {
    /// Returns the owner and the value in slot `n` of those that `task` may use.
    #[inline(always)]
    fn slot(&self, task: u64, n: u64) -> Option<(&AtomicU64, &UnsafeCell<T>)> {
        // A multiplicative hash, whose upper half is used. An odd step reaches each slot.
        let hash = (task >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (start, step) = (hash >> 32, hash >> 48 | 1);
        let mask = self.owners.len().wrapping_sub(1);
        // CAST: Lossless.
        let index = start.wrapping_add(n.wrapping_mul(step)) as usize & mask;
        let owner = self.owners.get(index)?;
        // SAFETY: By the type invariant there are as many values as owners.
        Some((owner, unsafe { self.values.get_unchecked(index) }))
    }

    /// Claims the first slot of `task`, or, if `OR_FREE`, the first that belongs to it or is free.
    #[inline(always)]
    fn claim<const OR_FREE: bool>(&self, task: u64) -> Option<(&AtomicU64, &UnsafeCell<T>)> {
        if let Some(slot) = self.slot(task, 0) {
            if claim::<OR_FREE>(slot.0, task) {
                return Some(slot);
            }
        }
        self.claim_other::<OR_FREE>(task)
    }

    /// [`Self::claim`] behind the first slot.
    #[cold]
    #[inline(never)]
    fn claim_other<const OR_FREE: bool>(&self, task: u64) -> Option<(&AtomicU64, &UnsafeCell<T>)> {
        let mut slots = (1..PROBES).filter_map(|n| self.slot(task, n));
        slots.find(|slot| claim::<OR_FREE>(slot.0, task))
    }
}

/// Makes `task` the busy owner if it is the owner, or, if `OR_FREE`, if there is none; returns
/// whether it did.
#[inline(always)]
fn claim<const OR_FREE: bool>(owner: &AtomicU64, task: u64) -> bool {
    let expected = owner.load(Ordering::Relaxed);
    // If another task claims it first, the next slot is as good.
    (expected == task || (OR_FREE && expected == FREE))
        && owner
            .compare_exchange(expected, task | BUSY, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
}
