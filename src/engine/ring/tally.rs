// SPDX-License-Identifier: GPL-2.0

//! The tally of a sub-buffer, one word: its last linked comm note, and the number of discarded
//! events.
//!
//! | bits   | content                                        |
//! |--------|------------------------------------------------|
//! | 0..15  | events discarded on the sub-buffer             |
//! | 15..32 | offset of its last comm note, in words; or 0   |
//! | 32..63 | its [`Seq`]                                    |
//!
//! Each comm note holds the offset of the one before it, so a reader finds all of them
//! without walking over events. A writer links its note by one exchange of the word. Nested
//! writers link theirs between any two of its instructions, so the notes are in the order
//! of the exchanges: a note may be linked after one that lies behind it.

use super::position::Seq;
use crate::sys::AtomicU64;

const COUNT_BITS: u32 = 15;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const LINK_BITS: u32 = 17;
const LINK_MASK: u64 = (1 << LINK_BITS) - 1;

/// The tally of a page; it names the sub-buffer that it belongs to.
pub(super) struct Tally(AtomicU64);

impl Tally {
    /// Creates the tally of a page without a sub-buffer.
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Returns the number of events discarded on `seq`.
    pub(super) fn discarded(&self, seq: Seq) -> u64 {
        of(self.0.load_relaxed(), seq) & COUNT_MASK
    }

    /// Returns the offset of the last comm note on `seq`, which is on the page; 0 if there
    /// is none. The link in the note is visible to the caller.
    pub(super) fn last_note(&self, seq: Seq) -> usize {
        // Acquire, for the links of notes that are not published yet.
        link(of(self.0.load_acquire(), seq))
    }

    /// Counts a discarded event on `seq`. Called by writers on `seq`.
    pub(super) fn count_discarded(&self, seq: Seq) {
        // No carry: a sub-buffer has fewer than 2^15 events.
        self.update(seq, |content| content.wrapping_add(1));
    }

    /// Makes the comm note at `offset` the last one on `seq`. Calls `put_link` with the
    /// offset of the one before it, at least once; the last call counts. Called by writers
    /// on `seq`.
    pub(super) fn link_note(&self, seq: Seq, offset: usize, put_link: impl Fn(usize)) {
        self.update(seq, |content| {
            put_link(link(content));
            (content & COUNT_MASK) | pack(offset)
        });
    }

    /// Replaces the content for `seq` by what `change` makes of it.
    fn update(&self, seq: Seq, change: impl Fn(u64) -> u64) {
        loop {
            let found = self.0.load_relaxed();
            let new = change(of(found, seq));
            // Fails if a nested writer has changed the word meanwhile. The first note of a
            // new sub-buffer replaces what the page had before.
            if self.0.cmpxchg_full(found, key(seq) | new).is_ok() {
                return;
            }
        }
    }

    /// Sets the content for `seq`, with its last comm note at `last_note`. Called by the
    /// owner of the page.
    pub(super) fn set(&self, seq: Seq, discarded: u64, last_note: usize) {
        let content = (discarded & COUNT_MASK) | pack(last_note);
        self.0.store_relaxed(key(seq) | content);
    }

    /// Clears the word. Called by the owner of the page.
    pub(super) fn forget(&self) {
        self.0.store_relaxed(0);
    }
}

/// Returns the upper half of the word of `seq`.
fn key(seq: Seq) -> u64 {
    u64::from(seq.0) << 32
}

/// Returns the lower half of `word` if it is of `seq`, or 0.
fn of(word: u64, seq: Seq) -> u64 {
    if word >> 32 == u64::from(seq.0) {
        word & 0xffff_ffff
    } else {
        0
    }
}

/// Returns the offset in `content`.
fn link(content: u64) -> usize {
    // CAST: The value has 17 bits.
    ((content >> COUNT_BITS) & LINK_MASK) as usize
}

/// Returns `offset` at its bits; a sub-buffer has at most 2^17 words.
fn pack(offset: usize) -> u64 {
    // CAST: usize to u64 widens.
    (offset as u64 & LINK_MASK) << COUNT_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEQ: Seq = Seq(0x7fff_ffff);

    #[test]
    fn the_largest_offset_and_count_do_not_touch_each_other() {
        for count in [0, 1, COUNT_MASK - 1, COUNT_MASK] {
            for offset in [0, 4, 1 << 16, (1 << 17) - 1] {
                let word = key(SEQ) | pack(offset) | count;
                assert_eq!(link(of(word, SEQ)), offset);
                assert_eq!(of(word, SEQ) & COUNT_MASK, count);
                assert_eq!(of(word, Seq(0)), 0);
                assert_eq!(of(word, Seq(SEQ.0 - 1)), 0);
            }
        }
    }
}
