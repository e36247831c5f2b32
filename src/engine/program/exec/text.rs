// SPDX-License-Identifier: GPL-2.0

//! Strings, and arrays of them.

use super::env::Env;
use super::value::word;
use super::write::{field, put};
use crate::engine::program::fetch::{Constant, Program};
use crate::engine::record::{self, COMM_LEN};

/// Copies a string constant into the record.
pub(super) fn constant_text(program: &Program, constant: Constant, out: &mut [u8], dst: u16) {
    let start = usize::from(constant.start);
    let from = program
        .texts
        .get(start..start.wrapping_add(usize::from(constant.len)));
    if let (Some(from), Some(to)) = (from, field(out, constant.at, constant.len)) {
        to.copy_from_slice(from);
    }
    put(
        out,
        dst,
        record::data_loc(constant.at, constant.len).to_le_bytes(),
    );
}

/// Maximum number of bytes of one string, with its NUL: `PATH_MAX`.
pub(super) const MAX_STRING: usize = 4096;

/// Number of bytes that a long string leaves free for each later one.
const RESERVED: usize = 64;

/// Calls `read` to write a string at `end`, leaving room for `later` strings, and points the word
/// at `dst` to it. Returns the new end.
///
/// Whole strings end in one NUL, truncated ones in two, see [`record::text`]; a string that
/// cannot be read has length zero.
#[inline(never)]
#[link_section = ".kprobes.text"]
pub(super) fn text(
    out: &mut [u8],
    dst: u16,
    end: u16,
    later: u16,
    read: impl FnOnce(&mut [u8]) -> Option<usize>,
) -> u16 {
    let start = usize::from(end);
    let later = usize::from(later);
    let mut limit = out.len();
    if later != 0 {
        let left = limit.saturating_sub(start);
        let share = left.checked_div(later.saturating_add(1)).unwrap_or(0);
        limit = limit.saturating_sub(share.min(RESERVED).saturating_mul(later));
    }
    let limit = limit.min(start.saturating_add(MAX_STRING));
    // Two NULs at the end of that many bytes are the padding of a task's name.
    let ambiguous = limit == start.saturating_add(COMM_LEN);
    let limit = limit.saturating_sub(usize::from(ambiguous));
    let length = match out.get_mut(start..limit) {
        // The mark for truncated text takes two bytes.
        Some(room) if room.len() >= 2 => {
            let most = room.len() - 1;
            match room.get_mut(..most).and_then(read) {
                None => 0,
                Some(n) if n < most => n,
                Some(_) => {
                    if let [.., nul, mark] = room {
                        *nul = 0;
                        *mark = 0;
                    }
                    room.len()
                }
            }
        }
        _ => 0,
    };
    // CAST: a record is shorter than 64 KiB, and `out` bounds the sum.
    let length = length.min(usize::from(u16::MAX - end)) as u16;
    put(out, dst, record::data_loc(end, length).to_le_bytes());
    end.wrapping_add(length)
}

/// Maximum number of strings of an array up to a NULL.
pub(super) const MAX_JOINED: u64 = 64;

/// Writes the strings of a NULL-terminated array, separated by spaces, with a NUL behind the last
/// one. `pointers` is the address of the array, and whether it is declared as user memory. Returns
/// the same as [`Memory::read_string`](super::env::Memory::read_string); `None` if the array cannot
/// be read.
///
/// An unreadable string becomes `(fault)`, and those beyond [`MAX_JOINED`] become `...`.
pub(super) fn joined<E: Env>(
    env: &E,
    (first, user_pointers): (u64, bool),
    user: bool,
    out: &mut [u8],
) -> Option<usize> {
    let mut end = 0usize;
    for n in 0..=MAX_JOINED {
        let address = first.wrapping_add(n.wrapping_mul(8));
        let pointer = match word(env, address, user_pointers) {
            Some(0) => break,
            None if n == 0 => return None,
            pointer => pointer,
        };
        if n > 0 {
            *out.get_mut(end)? = b' ';
            end = end.wrapping_add(1);
        }
        let room = out.get_mut(end..).unwrap_or_default();
        let pointer_or_end = pointer.filter(|_| n < MAX_JOINED);
        let length = match pointer_or_end.and_then(|at| env.read_string(at, user, room)) {
            Some(length) => length,
            None if n == MAX_JOINED => put_constant(b"...\0", room),
            None => put_constant(b"(fault)\0", room),
        };
        if length >= room.len() {
            return Some(out.len());
        }
        // The next space, or the last NUL, replaces the NUL.
        end = end.wrapping_add(length.saturating_sub(1));
        if pointer.is_none() {
            break;
        }
    }
    *out.get_mut(end)? = 0;
    Some(end.wrapping_add(1))
}

/// Writes `text`, as much of it as fits, and returns its length.
fn put_constant(text: &[u8], out: &mut [u8]) -> usize {
    for (to, from) in out.iter_mut().zip(text) {
        *to = *from;
    }
    text.len()
}
