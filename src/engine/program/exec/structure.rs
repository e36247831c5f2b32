// SPDX-License-Identifier: GPL-2.0

//! Whole structures, and changes that a call made to them.

use super::env::Env;
use super::value::{follow_links, value};
use super::write::{field, fill, put};
use crate::engine::program::fetch::{saved_words, General, LoadOrigin, Program, Store};
use crate::engine::record;

/// Copies a whole structure into the record; zeroes, and no length, if it cannot be read. Does
/// nothing for other arguments.
#[inline(never)]
#[link_section = ".kprobes.text"]
pub(super) fn whole<E: Env>(program: &Program, arg: &General, env: &E, out: &mut [u8]) {
    let Store::Whole {
        offset,
        user,
        size,
        at,
    } = arg.store
    else {
        return;
    };
    // The usual origins first.
    let from = match arg.origin {
        LoadOrigin::Register(reg) => env.reg(reg),
        LoadOrigin::Current => env.current(),
        origin => any_value(origin, env),
    };
    let from = follow_links(program, arg.links, env, from);
    let is_read = from.zip(field(out, at, size)).is_some_and(|(from, to)| {
        let address = from.wrapping_add_signed(offset);
        match user {
            true => env.read_user(address, to),
            false => env.read_block(address, to),
        }
    });
    if !is_read {
        fill(out, at, size);
    }
    let length = if is_read { size } else { 0 };
    put(out, arg.dst, record::data_loc(at, length).to_le_bytes());
}

#[cold]
#[inline(never)]
#[link_section = ".kprobes.text"]
fn any_value<E: Env>(origin: LoadOrigin, env: &E) -> u64 {
    value(origin, env)
}

/// Writes a structure of `size` bytes as it was saved, in words from `first` on, to `at`, and
/// behind it the structure at `address` as it is now. Returns false, and writes zeroes, if it could
/// not be read.
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
    is_read &= after.is_some_and(|to| env.read_block(address, to));
    if !is_read {
        fill(out, at, size.wrapping_mul(2));
    }
    is_read
}
