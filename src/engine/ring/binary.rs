// SPDX-License-Identifier: GPL-2.0

//! Reading in binary: events as they are laid out in their sub-buffer.

use super::cursor::{Cursor, FoundEvent};
use super::layout::{self, Item, COMMIT_LENGTH, HEADER_BYTES, HEADER_WORDS, WORD};
use super::layout::{MISSED_EVENTS, MISSED_STORED};
use super::note::Note;
use super::reader::Reader;
use super::state::Storage;
use crate::sys::{self, AtomicU32};

/// Number of bytes that are copied at a time.
const PIECE: usize = 32;

impl Cursor {
    /// Advances past the last event before `end` and calls `each` for the comm notes before `end`,
    /// with their offsets. Returns the number of events passed, and the cursor behind the items
    /// after them that are not events.
    ///
    /// Reads only the first word of an event if that has its length.
    pub(super) fn skim(
        &mut self,
        page: &[AtomicU32],
        end: usize,
        mut each: impl FnMut(usize, &Note),
    ) -> (u64, Self) {
        let page = page.get(..end).unwrap_or_default();
        if self.offset == HEADER_WORDS {
            // The reader may have taken the page before its first event was written.
            self.ts = layout::time(page);
        }
        let mut events = 0u64;
        let mut ahead = *self;
        while ahead.offset < page.len() {
            let passed = ahead.pass_short(page);
            if passed != 0 {
                *self = ahead;
                events = events.wrapping_add(passed);
            }
            // Published data was written by a writer, so it decodes.
            let Some(item) = layout::decode(page, ahead.offset, end, ahead.ts) else {
                break;
            };
            let (Item::Data { ts, end, .. } | Item::Note { ts, end, .. } | Item::Skip { ts, end }) =
                item;
            let at = ahead.offset;
            ahead = Cursor { offset: end, ts };
            match item {
                Item::Data { .. } => {
                    *self = ahead;
                    events = events.wrapping_add(1);
                }
                Item::Note { note, .. } => each(at, &note),
                Item::Skip { .. } => {}
            }
        }
        (events, ahead)
    }

    /// Advances past the events at the cursor whose first word has their length. Returns
    /// their number.
    #[inline]
    fn pass_short(&mut self, page: &[AtomicU32]) -> u64 {
        let Self { mut offset, mut ts } = *self;
        let mut events = 0u64;
        while let Some(head) = page.get(offset) {
            let Some((delta, words)) = layout::short_data(head.load_relaxed()) else {
                break;
            };
            let next = offset.wrapping_add(words);
            if next > page.len() {
                break;
            }
            offset = next;
            ts = ts.wrapping_add(delta);
            events = events.wrapping_add(1);
        }
        *self = Self { offset, ts };
        events
    }
}

/// The result of a copy in the binary layout.
pub struct Copied {
    /// Number of bytes that are filled in.
    pub bytes: usize,
    /// Events lost before the first one; the copy is marked with this number.
    pub lost: u64,
}

