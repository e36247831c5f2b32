// SPDX-License-Identifier: GPL-2.0

//! The kernel's heap for one test: it fails when told to, promises no more than the kernel does,
//! and notices wrong use.
//!
//! Memory moves with each reallocation. It has the alignment that the kernel promises and no other,
//! and is surrounded by bytes that must not change. What was freed stays in a list up to the end,
//! and must not change either.

use core::{cell::RefCell, ptr};
use std::{
    alloc::Layout,
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Who gave memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `kmalloc()`.
    Kmalloc,
    /// `kvmalloc()`.
    KVmalloc,
}

/// What surrounds memory.
const AROUND: u8 = 0xbb;
/// What new memory has.
const NEW: u8 = 0xa5;
/// What freed memory has.
const FREED: u8 = 0x6b;
/// The alignment of sizes that are no power of two.
const WORD: usize = 8;
/// The alignment of pages that are mapped one by one, which no size has more of.
const PAGE: usize = 4096;

/// Memory that was given.
struct Block {
    kind: Kind,
    /// The memory with its surroundings.
    base: *mut u8,
    /// How far the memory is from there, which is also its alignment.
    before: usize,
    size: usize,
}

// SAFETY: The heap uses its blocks under its lock.
unsafe impl Send for Block {}

impl Block {
    /// The layout of the memory with its surroundings: as much behind the memory as before it.
    fn layout(before: usize, size: usize) -> Layout {
        Layout::from_size_align(before * 2 + size, before * 2).unwrap()
    }

    fn new(kind: Kind, size: usize) -> Self {
        let most = match kind {
            Kind::Kmalloc => usize::MAX,
            Kind::KVmalloc => PAGE,
        };
        let before = match size.is_power_of_two() {
            true => size.clamp(WORD, most),
            false => WORD,
        };
        let layout = Self::layout(before, size);
        // SAFETY: The layout has a size.
        let base = unsafe { std::alloc::alloc(layout) };
        assert!(!base.is_null(), "the host has no memory");
        // SAFETY: The memory is of that layout.
        unsafe { base.write_bytes(AROUND, layout.size()) };
        let block = Self {
            kind,
            base,
            before,
            size,
        };
        block.fill(NEW);
        block
    }

    fn start(&self) -> *mut u8 {
        self.base.wrapping_add(self.before)
    }

    fn fill(&self, byte: u8) {
        // SAFETY: The memory is there as long as the block is.
        unsafe { self.start().write_bytes(byte, self.size) };
    }

    /// Asserts that nobody wrote outside.
    fn check(&self) {
        let byte = |index| {
            // SAFETY: The index is inside of the layout; all bytes were written.
            unsafe { self.base.wrapping_add(index).read() }
        };
        let end = self.before + self.size;
        let is_kept = (0..self.before).chain(end..end + self.before);
        assert!(
            is_kept.into_iter().all(|index| byte(index) == AROUND),
            "written outside of {} bytes",
            self.size
        );
    }

    /// Asserts that nobody wrote to memory that was freed.
    fn check_freed(&self) {
        let byte = |index| {
            // SAFETY: The index is inside of the memory; all bytes were written.
            unsafe { self.start().wrapping_add(index).read() }
        };
        assert!(
            (0..self.size).all(|index| byte(index) == FREED),
            "written after it was freed"
        );
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: It was allocated with this layout.
        unsafe { std::alloc::dealloc(self.base, Self::layout(self.before, self.size)) };
    }
}

/// What a heap has.
#[derive(Default)]
struct State {
    live: BTreeMap<usize, Block>,
    freed: Vec<Block>,
    requests: usize,
    fails_at: Option<usize>,
    warnings: usize,
    log: Vec<[Vec<u8>; 3]>,
    readers: isize,
}

/// A heap. While it lives, it is that of the thread that made it, and of those that have
/// [entered](Self::enter) it.
#[derive(Clone, Default)]
pub struct Heap(Arc<Mutex<State>>);

thread_local! {
    static CURRENT: RefCell<Option<Heap>> = const { RefCell::new(None) };
}

/// Calls `use_it` with the state of the thread's heap.
fn with<R>(use_it: impl FnOnce(&mut State) -> R) -> R {
    let heap = CURRENT.with_borrow(Clone::clone);
    let heap = heap.expect("the thread has no heap");
    let mut state = heap.state();
    use_it(&mut state)
}

impl Heap {
    /// Calls `test` with a new heap, and asserts that it leaves nothing behind.
    pub fn run<R>(test: impl FnOnce(&Self) -> R) -> R {
        let heap = Self::default();
        let result = heap.enter(|| test(&heap));
        heap.end();
        result
    }

