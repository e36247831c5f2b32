// SPDX-License-Identifier: GPL-2.0

//! The numbers of events, and the formats that recorded events still need.

use std::collections::BTreeSet;

use ferroprobe_engine::engine::record::numbers::{Needed, Numbers, COUNT, FIRST};
use ferroprobe_engine::engine::refusal::error::{Errno, Kind};
use ferroprobe_engine::sys::fail_allocation_after;

#[test]
fn all_numbers_are_taken_and_no_more() {
    let mut numbers = Numbers::new().unwrap();
    let taken: BTreeSet<u16> = (0..COUNT).map(|_| numbers.take().unwrap()).collect();
    assert_eq!(taken.len(), COUNT);
    assert_eq!(taken.first(), Some(&FIRST));
    assert_eq!(taken.last(), Some(&u16::MAX));
    for _ in 0..2 {
        let refusal = numbers.take().unwrap_err();
        assert_eq!(
            (refusal.kind, refusal.errno),
            (Kind::NoNumber, Errno::ENOSPC)
        );
    }
    for number in [0xffff, FIRST, 0x9abc] {
        numbers.give_back(number);
        assert_eq!(numbers.take().unwrap(), number);
        assert!(numbers.take().is_err());
    }
}

#[test]
fn a_number_that_is_given_back_is_given_anew_as_late_as_possible() {
    let mut numbers = Numbers::new().unwrap();
    let first = numbers.take().unwrap();
    for _ in 1..COUNT {
        numbers.give_back(first);
        assert_ne!(numbers.take().unwrap(), first);
    }
    assert_eq!(numbers.take().unwrap(), first);
}

#[test]
fn what_was_not_taken_is_not_given_back_twice() {
    let mut numbers = Numbers::new().unwrap();
    numbers.give_back(FIRST);
    let first = numbers.take().unwrap();
    numbers.give_back(first);
    numbers.give_back(first);
    numbers.give_back(1);
    assert_eq!((0..COUNT).filter(|_| numbers.take().is_ok()).count(), COUNT);
    assert!(numbers.take().is_err());
}

#[test]
fn numbers_need_memory() {
    fail_allocation_after(Some(0));
    assert!(Numbers::new().is_err());
    fail_allocation_after(Some(0));
    assert!(Needed::new().is_err());
    fail_allocation_after(None);
}

/// The formats that are not needed for records with `numbers`.
fn unneeded(numbers: &[u16]) -> Vec<u64> {
    let mut needed = Needed::new().unwrap();
    for (serial, number) in [
        (10, FIRST),
        (11, FIRST + 1),
        (12, FIRST + 9),
        (13, u16::MAX),
    ] {
        needed.add(serial, number).unwrap();
    }
    for &number in numbers {
        needed.see(number);
    }
    needed.unneeded().collect()
}

#[test]
fn a_format_is_needed_as_long_as_a_record_has_it() {
    assert_eq!(unneeded(&[]), [10, 11, 12, 13]);
    assert_eq!(unneeded(&[FIRST]), [11, 12, 13]);
    assert_eq!(unneeded(&[u16::MAX, FIRST + 1, u16::MAX]), [10, 12]);
    // Of an event that was not removed, and of a marker.
    assert_eq!(unneeded(&[FIRST + 2, 5]), [10, 11, 12, 13]);
}
