// SPDX-License-Identifier: GPL-2.0

//! The origins of arguments, registers and task properties, and the pointers followed from there.

use super::env::Env;
use crate::engine::program::fetch::{General, Hop, LoadOrigin, Program, Steps};

#[inline(always)]
pub(super) fn value<E: Env>(origin: LoadOrigin, env: &E) -> u64 {
    match origin {
        LoadOrigin::Register(reg) => env.reg(reg),
        LoadOrigin::Stack(n) => env.stack(n),
        LoadOrigin::Immediate(value) => value,
        LoadOrigin::EntryData(n) => env.entry_data(n),
        LoadOrigin::ReturnAddress => env.return_address(),
        LoadOrigin::Current => env.current(),
        LoadOrigin::Task(which) => env.task(which),
        LoadOrigin::Now => env.now(),
        // The clock may differ between CPUs by some nanoseconds.
        LoadOrigin::Since(n) => env.now().saturating_sub(env.entry_data(n)),
        LoadOrigin::Behind { reg, offset } => behind(env, env.reg(reg), offset),
        LoadOrigin::AreReadable { reg, offset, size } => {
            are_readable(env, env.reg(reg), offset, size)
        }
    }
}

/// Returns the word at `offset` from `address`; 0 if it cannot be read.
#[inline(never)]
#[link_section = ".kprobes.text"]
fn behind<E: Env>(env: &E, address: u64, offset: i32) -> u64 {
    let address = address.wrapping_add_signed(i64::from(offset));
    word(env, address, false).unwrap_or(0)
}

/// Returns 1 if the first and the last of the `size` bytes can be read, otherwise 0.
#[cold]
#[inline(never)]
#[link_section = ".kprobes.text"]
fn are_readable<E: Env>(env: &E, address: u64, offset: i32, size: u16) -> u64 {
    let first = address.wrapping_add_signed(i64::from(offset));
    let last = first.wrapping_add(u64::from(size.saturating_sub(1)));
    let is_read = |address| env.read_word(address, &mut [0]);
    u64::from(is_read(first) && is_read(last))
}

/// Reads a word at `address`.
#[inline]
pub(super) fn word<E: Env>(env: &E, address: u64, user: bool) -> Option<u64> {
    let mut bytes = [0; 8];
    let read = if user {
        env.read_user(address, &mut bytes)
    } else {
        env.read_word(address, &mut bytes)
    };
    read.then(|| u64::from_le_bytes(bytes))
}

/// Returns the address that `steps` lead to; `None` if a pointer cannot be read.
#[inline(always)]
pub(super) fn end_of<E: Env>(steps: &Steps, env: &E) -> Option<u64> {
    let mut at = env.reg(steps.reg);
    for offset in steps.pointers() {
        let mut bytes = [0; 8];
        if !env.read_word(at.wrapping_add_signed(offset), &mut bytes) {
            return None;
        }
        at = u64::from_le_bytes(bytes);
    }
    Some(at.wrapping_add_signed(i64::from(steps.offset)))
}

/// Follows the argument's links; returns `None` if one cannot be read.
pub(super) fn follow<E: Env>(program: &Program, arg: &General, env: &E) -> Option<u64> {
    follow_links(program, arg.links, env, value(arg.origin, env))
}

/// Follows a range of the program's links, from the value `at`.
#[inline(always)]
pub(super) fn follow_links<E: Env>(
    program: &Program,
    (first, last): (u16, u16),
    env: &E,
    mut at: u64,
) -> Option<u64> {
    let links = usize::from(first)..usize::from(last);
    for link in program.links.get(links).unwrap_or(&[]) {
        at = match *link {
            Hop::Read { offset, user } => word(env, at.wrapping_add_signed(offset), user)?,
            Hop::ThisCpu => env.this_cpu(at),
        };
    }
    Some(at)
}
