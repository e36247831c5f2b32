// SPDX-License-Identifier: GPL-2.0

//! Sorts row numbers.
//!
//! The sorts of `core` may panic, which the module must not reference.

use core::cmp::Ordering;

use super::stop::Stop;
use crate::sys::Vec;

/// Numbers that are merged between two checks for rescheduling.
const AT_ONCE: usize = 1 << 12;

/// Sorts `order` by `compare`, stably.
///
/// Context: process, may sleep.
///
/// # Errors
///
/// [`Stop`].
pub(super) fn sort(
    order: &mut Vec<u32>,
    compare: impl Fn(u32, u32) -> Ordering,
) -> Result<(), Stop> {
    let mut other = Vec::from_slice(order)?;
    let mut width = 1usize;
    let mut done = 0usize;
    while width < order.len() {
        let (mut from, mut to) = (&order[..], &mut other[..]);
        while !from.is_empty() {
            let run = width.saturating_mul(2).min(from.len());
            let Some((runs, from_rest)) = from.split_at_checked(run) else {
                break;
            };
            let Some((merged, to_rest)) = to.split_at_mut_checked(run) else {
                break;
            };
            let halves = runs.split_at_checked(width).unwrap_or((runs, &[]));
            merge(halves, merged, &compare)?;
            done = done.saturating_add(run);
            if done >= AT_ONCE {
                done = 0;
                Stop::check()?;
            }
            (from, to) = (from_rest, to_rest);
        }
        core::mem::swap(order, &mut other);
        width = width.saturating_mul(2);
    }
    Ok(())
}

/// Merges two sorted parts.
fn merge(
    (mut left, mut right): (&[u32], &[u32]),
    to: &mut [u32],
    compare: &impl Fn(u32, u32) -> Ordering,
) -> Result<(), Stop> {
    for (n, slot) in to.iter_mut().enumerate() {
        if n % AT_ONCE == AT_ONCE - 1 {
            Stop::check()?;
        }
        *slot = match (left, right) {
            ([a, ..], [b, rest @ ..]) if compare(*a, *b) == Ordering::Greater => {
                right = rest;
                *b
            }
            ([a, rest @ ..], _) => {
                left = rest;
                *a
            }
            ([], [b, rest @ ..]) => {
                right = rest;
                *b
            }
            ([], []) => break,
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_sorted_and_equal_ones_stay() {
        for length in [0u32, 1, 2, 3, 7, 64, 100, 1000] {
            let mut order = Vec::new();
            for n in 0..length {
                order.push(n).unwrap();
            }
            let key = |n: u32| n.wrapping_mul(2_654_435_761) % 17;
            sort(&mut order, |a, b| key(a).cmp(&key(b))).unwrap();
            let mut expected: std::vec::Vec<u32> = (0..length).collect();
            expected.sort_by_key(|&n| key(n));
            assert_eq!(&order[..], &expected[..]);
        }
    }
}
