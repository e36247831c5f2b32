// SPDX-License-Identifier: GPL-2.0

//! `CString`.

use ferroprobe_kernel::{
    alloc::AllocError,
    error::code::*,
    fmt,
    heap::Heap,
    str::{CStrExt, CString},
};
use proptest::prelude::*;
use std::ffi::CStr;

proptest! {
    #[test]
    fn a_text_is_formatted(parts in any::<[String; 3]>(), number in any::<u64>()) {
        let [a, b, c] = &parts;
        let expected = format!("{a}{number}{b}:{c:>20}");
        Heap::run(|_| {
            let made = CString::try_from_fmt(fmt!("{a}{number}{b}:{c:>20}"));
            match expected.contains('\0') {
                true => assert_eq!(made.err(), Some(EINVAL)),
                false => assert_eq!(made.unwrap().to_bytes(), expected.as_bytes()),
            }
        });
    }
}

#[test]
fn a_text_with_a_nul_is_refused() {
    Heap::run(|_| {
        for text in ["\0", "a\0", "\0a", "a\0b"] {
            let made = CString::try_from_fmt(fmt!("{text}"));
            assert_eq!(made.err(), Some(EINVAL), "{text:?}");
        }
        let empty = CString::try_from_fmt(fmt!("")).unwrap();
        assert_eq!(empty.to_bytes_with_nul(), [0]);
    });
}

#[test]
fn each_allocation_may_fail() {
    Heap::run(|heap| {
        let mut failures = 0;
        loop {
            heap.fail_after(failures);
            // Each part is longer than all before it, so that none fits where those are.
            let made = CString::try_from_fmt(fmt!("{}{:9}{:90}{:900}", 1, 2, 3, 4));
            if heap.will_fail() {
                assert_eq!(made.unwrap().to_bytes().len(), 1000);
                break;
            }
            assert_eq!(made.err(), Some(ENOMEM));
            assert_eq!(heap.live(), 0);
            failures += 1;
        }
        heap.fail_no_more();
        assert!(failures >= 4, "{failures} allocations");
        // The NUL has no room where the text fills the memory.
        heap.fail_after(1);
        assert_eq!(CString::try_from_fmt(fmt!("x")).err(), Some(ENOMEM));
    });
}

#[test]
fn a_string_is_copied() {
    Heap::run(|heap| {
        let copy = CString::try_from(c"some text").unwrap();
        assert_eq!(&*copy, c"some text");
        assert_eq!(copy.to_bytes_with_nul(), b"some text\0");
        assert_eq!(format!("{copy:?}"), "\"some text\"");
        let pointer = copy.as_char_ptr();
        // SAFETY: The string lives.
        let again = unsafe { <CStr as CStrExt>::from_char_ptr(pointer) };
        assert_eq!(again, c"some text");
        drop(copy);
        heap.fail_after(0);
        assert_eq!(CString::try_from(c"some text").err(), Some(AllocError));
    });
}
