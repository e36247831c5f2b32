// SPDX-License-Identifier: GPL-2.0

//! Values that notice when they are dropped twice, never, or lie where they must not.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    hint::black_box,
};

thread_local! {
    static SERIALS: RefCell<BTreeSet<u64>> = const { RefCell::new(BTreeSet::new()) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
    static WITHOUT_SIZE: Cell<usize> = const { Cell::new(0) };
}

/// Returns how many values of this thread there are.
pub fn live() -> usize {
    SERIALS.with_borrow(BTreeSet::len) + WITHOUT_SIZE.get()
}

/// A value to be put in arrays.
pub trait Element: Clone {
    /// Makes the value of a number.
    fn make(number: u32) -> Self;
    /// Returns the number; 0 if there is no room for one.
    fn number(&self) -> u32;
}

/// Asserts that `value` lies as its type says: the compiler believes it of a reference.
pub fn assert_aligned<T>(value: &T) {
    let address = black_box(std::ptr::from_ref(value).addr());
    assert_eq!(address % align_of::<T>(), 0, "not aligned");
}

/// A value with a number.
#[derive(Debug)]
pub struct Tracked {
    serial: u64,
    number: u32,
}

impl Element for Tracked {
    fn make(number: u32) -> Self {
        let serial = NEXT.get();
        NEXT.set(serial + 1);
        SERIALS.with_borrow_mut(|serials| serials.insert(serial));
        Self { serial, number }
    }

    fn number(&self) -> u32 {
        let is_live = SERIALS.with_borrow(|serials| serials.contains(&self.serial));
        assert!(is_live, "used after it was dropped");
        assert_aligned(self);
        self.number
    }
}

impl Clone for Tracked {
    fn clone(&self) -> Self {
        Self::make(self.number())
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        let was_live = SERIALS.with_borrow_mut(|serials| serials.remove(&self.serial));
        assert!(was_live, "dropped twice");
    }
}

/// A value of three times its alignment, which is larger than a word.
#[derive(Clone)]
#[repr(align(32))]
pub struct Wide {
    tracked: Tracked,
    _rest: [u64; 8],
}

impl Element for Wide {
    fn make(number: u32) -> Self {
        Self {
            tracked: Tracked::make(number),
            _rest: [7; 8],
        }
    }

    fn number(&self) -> u32 {
        assert_aligned(self);
        assert_eq!(self._rest, [7; 8]);
        self.tracked.number()
    }
}

/// A value without a size, with an alignment.
#[repr(align(64))]
pub struct Nothing;

impl Element for Nothing {
    fn make(_: u32) -> Self {
        WITHOUT_SIZE.set(WITHOUT_SIZE.get() + 1);
        Self
    }

    fn number(&self) -> u32 {
        assert_aligned(self);
        0
    }
}

impl Clone for Nothing {
    fn clone(&self) -> Self {
        Self::make(0)
    }
}

impl Drop for Nothing {
    fn drop(&mut self) {
        let count = WITHOUT_SIZE.get().checked_sub(1);
        WITHOUT_SIZE.set(count.expect("dropped twice"));
    }
}

/// A byte, whose drop cannot be seen.
impl Element for u8 {
    fn make(number: u32) -> Self {
        number.to_le_bytes()[0]
    }

    fn number(&self) -> u32 {
        (*self).into()
    }
}
