// SPDX-License-Identifier: GPL-2.0

//! Memory of tasks: a value from when a task stores it until it takes it.

use super::context;
use core::{
    cell::UnsafeCell,
    sync::atomic::{AtomicU64, Ordering},
};
use kernel::{alloc::KVVec, prelude::*, sync::SetOnce};

/// The values of up to `COUNT` tasks, at most one for each.
pub struct PerTask<T, const COUNT: usize> {
    slots: SetOnce<Slots<T>>,
    /// Values that were not stored because there was no room.
    refused: AtomicU64,
}

/// # Invariants
///
/// There are as many owners as values. A value is accessed only by who has changed its owner
/// to a word with [`BUSY`], until the word is replaced by another.
struct Slots<T> {
    /// The address of the task whose value it is, or [`FREE`].
    // Apart from the values, so that a search stays within a few cache lines.
    owners: KVVec<AtomicU64>,
    values: KVVec<UnsafeCell<T>>,
}

// SAFETY: By the type invariant no value is accessed by two threads at a time, and `T` may be
// sent to another one.
unsafe impl<T: Send> Sync for Slots<T> {}

/// The owner of a value that belongs to no task.
const FREE: u64 = 0;

/// A bit of the owner while the value is accessed; addresses of tasks are aligned.
const BUSY: u64 = 1;

/// Slots that a task may use, from the one that its address selects.
const WINDOW: usize = 8;

impl<T: Send, const COUNT: usize> PerTask<T, COUNT> {
    /// Makes an empty table, in which nothing can be stored yet.
    pub const fn new() -> Self {
        const { assert!(COUNT.is_power_of_two() && COUNT >= WINDOW) };
        Self {
            slots: SetOnce::new(),
            refused: AtomicU64::new(0),
        }
    }

    /// Makes room for values, which start as `init` says, unless there is room already.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn make_room(&self, init: impl Fn() -> T) -> Result {
        if self.slots.as_ref().is_some() {
            return Ok(());
        }
        let mut slots = Slots {
            owners: KVVec::with_capacity(COUNT, GFP_KERNEL)?,
            values: KVVec::with_capacity(COUNT, GFP_KERNEL)?,
        };
        for _ in 0..COUNT {
            slots.owners.push(AtomicU64::new(FREE), GFP_KERNEL)?;
            slots.values.push(UnsafeCell::new(init()), GFP_KERNEL)?;
        }
        // Another task may have been faster.
        self.slots.populate(slots);
        Ok(())
    }

    /// Lets `fill` change a value, which then is the current task's. Returns false, and
    /// counts that, if there is no room.
    ///
    /// Context: any that `fill` runs in.
    pub fn put(&self, fill: impl FnOnce(&mut T)) -> bool {
        let put = self.slots.as_ref().is_some_and(|slots| slots.put(fill));
        if !put {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        put
    }

    /// Passes the current task's value to `take`; the task then has none. Returns `None` if
    /// it had none.
    ///
    /// Context: any that `take` runs in.
    pub fn take<R>(&self, take: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.slots.as_ref()?.take(take)
    }

    /// Takes all values that are not being changed from their tasks.
    pub fn clear(&self) {
        for owner in self.slots.as_ref().iter().flat_map(|slots| &slots.owners) {
            let task = owner.load(Ordering::Relaxed);
            if task & BUSY == 0 {
                // If that fails the value has found another use.
                let _ = owner.compare_exchange(task, FREE, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }

    /// Returns how often there was no room for a value.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

impl<T: Send, const COUNT: usize> Default for PerTask<T, COUNT> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> Slots<T> {
    /// Returns the owners and values that `task` may use.
    fn window(&self, task: u64) -> impl Iterator<Item = (&AtomicU64, &UnsafeCell<T>)> {
        // The constant spreads the bits of a number over its upper half.
        let hash = (task >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let mask = self.owners.len().wrapping_sub(1);
        (0..WINDOW).filter_map(move |n| {
            // CAST: Lossless.
            let index = (hash as usize).wrapping_add(n) & mask;
            Some((self.owners.get(index)?, self.values.get(index)?))
        })
    }

    /// Returns the owner and the value for `task` to use, and what the owner was: its own, if
    /// it did not take it, or the first that is free.
    fn room(&self, task: u64) -> Option<(&AtomicU64, &UnsafeCell<T>, u64)> {
        let mut room = None;
        for (owner, value) in self.window(task) {
            match owner.load(Ordering::Relaxed) {
                FREE if room.is_none() => room = Some((owner, value, FREE)),
                found if found == task => return Some((owner, value, task)),
                _ => {}
            }
        }
        room
    }

    fn put(&self, fill: impl FnOnce(&mut T)) -> bool {
        let task = context::current().address();
        // Another task may be faster, but not often.
        for _ in 0..WINDOW {
            let Some((owner, value, expected)) = self.room(task) else {
                return false;
            };
            if claim(owner, expected, task) {
                // SAFETY: By the type invariant the value is not accessed otherwise, from the
                // claim above to the store below.
                fill(unsafe { &mut *value.get() });
                owner.store(task, Ordering::Release);
                return true;
            }
        }
        false
    }

    fn take<R>(&self, take: impl FnOnce(&mut T) -> R) -> Option<R> {
        let task = context::current().address();
        let mut window = self.window(task);
        let (owner, value) = window.find(|(owner, _)| claim(owner, task, task))?;
        // SAFETY: As in `put`.
        let result = take(unsafe { &mut *value.get() });
        owner.store(FREE, Ordering::Release);
        Some(result)
    }
}

/// Makes `task` the busy owner if the owner is `expected`, and returns whether it was.
fn claim(owner: &AtomicU64, expected: u64, task: u64) -> bool {
    owner.load(Ordering::Relaxed) == expected
        && owner
            .compare_exchange(expected, task | BUSY, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
}
