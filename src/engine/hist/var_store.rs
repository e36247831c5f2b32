// SPDX-License-Identifier: GPL-2.0

//! Stores a variable in an entry.

use super::column::{KeySource, STACK_DEPTH, TEXT_ROOM, TEXT_SIZE};
use super::source::Values;
use super::update::FAULT;
use super::variable::{VarSource, Variable, VAR_WORDS};
use crate::engine::util::text::up_to_nul;
use crate::sys::AtomicU64;

/// Stores `variable` in an entry with the words `vars`. `number` returns the value of a numeric
/// variable.
///
/// Context: any.
#[inline(always)]
pub(super) fn store<V: Values>(
    variable: &Variable,
    vars: &[AtomicU64],
    hit: &V,
    number: impl FnOnce() -> u64,
) {
    let Some([flag, word, ..]) = vars.get(variable.at..) else {
        return;
    };
    let value = match variable.source {
        VarSource::Computed(_) => number(),
        _ => store_block(variable, vars, hit),
    };
    word.store_relaxed(value);
    flag.store_release(1);
}

/// Stores a string or a stack, and returns its address.
#[inline(never)]
#[link_section = ".kprobes.text"]
fn store_block<V: Values>(variable: &Variable, vars: &[AtomicU64], hit: &V) -> u64 {
    let start = variable.at.wrapping_add(VAR_WORDS);
    let block = vars.get(start..variable.end()).unwrap_or_default();
    match variable.source {
        VarSource::Text(index) => store_text(index, block, hit),
        VarSource::Comm => store_comm(block, hit),
        VarSource::Stack => store_stack(block, hit),
        VarSource::Computed(_) => {}
    }
    // CAST: An address has 64 bits.
    block.as_ptr() as usize as u64
}

#[inline(never)]
#[link_section = ".kprobes.text"]
fn store_text<V: Values>(index: u8, block: &[AtomicU64], hit: &V) {
    let mut room = [0u8; TEXT_ROOM];
    let text = match hit.text(index, &mut room) {
        Some(length) => room.get(..length).unwrap_or_default(),
        None => FAULT,
    };
    put(block, text);
}

fn store_comm<V: Values>(block: &[AtomicU64], hit: &V) {
    // The kernel's name for idle tasks.
    match hit.number(KeySource::Pid, false) {
        0 => put(block, b"<idle>"),
        _ => put(block, &hit.comm()),
    }
}

/// Writes `text`, as much as fits, and a NUL. The last byte of a block is always NUL, so a string
/// ends within the block even while another writer replaces it.
fn put(block: &[AtomicU64], text: &[u8]) {
    let text = up_to_nul(text);
    let text = text.get(..TEXT_SIZE - 1).unwrap_or(text);
    let mut words = block.iter();
    let mut chunks = text.chunks_exact(8);
    for (chunk, word) in (&mut chunks).zip(&mut words) {
        let mut whole = [0; 8];
        for (to, byte) in whole.iter_mut().zip(chunk) {
            *to = *byte;
        }
        word.store_relaxed(u64::from_le_bytes(whole));
    }
    let mut whole = [0; 8];
    for (to, byte) in whole.iter_mut().zip(chunks.remainder()) {
        *to = *byte;
    }
    if let Some(word) = block.get(text.len() / 8) {
        word.store_relaxed(u64::from_le_bytes(whole));
    }
}

#[inline(never)]
#[link_section = ".kprobes.text"]
fn store_stack<V: Values>(block: &[AtomicU64], hit: &V) {
    let mut frames = [0; STACK_DEPTH];
    hit.stack(&mut frames);
    let Some((first, rest)) = block.split_first() else {
        return;
    };
    // One frame more than is kept.
    let [kept @ .., _] = &frames;
    let count = kept.iter().take_while(|&&frame| frame != 0).count();
    for (word, frame) in rest.iter().zip(frames) {
        word.store_relaxed(frame);
    }
    // CAST: A number of frames.
    first.store_relaxed(count as u64);
}
