// SPDX-License-Identifier: GPL-2.0

//! Short-lived working memory for code that runs in any context.

use super::{
    bindings as extra,
    context::OnCpu,
    local::Counter,
    percpu::{self, PerCpu},
};
use core::{
    marker::PhantomData,
    mem, ptr,
    sync::atomic::{compiler_fence, AtomicPtr, Ordering},
};
use kernel::{
    alloc::KVVec, error::to_result, ffi::c_void, new_mutex, prelude::*, sync::Mutex,
    transmute::FromBytes,
};

/// The default size of a piece, in bytes.
pub const SIZE: usize = 4096;

/// The number of contexts that can nest on a CPU: process, softirq, hardirq, NMI.
pub const CONTEXTS: usize = 4;

/// Working memory of each CPU: `LEVELS` pieces of undefined content. A CPU that was absent when it
/// was allocated has none until [`Scratch::fill`].
#[pin_data]
pub struct Scratch<T, const LEVELS: usize> {
    pieces: PerCpu<ScratchPieces>,
    /// Memory of CPUs that were absent at first.
    #[pin]
    later: Mutex<KVec<KVVec<u64>>>,
    _pieces: PhantomData<fn(&mut T)>,
}

/// # Invariants
///
/// - `memory` points to the pieces of its [`Scratch`], which `_owner` frees, or an element of
///   [`Scratch::later`]; or it is null, and `depth` is at least the number of pieces.
/// - The pieces below `depth` are in use, each by one caller of [`Scratch::with`]; later
///   callers interrupted earlier ones.
struct ScratchPieces {
    depth: Counter,
    memory: AtomicPtr<u64>,
    _owner: KVVec<u64>,
}

// SAFETY: The pieces are used by one CPU, and the invariant keeps them apart.
unsafe impl Sync for ScratchPieces {}
// SAFETY: The pieces are bound to no thread.
unsafe impl Send for ScratchPieces {}

impl<T: FromBytes, const LEVELS: usize> Scratch<T, LEVELS> {
    /// The words of all pieces.
    const WORDS: usize = {
        assert!(mem::align_of::<T>() <= 8 && mem::size_of::<T>() % 8 == 0);
        LEVELS * (mem::size_of::<T>() / 8)
    };

    /// Allocates the memory of the present CPUs.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new() -> Result<impl PinInit<Self>> {
        let pieces = PerCpu::new(|cpu| {
            let (depth, mut owner) = (Counter::new(), KVVec::new());
            let mut memory = ptr::null_mut();
            if percpu::is_present(cpu) {
                owner = KVVec::from_elem(0, Self::WORDS, GFP_KERNEL)?;
                memory = owner.as_mut_ptr();
            } else {
                // CAST: Lossless.
                depth.add(LEVELS as u64);
            }
            // INVARIANT: The allocation has that size and does not move; or there is none.
            Ok(ScratchPieces {
                depth,
                memory: AtomicPtr::new(memory),
                _owner: owner,
            })
        })?;
        Ok(pin_init!(Self {
            pieces,
            later <- new_mutex!(KVec::new()),
            _pieces: PhantomData,
        }))
    }

    /// Allocates the memory of `cpu`, unless it has some.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `ENXIO` if it is not online.
    ///
    /// Context: process, may sleep.
    pub fn fill(&self, cpu: u32) -> Result {
        /// The new memory of a CPU.
        struct Filled<'a> {
            pieces: &'a ScratchPieces,
            memory: *mut u64,
        }

        /// Called on the CPU, in an interrupt.
        ///
        /// # Safety
        ///
        /// `data` points to a `Filled`, of the CPU on which this runs, with so many pieces.
        unsafe extern "C" fn put<const LEVELS: usize>(data: *mut c_void) {
            // SAFETY: By the requirement of this function.
            let filled = unsafe { &*data.cast::<Filled<'_>>() };
            let pieces = filled.pieces;
            // INVARIANT: The memory is stored before `depth` allows its use; interrupts of this
            // code run on the same CPU.
            pieces.memory.store(filled.memory, Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            // CAST: Lossless.
            pieces.depth.add((LEVELS as u64).wrapping_neg());
        }

        let Some(pieces) = self.pieces.get(cpu) else {
            return Ok(());
        };
        let mut later = self.later.lock();
        if !pieces.memory.load(Ordering::Relaxed).is_null() {
            return Ok(());
        }
        later.reserve(1, GFP_KERNEL)?;
        let mut owner = KVVec::from_elem(0, Self::WORDS, GFP_KERNEL)?;
        let memory = owner.as_mut_ptr();
        let filled = Filled { pieces, memory };
        let data = (&raw const filled).cast_mut().cast();
        // SAFETY: The call waits until the function has returned, and the data lives until then.
        to_result(unsafe { extra::ferroprobe_call_on(cpu, Some(put::<LEVELS>), data) })?;
        // INVARIANT: The memory does not move. There is room.
        let _ = later.push_within_capacity(owner);
        Ok(())
    }

    /// Calls `work` with a piece, whose content is undefined. Returns `None` if calls nest deeper
    /// than there are pieces, or if the CPU has no memory yet.
    ///
    /// Context: any.
    #[inline]
    pub fn with<R>(&self, here: &OnCpu, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.lend(here, Closure(work))
    }

    /// [`Scratch::with`] for a [`Borrower`].
    ///
    /// Context: any.
    #[inline(always)]
    pub fn lend<B: Borrower<T>>(&self, here: &OnCpu, borrower: B) -> Option<B::Result> {
        let pieces = self.pieces.this_cpu(here);
        let depth = pieces.depth.get();
        pieces.depth.add(1);
        let result = match usize::try_from(depth) {
            Ok(depth) if depth < LEVELS => {
                let memory = pieces.memory.load(Ordering::Relaxed).cast::<T>();
                // SAFETY: The piece is within the memory by the type invariant; it is aligned, and
                // any bytes are a `T`. It was not in use, and the counter now marks it as used: a
                // caller that interrupts this one takes the next piece. A caller that came between
                // the read and the addition has returned its piece.
                Some(borrower.borrow(unsafe { &mut *memory.add(depth) }))
            }
            _ => None,
        };
        pieces.depth.add(u64::MAX);
        result
    }
}

/// What is done with a piece.
///
/// A trait and not a closure, because the compiler does not inline every closure.
pub trait Borrower<T> {
    /// What it returns.
    type Result;

    /// Does it.
    fn borrow(self, piece: &mut T) -> Self::Result;
}

struct Closure<F>(F);

impl<T, R, F: FnOnce(&mut T) -> R> Borrower<T> for Closure<F> {
    type Result = R;

    #[inline(always)]
    fn borrow(self, piece: &mut T) -> R {
        self.0(piece)
    }
}
