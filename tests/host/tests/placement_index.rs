// SPDX-License-Identifier: GPL-2.0

//! The index of addresses finds those of a range, no others, and each as often as it was
//! given.

use core::ops::Range;
use ferroprobe_engine::engine::code::placement::PlacementIndex;
use ferroprobe_engine::sys::{fail_allocation_after, AllocError};
use proptest::prelude::*;

const TEXT: Range<u64> = 0xffff_ffff_8100_0000..0xffff_ffff_8101_2345;

fn index(addresses: &[u64]) -> Result<PlacementIndex, AllocError> {
    PlacementIndex::new(TEXT, |found| {
        addresses.iter().copied().for_each(found);
        Ok(())
    })
}

fn within(index: &PlacementIndex, range: Range<u64>) -> Vec<u64> {
    let mut found: Vec<u64> = index.within(&range).collect();
    found.sort_unstable();
    found
}

fn near_text() -> impl Strategy<Value = u64> {
    let ends = [
        TEXT.start,
        TEXT.end,
        TEXT.end.wrapping_add(1 << 32),
        0,
        u64::MAX,
    ];
    prop_oneof![
        8 => TEXT.start - 0x1000..TEXT.end + 0x1000,
        1 => (prop::sample::select(ends.to_vec()), 0_u64..3)
            .prop_map(|(end, more)| end.wrapping_add(more).wrapping_sub(1)),
    ]
}

proptest! {
    #[test]
    fn a_range_has_the_addresses_that_were_given(
        addresses in prop::collection::vec(near_text(), 0..200),
        ranges in prop::collection::vec((near_text(), near_text()), 1..20),
    ) {
        let index = index(&addresses).unwrap();
        for (start, end) in ranges {
            let mut expected: Vec<u64> = addresses
                .iter()
                .copied()
                .filter(|address| (start..end).contains(address) && TEXT.contains(address))
                .collect();
            expected.sort_unstable();
            prop_assert_eq!(within(&index, start..end), expected);
        }
    }
}

#[test]
fn other_addresses_the_second_time_do_no_harm() {
    let passes = [
        vec![TEXT.start, TEXT.start + 8],
        vec![TEXT.start + 8; 5],
        vec![],
    ];
    for first in &passes {
        for second in &passes {
            let mut pass = [first, second].into_iter();
            let index = PlacementIndex::new(TEXT, |found| {
                pass.next().unwrap().iter().copied().for_each(found);
                Ok(())
            })
            .unwrap();
            let found = within(&index, TEXT);
            assert!(
                found.iter().all(|address| second.contains(address)),
                "{found:?}"
            );
        }
    }
}

#[test]
fn an_empty_text_has_no_addresses() {
    let index = PlacementIndex::new(0..0, |found| {
        found(0);
        found(1);
        Ok(())
    })
    .unwrap();
    assert_eq!(within(&index, 0..u64::MAX), Vec::<u64>::new());
}

#[test]
fn without_memory_there_is_no_index() {
    for after in 0..2 {
        fail_allocation_after(Some(after));
        assert!(
            matches!(index(&[TEXT.start]), Err(AllocError)),
            "after {after}"
        );
    }
    let refused = PlacementIndex::new(TEXT, |_| Err(AllocError));
    assert!(matches!(refused, Err(AllocError)));
}
