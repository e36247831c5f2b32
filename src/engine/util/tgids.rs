// SPDX-License-Identifier: GPL-2.0

//! The processes of threads, as `saved_tgids` shows them.

use crate::sys::{AllocError, Vec};
use core::sync::atomic::{AtomicU64, Ordering};

/// Number of slots of the table. A thread's slot is its pid modulo this number, so threads do not
/// collide as long as pids are smaller. They are below 32768 unless an administrator, or a machine
/// with more than 32 CPUs, raises the limit.
pub const SIZE: u32 = 1 << 16;

/// The processes of recently seen threads. May change while it is read.
pub struct Tgids {
    /// The pid in the upper half, the process in the lower half; 0 if free.
    slots: Vec<AtomicU64>,
}

impl Tgids {
    /// Creates an empty table.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn new() -> Result<Self, AllocError> {
        // CAST: u32 to usize widens.
        let mut slots = Vec::with_capacity(SIZE as usize)?;
        for _ in 0..SIZE {
            slots.push(AtomicU64::new(0))?;
        }
        Ok(Self { slots })
    }

    fn slot(&self, pid: u32) -> Option<&AtomicU64> {
        // CAST: u32 to usize widens.
        self.slots.get((pid % SIZE) as usize)
    }

    /// Notes that thread `pid` belongs to process `tgid`; ignores idle tasks.
    ///
    /// Context: any.
    pub fn see(&self, pid: u32, tgid: u32) {
        if let Some(slot) = self.slot(pid).filter(|_| pid != 0) {
            let value = u64::from(pid) << 32 | u64::from(tgid);
            // Most threads are known already, and the cache line stays shared.
            if slot.load(Ordering::Relaxed) != value {
                slot.store(value, Ordering::Relaxed);
            }
        }
    }

    /// Returns the process of the thread `pid`, if that is known.
    pub fn of(&self, pid: u32) -> Option<u32> {
        let (of, tgid) = halves(self.slot(pid)?.load(Ordering::Relaxed));
        (of == pid && pid != 0).then_some(tgid)
    }

    /// Returns the threads with their processes.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let all = self.slots.iter();
        let all = all.map(|slot| halves(slot.load(Ordering::Relaxed)));
        all.filter(|&(pid, _)| pid != 0)
    }
}

/// Returns the pid and the process of a slot.
fn halves(value: u64) -> (u32, u32) {
    // CAST: The upper and the lower half.
    ((value >> 32) as u32, value as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_who_was_seen_last() {
        let tgids = Tgids::new().unwrap();
        for pid in [0, 1, SIZE, u32::MAX] {
            assert_eq!(tgids.of(pid), None);
        }
        tgids.see(0, 0);
        tgids.see(7, 5);
        tgids.see(5, 5);
        tgids.see(u32::MAX, 9);
        assert_eq!(tgids.of(0), None);
        assert_eq!((tgids.of(7), tgids.of(u32::MAX)), (Some(5), Some(9)));
        assert_eq!(tgids.iter().count(), 3);
        // It displaces another.
        tgids.see(SIZE + 7, 3);
        assert_eq!((tgids.of(7), tgids.of(SIZE + 7)), (None, Some(3)));
        tgids.see(SIZE + 7, 4);
        assert_eq!(tgids.of(SIZE + 7), Some(4));
    }
}