    /// Calls `inside`, in which this is the heap of the thread.
    pub fn enter<R>(&self, inside: impl FnOnce() -> R) -> R {
        /// Takes the heap from the thread, also when a test fails.
        struct Left(Option<Heap>);
        impl Drop for Left {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _left = Left(CURRENT.replace(Some(self.clone())));
        inside()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asserts that all memory was given back, and is as it was then.
    fn end(&self) {
        let state = self.state();
        assert_eq!(state.live.len(), 0, "blocks that were not freed");
        assert_eq!(state.readers, 0, "a critical section has not ended");
        state.freed.iter().for_each(Block::check_freed);
    }

    /// Returns how many blocks there are.
    pub fn live(&self) -> usize {
        self.state().live.len()
    }

    /// Returns how often memory was requested.
    pub fn requests(&self) -> usize {
        self.state().requests
    }

    /// Makes one request fail: the next one for 0, and so on.
    pub fn fail_after(&self, count: usize) {
        let mut state = self.state();
        state.fails_at = Some(state.requests + count);
    }

    /// Returns whether a request was made to fail that has not come.
    pub fn will_fail(&self) -> bool {
        self.state().fails_at.is_some()
    }

    /// Makes no request fail any more.
    pub fn fail_no_more(&self) {
        self.state().fails_at = None;
    }

    /// Returns how many warnings there were.
    pub fn warnings(&self) -> usize {
        self.state().warnings
    }

    /// Returns what was printed: formats with what they were given.
    pub fn log(&self) -> Vec<[Vec<u8>; 3]> {
        self.state().log.clone()
    }

    /// Returns how many read-side critical sections have begun and not ended.
    pub fn readers(&self) -> isize {
        self.state().readers
    }

    /// Forgets a block that is meant to stay for ever; asserts that it is there.
    pub fn forget(&self, memory: *const u8) {
        let mut state = self.state();
        let inside = |block: &Block| {
            let start = block.start().addr();
            (start..start + block.size).contains(&memory.addr())
        };
        let found = state.live.iter().find(|(_, block)| inside(block));
        let start = *found.expect("the block was freed").0;
        state.live.remove(&start);
    }
}

impl State {
    fn take(&mut self, kind: Kind, memory: *mut u8) -> Block {
        let block = self.live.remove(&memory.addr());
        let block = block.expect("no memory of this heap");
        assert_eq!(block.kind, kind, "another allocator gave it");
        block.check();
        block
    }

    fn free(&mut self, block: Block) {
        block.fill(FREED);
        self.freed.push(block);
    }
}

/// Gives memory of `size` bytes with the content of `old`, which is freed if this succeeds.
///
/// # Safety
///
/// `old` is null, or is used no more if this succeeds.
pub(crate) unsafe fn realloc(kind: Kind, old: *mut u8, size: usize, flags: u32) -> *mut u8 {
    with(|state| {
        assert_ne!(size, 0, "a request for nothing");
        assert_ne!(flags & crate::bindings::FERROPROBE_GFP_KERNEL, 0);
        state.requests += 1;
        if state.fails_at == Some(state.requests - 1) {
            state.fails_at = None;
            return ptr::null_mut();
        }
        let block = Block::new(kind, size);
        if flags & crate::bindings::FERROPROBE_GFP_ZERO != 0 {
            block.fill(0);
        }
        if !old.is_null() {
            let old = state.take(kind, old);
            let count = old.size.min(size);
            // SAFETY: Both have that many bytes, and are not the same.
            unsafe { ptr::copy_nonoverlapping(old.start(), block.start(), count) };
            state.free(old);
        }
        let start = block.start();
        state.live.insert(start.addr(), block);
        start
    })
}

/// Frees memory.
///
/// # Safety
///
/// It is used no more.
pub(crate) unsafe fn free(kind: Kind, memory: *mut u8) {
    with(|state| {
        let block = state.take(kind, memory);
        state.free(block);
    });
}

/// Counts a warning.
pub(crate) fn warn() {
    with(|state| state.warnings += 1);
}

/// Keeps what was printed.
pub(crate) fn log(parts: [Vec<u8>; 3]) {
    with(|state| state.log.push(parts));
}

/// Begins a read-side critical section, or ends it.
pub(crate) fn rcu(change: isize) {
    with(|state| {
        state.readers += change;
        assert!(state.readers >= 0, "no critical section has begun");
    });
}
