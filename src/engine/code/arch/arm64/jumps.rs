// SPDX-License-Identifier: GPL-2.0

//! The jump tables of arm64 functions.
//!
//! GCC compiles a switch to a bounds check, a load from a table of distances in units of an
//! instruction, and a branch:
//!
//! ```text
//! cmp  w1, #N;  b.hi default
//! adrp x0, table;  add x0, x0, :lo12:table
//! ldrh w0, [x0, w1, uxtw #1]
//! adr  x1, base
//! add  x0, x1, w0, sxth #2
//! br   x0
//! ```

use crate::engine::code::arch::isa::JumpTable;
use crate::engine::code::insn::arm64::INSN_LEN;
use crate::engine::code::insn::exclusive::CodeWords;

/// How far before the branch the table's address is computed.
const NEAR: usize = 12;

/// How far before the branch the bounds are checked.
const FAR: usize = 256;

/// Returns the jump table that the branch at word `index` of the function at `address`
/// uses; `None` if the word is no such branch.
pub(super) fn table(words: &dyn CodeWords, address: u64, index: usize) -> Option<JumpTable> {
    let word = |back: usize| words.word(index.checked_sub(back)?);
    // br xT; add xT, xB, wV, sxtb/sxth/sxtw #2; adr xB, base
    let branch = word(0)?;
    let add = word(1)?;
    let adr = word(2)?;
    let is_jump = branch & 0xffff_fc1f == 0xd61f_0000
        && add & 0xffe0_9c00 == 0x8b20_8800
        && rd(add) == rn(branch)
        && adr & 0x9f00_0000 == 0x1000_0000
        && rd(adr) == rn(add);
    if !is_jump {
        return None;
    }
    let entry_len = match (add >> 13) & 0b111 {
        0b100 => 1,
        0b101 => 2,
        0b110 => 4,
        _ => return None,
    };
    let value = (add >> 16) & 0x1f;
    // ldr wV, [xA, wI, uxtw #k]
    let (at, load) = before(index, NEAR, &word, |load| {
        load & 0x3fe0_ec00 == 0x3860_4800 && rd(load) == value
    })?;
    let (_, low) = before_at(index, at, NEAR, &word, |low| {
        low & 0xffc0_0000 == 0x9100_0000 && rd(low) == rn(load)
    })?;
    let (adrp_at, adrp) = before_at(index, at, NEAR, &word, |adrp| {
        adrp & 0x9f00_0000 == 0x9000_0000 && rd(adrp) == rn(low)
    })?;
    // cmp wI, #N
    let limited = (load >> 16) & 0x1f;
    let (_, check) = before_at(index, at, FAR, &word, |check| {
        check & 0x7fc0_001f == 0x7100_001f && rn(check) == limited
    })?;
    let place = |back: usize| {
        let offset = index.checked_sub(back)?.checked_mul(INSN_LEN)?;
        Some(address.saturating_add(u64::try_from(offset).ok()?))
    };
    let page = (place(adrp_at)? & !0xfff).wrapping_add_signed(relative(adrp) << 12);
    let count = usize::try_from((check >> 10) & 0xfff)
        .ok()?
        .saturating_add(1);
    Some(JumpTable {
        address: page.wrapping_add(u64::from((low >> 10) & 0xfff)),
        count,
        entry_len,
        base: place(2)?.wrapping_add_signed(relative(adr)),
        unit: 4,
    })
}

/// Returns the nearest word before the branch that satisfies `is`, and its distance.
fn before(
    index: usize,
    most: usize,
    word: &impl Fn(usize) -> Option<u32>,
    is: impl Fn(u32) -> bool,
) -> Option<(usize, u32)> {
    before_at(index, 2, most, word, is)
}

fn before_at(
    index: usize,
    from: usize,
    most: usize,
    word: &impl Fn(usize) -> Option<u32>,
    is: impl Fn(u32) -> bool,
) -> Option<(usize, u32)> {
    let last = from.saturating_add(most).min(index);
    let mut words = (from.saturating_add(1)..=last).filter_map(|back| Some((back, word(back)?)));
    words.find(|(_, word)| is(*word))
}

const fn rd(word: u32) -> u32 {
    word & 0x1f
}

const fn rn(word: u32) -> u32 {
    (word >> 5) & 0x1f
}

/// Returns the signed distance of an `adr`, in bytes, or of an `adrp`, in pages.
const fn relative(word: u32) -> i64 {
    let high = (word >> 5) & 0x7_ffff;
    let low = (word >> 29) & 0b11;
    let bits = (high << 2 | low) << 11;
    // CAST: Reinterprets the bits; the arithmetic shift then extends the sign.
    ((bits as i32) >> 11) as i64
}
