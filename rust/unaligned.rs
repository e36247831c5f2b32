// SPDX-License-Identifier: GPL-2.0

//! Accesses to values of several bytes at any address.

use super::arch;

/// Stores `from` at `to`: `*to = from` in as few instructions as the processor needs. The
/// compiler may need more.
///
/// Context: any.
#[inline(always)]
pub fn store<const N: usize>(to: &mut [u8; N], from: [u8; N]) {
    arch::store(to, from);
}

/// Stores `from` at the offset `at` of `to`, as [`store`]. Returns false if it does not fit.
///
/// Context: any.
#[inline(always)]
pub fn store_at<const N: usize>(to: &mut [u8], at: usize, from: [u8; N]) -> bool {
    arch::store_at(to, at, from)
}

/// Copies `from` to `to`: `*to = *from` in as few instructions as the processor needs.
/// The compiler may need more.
///
/// Context: any.
#[inline(always)]
pub fn copy<const N: usize>(to: &mut [u8; N], from: &[u8; N]) {
    arch::copy(to, from);
}

/// Copies `from` to `to`, which have the same length, `N` to `2 * N` bytes: the first `N` and the
/// last, which may overlap.
///
/// Not a call of `memcpy()`: on x86 that is a string instruction, which takes longer to begin
/// than a short record to copy.
///
/// Context: any.
#[inline(always)]
pub fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk()) {
        copy(to, from);
    }
    if to.len() == N {
        return;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk()) {
        copy(to, from);
    }
}
