// SPDX-License-Identifier: GPL-2.0

//! Short-lived working memory for code that runs in any context.

use super::{context::OnCpu, local::Counter, percpu::PerCpu};
use core::slice;
use kernel::prelude::*;

/// Bytes of one piece.
pub const SIZE: usize = 4096;

/// Contexts that can nest on a CPU: process, softirq, hardirq, NMI.
const LEVELS: usize = 4;

/// Working memory of each CPU, a piece for each context that can nest on it.
pub struct Scratch(PerCpu<Pieces>);

/// # Invariants
///
/// - `memory` points to `LEVELS` pieces of [`SIZE`] bytes, which `_owner` frees.
/// - The pieces below `depth` are in use, each by one caller of
///   [`Scratch::with`], of which the later ones interrupted the earlier ones.
struct Pieces {
    depth: Counter,
    memory: *mut u8,
    _owner: KVVec<u8>,
}

// SAFETY: The pieces are used by one CPU, and kept apart by the invariant.
unsafe impl Sync for Pieces {}
// SAFETY: Nothing in them belongs to a thread.
unsafe impl Send for Pieces {}

impl Scratch {
    /// Allocates the memory.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new() -> Result<Self> {
        Ok(Self(PerCpu::new(|_| {
            let mut owner = KVVec::from_elem(0, LEVELS * SIZE, GFP_KERNEL)?;
            // INVARIANT: The allocation has that size and does not move.
            Ok(Pieces {
                depth: Counter::new(),
                memory: owner.as_mut_ptr(),
                _owner: owner,
            })
        })?))
    }

    /// Lends a piece to `work`, holding what was left in it; `None` if callers
    /// are nested deeper than contexts can be.
    ///
    /// Contexts: any.
    #[inline]
    pub fn with<R>(&self, here: &OnCpu, work: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        let pieces = self.0.this_cpu(here);
        let depth = pieces.depth.get();
        pieces.depth.add(1);
        let result = usize::try_from(depth)
            .ok()
            .filter(|&depth| depth < LEVELS)
            .map(|depth| {
                // SAFETY: By the type invariant within the memory. The piece was
                // not in use, and the counter now says that it is: a caller that
                // interrupts this one takes the next. One that came between
                // reading and adding has given its piece back.
                work(unsafe {
                    slice::from_raw_parts_mut(pieces.memory.add(depth.wrapping_mul(SIZE)), SIZE)
                })
            });
        pieces.depth.add(u64::MAX);
        result
    }
}
