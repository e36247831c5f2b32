// SPDX-License-Identifier: GPL-2.0

//! Unaligned accesses to values of several bytes.

use super::arch;

/// Stores `from` at `to`: `*to = from` in the fewest instructions. The compiler may need more.
///
/// Context: any.
#[inline(always)]
pub fn store<const N: usize>(to: &mut [u8; N], from: [u8; N]) {
    arch::store(to, from);
}

/// Stores `from` at offset `at` of `to` like [`store`]. Returns false if it does not fit.
///
/// Context: any.
#[inline(always)]
pub fn store_at<const N: usize>(to: &mut [u8], at: usize, from: [u8; N]) -> bool {
    arch::store_at(to, at, from)
}

/// Copies `from` to `to`: `*to = *from` in the fewest instructions. The compiler may need more.
///
/// Context: any.
#[inline(always)]
pub fn copy<const N: usize>(to: &mut [u8; N], from: &[u8; N]) {
    arch::copy(to, from);
}

/// Copies `from` to `to`, which have the same length of `N` to `2 * N` bytes: the first `N` and the
/// last `N`, which may overlap.
///
/// Not by `memcpy()`: on x86 that is a string instruction, which takes longer to start than a short
/// record takes to copy.
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

/// Copies `from` to `to`, up to the shorter length.
///
/// Not by `memcpy()`, see [`copy_ends`].
///
/// Context: any.
#[inline(always)]
pub fn copy_slice(to: &mut [u8], from: &[u8]) {
    let length = to.len().min(from.len());
    // SAFETY: Both have that many bytes, and do not overlap.
    unsafe { copy_up(from.as_ptr(), to.as_mut_ptr(), length) };
}

/// Moves the `length` bytes at `from` to the beginning of `bytes`; does nothing if there are fewer.
///
/// Context: any.
#[inline(always)]
pub fn move_down(bytes: &mut [u8], from: usize, length: usize) {
    if from.checked_add(length).is_none_or(|end| end > bytes.len()) {
        return;
    }
    let to = bytes.as_mut_ptr();
    // SAFETY: All is within `bytes`, and the beginning is not above `from`.
    unsafe { copy_up(to.add(from), to, length) };
}

/// Copies `length` bytes in ascending order.
///
/// # Safety
///
/// They must be valid for reads at `from` and for writes at `to`. Where both overlap, `to` must not
/// be above `from`.
#[inline(always)]
unsafe fn copy_up(mut from: *const u8, mut to: *mut u8, length: usize) {
    let long = length / 16;
    // SAFETY: The parts are behind each other, and together `length` bytes. Each is loaded before
    // it is stored, and nothing behind it is stored before.
    unsafe {
        if long > 0 {
            arch::copy_up(from, to, long);
            (from, to) = (from.add(long * 16), to.add(long * 16));
        }
        macro_rules! part {
            ($bytes:literal) => {
                if length & $bytes != 0 {
                    let part: [u8; $bytes] = from.cast::<[u8; $bytes]>().read();
                    arch::store(&mut *to.cast::<[u8; $bytes]>(), part);
                    (from, to) = (from.add($bytes), to.add($bytes));
                }
            };
        }
        part!(8);
        part!(4);
        part!(2);
        if length & 1 != 0 {
            *to = *from;
        }
    }
}
