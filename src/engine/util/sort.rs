// SPDX-License-Identifier: GPL-2.0

//! Sorts a slice in place.
//!
//! The sorts of `core` may panic, which the module must not reference.

/// Sorts `items` by `key`, with a heap: not stable, and in `n log n` time in all cases.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    for parent in (0..items.len() / 2).rev() {
        sift_down(items, parent, &key);
    }
    // Move the greatest to the end, and shrink the heap.
    let mut heap = items;
    while let [first, .., last] = heap {
        core::mem::swap(first, last);
        let len = heap.len().wrapping_sub(1);
        let Some((rest, _)) = heap.split_at_mut_checked(len) else {
            break;
        };
        sift_down(rest, 0, &key);
        heap = rest;
    }
}

/// Makes a heap of the items from `parent` on, if its children already are heaps.
fn sift_down<T, K: Ord>(items: &mut [T], mut parent: usize, key: &impl Fn(&T) -> K) {
    loop {
        let child = parent.wrapping_mul(2).wrapping_add(1);
        let Some((above, below)) = items.split_at_mut_checked(child) else {
            break;
        };
        let (place, greatest) = match below {
            [one, other, ..] if key(one) < key(other) => (child.wrapping_add(1), other),
            [one, ..] => (child, one),
            [] => break,
        };
        match above.get_mut(parent) {
            Some(sifted) if key(sifted) < key(greatest) => core::mem::swap(sifted, greatest),
            _ => break,
        }
        parent = place;
    }
}

/// Sorts `items`, not stably.
pub fn sort<T: Copy + Ord>(items: &mut [T]) {
    sort_by_key(items, |item| *item);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn all_of_any_number_are_in_order() {
        let mut state = 1u64;
        for len in (0..40).chain([1000, 4097]) {
            for distinct in [1, 2, 7, u64::MAX] {
                let next = |_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                    (state >> 11) % distinct
                };
                let mut items: Vec<u64> = (0..len).map(next).collect();
                let mut expected = items.clone();
                expected.sort();
                sort(&mut items);
                assert_eq!(items, expected);
                sort_by_key(&mut items, |item| !item);
                expected.reverse();
                assert_eq!(items, expected);
            }
        }
    }
}
