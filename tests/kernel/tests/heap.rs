// SPDX-License-Identifier: GPL-2.0

//! The heap of the tests notices what it is there to notice.

use ferroprobe_kernel::{
    alloc::{flags::*, KBox, KVVec, KVec},
    heap::Heap,
};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Returns with what message `test` fails.
fn failure(test: impl FnOnce(&Heap)) -> String {
    let failed = catch_unwind(AssertUnwindSafe(|| Heap::run(test)));
    let payload = failed.expect_err("nothing was noticed");
    let text = payload.downcast_ref::<String>().cloned();
    text.or(payload.downcast_ref::<&str>().map(|text| (*text).into()))
        .unwrap()
}

#[test]
fn memory_that_stays_is_noticed() {
    let text = failure(|_| std::mem::forget(KBox::<_>::new(5, GFP_KERNEL).unwrap()));
    assert!(text.contains("not freed"), "{text}");
}

#[test]
fn memory_that_is_freed_twice_is_noticed() {
    let text = failure(|_| {
        let pointer = KBox::into_raw(KBox::new(5, GFP_KERNEL).unwrap());
        // SAFETY: The heap asserts before it uses memory.
        unsafe {
            drop(KBox::from_raw(pointer));
            drop(KBox::from_raw(pointer));
        }
    });
    assert!(text.contains("no memory of this heap"), "{text}");
}

#[test]
fn memory_of_another_allocator_is_noticed() {
    let text = failure(|_| {
        let mut bytes = std::mem::ManuallyDrop::new(KVVec::new());
        bytes.push(1u8, GFP_KERNEL).unwrap();
        // SAFETY: The heap asserts before it uses memory.
        drop(unsafe { KBox::from_raw(bytes.as_mut_ptr()) });
    });
    assert!(text.contains("another allocator"), "{text}");
}

#[test]
fn a_write_outside_is_noticed() {
    for offset in [-1, 5] {
        let text = failure(|_| {
            let mut bytes = KVec::from_elem(1u8, 5, GFP_KERNEL).unwrap();
            // SAFETY: The heap has memory around what it gives.
            unsafe { bytes.as_mut_ptr().offset(offset).write(1) };
        });
        assert!(text.contains("written outside"), "{text}");
    }
}

#[test]
fn a_write_to_what_was_freed_is_noticed() {
    let text = failure(|_| {
        let mut bytes = KVec::from_elem(1u8, 5, GFP_KERNEL).unwrap();
        let pointer = bytes.as_mut_ptr();
        drop(bytes);
        // SAFETY: The heap keeps the memory up to its end.
        unsafe { pointer.write(1) };
    });
    assert!(text.contains("after it was freed"), "{text}");
}

#[test]
fn new_memory_is_zeroes_where_that_is_asked_for() {
    Heap::run(|_| {
        let mut zeroes = KVec::<u8>::with_capacity(9, GFP_KERNEL | __GFP_ZERO).unwrap();
        let mut others = KVec::<u8>::with_capacity(9, GFP_KERNEL).unwrap();
        for (bytes, expected) in [(&mut zeroes, 0), (&mut others, 0xa5)] {
            // SAFETY: The heap writes all its memory.
            unsafe { bytes.inc_len(9) };
            assert_eq!(**bytes, [expected; 9]);
        }
    });
}
