// SPDX-License-Identifier: GPL-2.0

//! The reader's table of comm notes.

use super::layout;
use super::note::{self, Note};
use crate::sys::AtomicU32;

/// Offsets of comm notes before the reader's position on its sub-buffer.
#[derive(Clone, Copy)]
pub(super) struct RingNames {
    /// The offset of the last note of each entry, as in the writers' table; 0 without one.
    known: [u32; note::SIZE],
}

impl RingNames {
    /// Creates an empty table.
    pub(super) const fn new() -> Self {
        Self {
            known: [0; note::SIZE],
        }
    }

    /// Adds `note`, which is at `offset`.
    pub(super) fn add(&mut self, offset: usize, note: &Note) {
        if let Some(entry) = self.known.get_mut(note.entry()) {
            // CAST: A sub-buffer has at most 2^17 words.
            *entry = offset as u32;
        }
    }

    /// Returns the note of task `pid` on `page`.
    pub(super) fn task(&self, page: &[AtomicU32], pid: i32) -> Option<Note> {
        // CAST: The same bits.
        let pid = pid as u32;
        let offset = self.known.get(note::entry(pid))?;
        // CAST: u32 to usize widens.
        let note = layout::note_at(page, *offset as usize)?.0;
        (*offset != 0 && note.pid() == pid).then_some(note)
    }
}
