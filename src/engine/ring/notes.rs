// SPDX-License-Identifier: GPL-2.0

//! The comm notes of a sub-buffer.

use super::cursor::Cursor;
use super::layout::{self, NOTE_WORDS};
use super::note::Note;
use crate::sys::AtomicU32;

/// Maximum number of comm notes that are sorted by their links; more are found by a walk over the
/// events.
const MANY: usize = 16;

/// Calls `each` for the comm notes on `page` before `end`, which is published, in order of
/// position, with their offsets. `last` is the last linked one, from the page's tally.
///
/// Follows the links from note to note. If there are many notes, or nested writers have linked them
/// out of order, walks over the events instead.
pub(super) fn each_note(
    page: &[AtomicU32],
    (last, end): (usize, usize),
    mut each: impl FnMut(usize, &Note),
) {
    // Most sub-buffers have one note.
    if let (true, Some((note, 0))) = (last < end, layout::note_at(page, last)) {
        return each(last, &note);
    }
    let mut found = [0u32; MANY];
    match collect(page, (last, end), &mut found) {
        Some(count) => {
            let offsets = found.get(..count).unwrap_or_default();
            for offset in offsets.iter().rev() {
                // CAST: u32 to usize widens.
                let offset = *offset as usize;
                if let Some((note, _)) = layout::note_at(page, offset) {
                    each(offset, &note);
                }
            }
        }
        None => {
            Cursor::start(page).skim(page, end, each);
        }
    }
}

/// Stores the offsets of the comm notes before `end` to `found`, the last one first, and returns
/// their number. Returns `None` if they do not fit or are out of order.
fn collect(
    page: &[AtomicU32],
    (last, end): (usize, usize),
    found: &mut [u32; MANY],
) -> Option<usize> {
    let mut room = found.iter_mut();
    let mut count = 0usize;
    let mut before = end;
    let mut next = last;
    // Links are acyclic, as each leads to an earlier exchange; the limit makes that obvious.
    for _ in 0..=page.len() / NOTE_WORDS {
        if next == 0 {
            return Some(count);
        }
        let link = layout::note_link(page, next)?;
        // Notes that are not published yet come first, in any order.
        if next < end {
            if next >= before {
                return None;
            }
            // CAST: A sub-buffer has at most 2^17 words.
            *room.next()? = next as u32;
            count = count.wrapping_add(1);
            before = next;
        }
        next = link;
    }
    None
}
