// SPDX-License-Identifier: GPL-2.0

//! Short-lived working memory for code that runs in any context.

use super::{context::OnCpu, local::Counter, percpu::PerCpu};
use core::slice;
use kernel::prelude::*;

/// The size of one piece, in bytes.
pub const SIZE: usize = 4096;

/// The number of contexts that can nest on a CPU: process, softirq, hardirq, NMI.
const LEVELS: usize = 4;

/// Working memory of each CPU, with one piece for each context that can nest on it.
pub struct Scratch(PerCpu<ScratchPieces>);

/// # Invariants
///
/// - `memory` points to `LEVELS` pieces of [`SIZE`] bytes, which `_owner` frees.
/// - The pieces below `depth` are in use, each by one caller of [`Scratch::with`]; later
///   callers interrupted earlier ones.
struct ScratchPieces {
    depth: Counter,
    memory: *mut u8,
    _owner: KVVec<u8>,
}

// SAFETY: The pieces are used by one CPU, and the invariant keeps them apart.
unsafe impl Sync for ScratchPieces {}
// SAFETY: The pieces are bound to no thread.
unsafe impl Send for ScratchPieces {}

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
            Ok(ScratchPieces {
                depth: Counter::new(),
                memory: owner.as_mut_ptr(),
                _owner: owner,
            })
        })?))
    }

    /// Calls `work` with a piece, which holds what its last user left in it. Returns
    /// `None` if calls nest deeper than contexts can.
    ///
    /// Context: any.
    #[inline]
    pub fn with<R>(&self, here: &OnCpu, work: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        let pieces = self.0.this_cpu(here);
        let depth = pieces.depth.get();
        pieces.depth.add(1);
        let result = usize::try_from(depth)
            .ok()
            .filter(|&depth| depth < LEVELS)
            .map(|depth| {
                // SAFETY: The piece is within the memory by the type invariant. It was
                // not in use, and the counter now marks it as used: a caller that
                // interrupts this one takes the next piece. A caller that came between
                // the read and the addition has returned its piece.
                work(unsafe {
                    slice::from_raw_parts_mut(pieces.memory.add(depth.wrapping_mul(SIZE)), SIZE)
                })
            });
        pieces.depth.add(u64::MAX);
        result
    }
}
