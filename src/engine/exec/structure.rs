// SPDX-License-Identifier: GPL-2.0

//! Whole structures, and what a call has changed in them.

use super::env::Env;
use super::write::{field, fill};
use crate::engine::fetch::saved_words;

/// Writes the `size` bytes of a structure as they were saved from the word `first` on, to `at`,
/// and behind them those at `address`. Returns false, and zeros, if they could not be read.
#[inline(never)]
#[link_section = ".kprobes.text"]
pub(super) fn changes<E: Env>(
    env: &E,
    address: u64,
    size: u16,
    (first, at): (u16, u16),
    out: &mut [u8],
) -> bool {
    let mut is_read = env.entry_data(first) != 0;
    if let Some(to) = field(out, at, size) {
        let mut slot = first;
        for start in saved_words(size) {
            slot = slot.wrapping_add(1);
            let word = env.entry_data(slot).to_le_bytes();
            let to = to.get_mut(usize::from(start)..).unwrap_or_default();
            for (to, from) in to.iter_mut().zip(word) {
                *to = from;
            }
        }
    }
    let after = field(out, at.wrapping_add(size), size);
    is_read &= after.is_some_and(|to| env.read(address, to));
    if !is_read {
        fill(out, at, size.wrapping_mul(2));
    }
    is_read
}