impl<S: Storage> Reader<'_, S> {
    /// Copies unread data to `out` in the binary layout, consumes it, and returns how many
    /// bytes of `out` are filled in: the header, events, and the number of lost events if
    /// it fits. The rest of `out` is zeroed.
    ///
    /// Only whole events of one sub-buffer are copied. With `whole`, nothing is copied from
    /// a sub-buffer that the writers are still on.
    ///
    /// Returns `None` if nothing is unread or the next event does not fit: an `out` of
    /// [`Ring::page_bytes`] always has room.
    pub fn read_page(&mut self, out: &mut [u8], whole: bool) -> Option<usize> {
        let copied = self.read_page_with(out, whole, |_| {})?;
        Some(copied.bytes)
    }

    /// As [`Reader::read_page`]; calls `each` for the tasks of the copied events, and
    /// possibly for others.
    pub fn read_page_with(
        &mut self,
        out: &mut [u8],
        whole: bool,
        mut each: impl FnMut(&Note),
    ) -> Option<Copied> {
        if whole && !self.has_whole() {
            return None;
        }
        let first = self.find()?;
        let (end, left) = self.committed();
        if whole && !left {
            return None;
        }
        let end = end.offset();
        self.each_note(end, &mut each);
        let room = out
            .len()
            .min(self.ring.page_bytes())
            .checked_sub(HEADER_BYTES)?
            / WORD;
        // Deltas count from the last event that was read; a sub-buffer that is read from
        // its start has its time in its own header. `base` includes the items that
        // `find` skipped.
        let base = self.cursor.ts;
        let start = self.cursor.offset;
        if end.saturating_sub(start) <= room {
            self.pass_all(end);
        } else {
            self.pass_some(first, (end, room))?;
        }
        let stop = self.cursor.offset;
        if stop == start {
            return None;
        }
        let data = copy_words(self.words().get(start..stop)?, out.get_mut(HEADER_BYTES..)?)?;
        let lost = self.pending_lost;
        let bytes = self.finish_page(out, base, data)?;
        Some(Copied { bytes, lost })
    }

    /// Writes the header, the number of lost events, and zeros.
    fn finish_page(&mut self, out: &mut [u8], ts: u64, data: usize) -> Option<usize> {
        let mut commit = u32::try_from(data).ok()? & COMMIT_LENGTH;
        let limit = self.ring.page_bytes().min(out.len());
        let mut end = data.checked_add(HEADER_BYTES)?;
        if self.pending_lost != 0 {
            commit |= MISSED_EVENTS;
            let after = end.checked_add(size_of::<u64>())?;
            if let Some(number) = out.get_mut(..limit)?.get_mut(end..after) {
                number.copy_from_slice(&self.pending_lost.to_ne_bytes());
                commit |= MISSED_STORED;
                end = after;
            }
            self.pending_lost = 0;
        }
        let (time, rest) = out.split_at_mut_checked(size_of::<u64>())?;
        time.copy_from_slice(&ts.to_ne_bytes());
        rest.get_mut(..size_of::<u64>())?
            .copy_from_slice(&u64::from(commit).to_ne_bytes());
        out.get_mut(end..)?.fill(0);
        Some(end)
    }

    /// Passes all events before `end`. Returns the cursor behind the items after them that
    /// are not events.
    pub(super) fn pass_all(&mut self, end: usize) -> Cursor {
        let mut ahead = self.cursor;
        let words = self.words();
        let names = &mut self.names;
        let (events, behind) = ahead.skim(words, end, |at, note| names.add(at, note));
        self.skip_to(ahead);
        self.count_read(events);
        behind
    }

    /// Passes `first`, the next event, and those behind it before `end` that together have
    /// at most `room` words.
    fn pass_some(&mut self, first: FoundEvent, (end, room): (usize, usize)) -> Option<()> {
        let start = self.cursor.offset;
        let mut next = Some(first);
        while let Some(found) = next {
            if found.payload.end.checked_sub(start)? > room {
                break;
            }
            self.pass(&found);
            let mut ahead = self.cursor;
            next = ahead.find(self.words(), end, &mut self.names);
            if next.is_some() && ahead.offset != self.cursor.offset {
                // A time extend goes with its event; if the event does not fit, both are
                // left for the next copy.
                let with = next.as_ref().map_or(0, |found| found.payload.end);
                if with.checked_sub(start)? > room {
                    break;
                }
                self.skip_to(ahead);
            }
        }
        Some(())
    }
}

/// Copies `words`, which are committed and on the reader's own page, to the start of `out`,
/// which has room for them. Returns the number of bytes.
fn copy_words(words: &[AtomicU32], out: &mut [u8]) -> Option<usize> {
    // SAFETY: By the invariants of `Ring` no context stores to committed words on the
    // reader's page for as long as the reader owns it.
    let bytes = unsafe { sys::words_as_bytes(words) };
    let (mut to, mut from) = (out.get_mut(..bytes.len())?, bytes);
    // In pieces, because the kernel's memcpy() is a single instruction on x86, which
    // emulators execute byte by byte.
    while let Some((piece, rest)) = from.split_first_chunk::<PIECE>() {
        let (room, behind) = to.split_first_chunk_mut::<PIECE>()?;
        sys::copy(room, piece);
        (to, from) = (behind, rest);
    }
    to.copy_from_slice(from);
    Some(bytes.len())
}
