// SPDX-License-Identifier: GPL-2.0

//! The arguments of a hit as those of another probe.
//!
//! Context: any.

use super::{number, peek_text, register, Env};
use crate::engine::fetch::Program;

/// Returns the argument of this index as a number of `width` bytes, with its sign extended if
/// `signed`; 0 for text and for what cannot be read.
///
/// Context: any.
#[inline(always)]
pub fn field_value<E: Env>(
    program: &Program,
    index: u8,
    (width, signed): (u8, bool),
    env: &E,
) -> u64 {
    let value = match register(program, index, env) {
        Some(value) => value,
        None => number(program, index, 0, env).unwrap_or(0),
    };
    let unused = 64u32.wrapping_sub(u32::from(width).wrapping_mul(8));
    let high = value.wrapping_shl(unused);
    match signed {
        // CAST: Extends the sign.
        true => (high as i64).wrapping_shr(unused) as u64,
        false => high.wrapping_shr(unused),
    }
}

/// Writes the text argument of this index with its NUL, as much of it as fits; returns false if it
/// is not text or cannot be read.
///
/// Context: any.
pub fn copy_text<E: Env>(program: &Program, index: u8, env: &E, out: &mut [u8]) -> bool {
    let is_found = peek_text(program, index, 0, env, out).is_some();
    if let Some(last) = out.last_mut() {
        *last = 0;
    }
    is_found
}
