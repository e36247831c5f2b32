// SPDX-License-Identifier: GPL-2.0

//! Writes to a record, within its bounds.

use super::env::Env;
use crate::engine::program::fetch::Program;
use crate::engine::record;

#[inline(always)]
pub(super) fn field(out: &mut [u8], at: u16, size: u16) -> Option<&mut [u8]> {
    let at = usize::from(at);
    // Two 16-bit numbers: the sum does not overflow.
    out.get_mut(at..at.wrapping_add(usize::from(size)))
}

#[inline(always)]
pub(super) fn put<const N: usize>(out: &mut [u8], at: u16, bytes: [u8; N]) {
    if !record::put(out, usize::from(at), bytes) {
        cold();
    }
}

/// Marks the branch that calls this as unlikely.
#[cold]
pub(super) fn cold() {}

/// Reads memory into the `N` bytes at `at`.
#[inline(always)]
pub(super) fn read_to<const N: usize, E: Env>(
    env: &E,
    address: u64,
    out: &mut [u8],
    at: u16,
) -> bool {
    let at = usize::from(at);
    // As in `field`.
    let to = out.get_mut(at..at.wrapping_add(N));
    to.and_then(|to| to.try_into().ok())
        .is_some_and(|to| env.read_word::<N>(address, to))
}

#[inline]
pub(super) fn fill(out: &mut [u8], at: u16, size: u16) {
    if let Some(to) = field(out, at, size) {
        to.fill(0);
    }
}

/// Records that an argument could not be read: zeroes and its fault bit.
#[cold]
#[inline(never)]
#[link_section = ".kprobes.text"]
pub(super) fn failed(program: &Program, out: &mut [u8], dst: u16, size: u16, fault: Option<u8>) {
    fill(out, dst, size);
    if let (Some(faults), Some(fault)) = (program.faults, fault) {
        faults.set(out, fault);
    }
}

/// Stores the low `width` bytes of `value`.
pub(super) fn store(out: &mut [u8], dst: u16, width: u8, value: u64) {
    let bytes = value.to_le_bytes();
    if let (Some(to), Some(from)) = (
        field(out, dst, u16::from(width)),
        bytes.get(..usize::from(width)),
    ) {
        to.copy_from_slice(from);
    }
}
