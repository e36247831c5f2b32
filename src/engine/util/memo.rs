// SPDX-License-Identifier: GPL-2.0

//! A small cache of earlier results.

use crate::sys::Vec;

/// A cache with one `T` per slot, the last one stored there.
///
/// The caller checks whether a slot holds the right entry. If memory is short, there are no slots
/// and nothing is cached.
pub struct Memo<T, const SLOTS: usize> {
    slots: Vec<Option<T>>,
    /// Whether caching is off.
    is_closed: bool,
}

impl<T, const SLOTS: usize> Memo<T, SLOTS> {
    /// Creates an empty cache; does not allocate.
    pub const fn new() -> Self {
        Self {
            slots: Vec::new(),
            is_closed: false,
        }
    }

    /// Frees the cache and switches it off: it allocates nothing from now on.
    pub fn close(&mut self) {
        self.slots = Vec::new();
        self.is_closed = true;
    }

    /// Returns the slot for `hash`; `None` without memory.
    #[inline]
    pub fn slot(&mut self, hash: u64) -> Option<&mut Option<T>> {
        if self.slots.is_empty() {
            self.allocate()?;
        }
        // CAST: Below the number of slots.
        self.slots.get_mut((hash % SLOTS as u64) as usize)
    }

    /// Clears the cache and keeps the memory.
    pub fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| *slot = None);
    }

    #[cold]
    #[inline(never)]
    fn allocate(&mut self) -> Option<()> {
        if self.is_closed {
            return None;
        }
        let mut slots = Vec::with_capacity(SLOTS).ok()?;
        for _ in 0..SLOTS {
            slots.push(None).ok()?;
        }
        self.slots = slots;
        Some(())
    }
}

impl<T, const SLOTS: usize> Default for Memo<T, SLOTS> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_holds_what_was_put_there_last() {
        let mut memo = Memo::<u64, 4>::new();
        for hash in 0..6 {
            *memo.slot(hash).unwrap() = Some(hash);
        }
        let held: std::vec::Vec<_> = (0..4).map(|hash| memo.slot(hash).unwrap().take()).collect();
        assert_eq!(held, [Some(4), Some(5), Some(2), Some(3)]);
        *memo.slot(1).unwrap() = Some(1);
        memo.clear();
        assert_eq!(*memo.slot(1).unwrap(), None);
    }

    #[test]
    fn a_closed_one_remembers_nothing() {
        let mut memo = Memo::<u64, 4>::new();
        *memo.slot(1).unwrap() = Some(1);
        memo.close();
        assert!(memo.slot(1).is_none());
        memo.clear();
        assert!(memo.slot(1).is_none());
    }

    #[test]
    fn without_memory_nothing_is_remembered() {
        let mut memo = Memo::<u64, 4>::new();
        crate::sys::fail_allocation_after(Some(0));
        assert!(memo.slot(1).is_none());
        crate::sys::fail_allocation_after(None);
        assert_eq!(memo.slot(1), Some(&mut None));
    }
}
