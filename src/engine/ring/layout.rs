// SPDX-License-Identifier: GPL-2.0

//! The binary layout of a sub-buffer and of its events.
//!
//! It is tracefs' own layout, which trace-cmd and libtraceevent read:
//!
//! | word | content                                                          |
//! |------|------------------------------------------------------------------|
//! | 0, 1 | timestamp from which the deltas on this sub-buffer count         |
//! | 2, 3 | commit: bytes of data, [`MISSED_EVENTS`], [`MISSED_STORED`]       |
//! | 4..  | events, each a header word and its payload                       |
//!
//! All offsets in this module and its siblings count words of four bytes from the start of
//! the sub-buffer. A word has the byte order of the CPU, which is little-endian on all
//! supported machines.
//!
//! C header: `include/linux/ring_buffer.h`.

use super::halves::low;
use super::note::{self, Note, CONTENT_WORDS};
use crate::sys::AtomicU32;

/// Number of bytes in a word of the layout.
pub const WORD: usize = 4;

/// Number of words of a sub-buffer before its first event.
pub const HEADER_WORDS: usize = 4;

/// Number of bytes of a sub-buffer before its first event.
pub const HEADER_BYTES: usize = HEADER_WORDS * WORD;

/// Commit flag: events were lost before this sub-buffer.
pub const MISSED_EVENTS: u32 = 1 << 31;

/// Commit flag: the number of lost events follows the data as a u64.
pub const MISSED_STORED: u32 = 1 << 30;

/// Bits of the commit that hold the length of the data.
pub const COMMIT_LENGTH: u32 = (1 << 27) - 1;

/// Largest sub-buffer: 128 pages of 4 KiB.
pub const MAX_PAGE_BYTES: usize = 128 * 4096;

/// Largest time delta that an event header holds.
pub(super) const MAX_DELTA: u64 = (1 << DELTA_BITS) - 1;

/// Smallest time delta that a time extend cannot hold.
pub(super) const EXTEND_LIMIT: u64 = 1 << (DELTA_BITS + 32);

/// Number of words of a time extend or an absolute timestamp.
pub(super) const TIME_WORDS: usize = 2;

/// Number of words of a comm note: a padding event with its length and content.
pub(super) const NOTE_WORDS: usize = NOTE_CONTENT + CONTENT_WORDS;

/// Number of words of a comm note before its content.
const NOTE_CONTENT: usize = 2;

/// Minimum words of an event.
///
/// A discarded event becomes a padding event of at least two words, plus an absolute
/// timestamp if its own delta was zero (see [`put_discarded`]); four words always have room
/// for both. The minimum also bounds the number of events on a sub-buffer to what a
/// [`Position`](super::position::Position) counts.
pub(super) const MIN_EVENT_WORDS: usize = 4;

const DELTA_BITS: u32 = 27;
const TYPE_BITS: u32 = 5;
const TYPE_MASK: u32 = (1 << TYPE_BITS) - 1;

/// Largest payload, in words, whose length fits in the header word.
const MAX_SHORT_WORDS: usize = 28;

const TYPE_LONG: u32 = 0;
const TYPE_PADDING: u32 = 29;
const TYPE_TIME_EXTEND: u32 = 30;
const TYPE_TIME_STAMP: u32 = 31;

/// Size of an event, known before its location in the ring.
#[derive(Clone, Copy)]
pub(super) struct EventShape {
    /// Header and payload.
    pub(super) words: usize,
    /// Header alone: one word, or two with an explicit length.
    pub(super) header: usize,
}

impl EventShape {
    /// Returns the shape of an event with a payload of `len` bytes, rounded up to whole
    /// words.
    #[inline(always)]
    pub(super) fn of(len: usize) -> Self {
        // A saturated size still exceeds any sub-buffer.
        let payload = len.saturating_add(WORD - 1) / WORD;
        let payload = payload.max(MIN_EVENT_WORDS - 1);
        let header = if payload <= MAX_SHORT_WORDS { 1 } else { 2 };
        Self {
            words: payload.wrapping_add(header),
            header,
        }
    }
}

/// Size of an event whose header is one word, known before its location in the ring, with a
/// payload of at least `LEAST` words.
///
/// # Invariants
///
/// `head` is the number of words of the payload: at least `LEAST`, at least 3, and at most
/// what a header of one word can hold.
#[derive(Clone, Copy)]
pub struct Short<const LEAST: usize> {
    head: u32,
}

impl<const LEAST: usize> Short<LEAST> {
    /// The smallest shape. A `LEAST` below 3 or above 28 does not compile.
    pub const SMALLEST: Self = {
        assert!(LEAST >= MIN_EVENT_WORDS - 1 && LEAST <= MAX_SHORT_WORDS);
        // INVARIANT: Asserted above.
        Self {
            // CAST: At most `MAX_SHORT_WORDS`.
            head: LEAST as u32,
        }
    };

    /// Returns the shape of an event with a payload of `len` bytes, or `None` if it needs a
    /// longer header or has fewer than `LEAST` words.
    pub fn of(len: usize) -> Option<Self> {
        let EventShape { words, header } = EventShape::of(len);
        // INVARIANT: Rounded up from at least `LEAST` words, in a header of one word.
        (header == 1 && len >= LEAST.saturating_mul(WORD)).then_some(Self {
            // CAST: At most `MAX_SHORT_WORDS`.
            head: words.wrapping_sub(header) as u32,
        })
    }

    /// Returns the shape of an event with a payload of `words` words, or `None` as
    /// [`of`](Self::of).
    #[inline(always)]
    pub fn of_words(words: usize) -> Option<Self> {
        let least = LEAST.max(MIN_EVENT_WORDS - 1);
        // INVARIANT: Checked here.
        (words >= least && words <= MAX_SHORT_WORDS).then_some(Self {
            // CAST: At most `MAX_SHORT_WORDS`.
            head: words as u32,
        })
    }

    /// Returns whether it is [`Short::SMALLEST`] of `WORDS` words, a compile-time constant.
    pub fn is_smallest_of<const WORDS: usize>(self) -> bool {
        self.head == Short::<WORDS>::SMALLEST.head
    }

    /// Returns the bytes of the payload.
    #[inline(always)]
    pub fn bytes(self) -> usize {
        // CAST: u32 to usize widens.
        (self.head as usize).wrapping_mul(WORD)
    }
}

/// Size of an event whose header has an explicit length, known before its location in the ring.
///
/// # Invariants
///
/// `length` is the number of bytes of the payload and of itself: more than [`Short`] can hold.
#[derive(Clone, Copy)]
pub struct Long {
    length: u32,
}

impl Long {
    /// Returns the size of an event with a payload of `len` bytes, or `None` if its header is one
    /// word, or if no sub-buffer has room for it.
    pub fn of(len: usize) -> Option<Self> {
        let EventShape { words, header } = EventShape::of(len);
        // INVARIANT: The header has another word, the length; that counts itself.
        (header == 2 && words < MAX_PAGE_BYTES / WORD).then_some(Self {
            length: bytes_of(words.wrapping_sub(1)),
        })
    }
}

/// A size that is known before the event's location in the ring.
///
/// # Safety
///
/// An event has [`HEADER`](Self::HEADER) words and a payload of at least `LEAST`, and at least
/// three; [`words`](Self::words) returns their sum.
pub unsafe trait EventSize<const LEAST: usize> {
    /// Number of words of the header: 1, or 2.
    const HEADER: usize;

    /// Returns the words of header and payload.
    fn words(&self) -> usize;

    /// Returns the header of an event `delta` after the last one; `delta` is at most what a
    /// header holds. The second word of a header is the second one here.
    fn header(&self, delta: u64) -> [u32; 2];
}

// SAFETY: By the invariant of `Short`.
unsafe impl<const LEAST: usize> EventSize<LEAST> for Short<LEAST> {
    const HEADER: usize = 1;

    #[inline(always)]
    fn words(&self) -> usize {
        // CAST: u32 to usize widens.
        (self.head as usize).wrapping_add(1)
    }

    #[inline(always)]
    fn header(&self, delta: u64) -> [u32; 2] {
        [low(delta) << TYPE_BITS | self.head, 0]
    }
}

// SAFETY: By the invariant of `Long` there are more than `MAX_SHORT_WORDS`.
unsafe impl<const LEAST: usize> EventSize<LEAST> for Long {
    const HEADER: usize = {
        assert!(LEAST <= MAX_SHORT_WORDS);
        2
    };

    #[inline(always)]
    fn words(&self) -> usize {
        // CAST: u32 to usize widens.
        (self.length as usize / WORD).wrapping_add(1)
    }

    #[inline(always)]
    fn header(&self, delta: u64) -> [u32; 2] {
        [low(delta) << TYPE_BITS | TYPE_LONG, self.length]
    }
}

/// Returns the length of `words` in bytes, for a 32-bit field.
///
/// Nothing is truncated: no sub-buffer is larger than [`MAX_PAGE_BYTES`].
#[inline(always)]
pub(super) fn bytes_of(words: usize) -> u32 {
    // CAST: a sub-buffer has at most 2^17 words.
    words.wrapping_mul(WORD) as u32
}

/// Writes the header of a data event over the first words of `event`, which spans its
/// header and payload.
///
/// The last word becomes zero, so that a payload that is not a whole number of words ends
/// in zeros.
#[inline(always)]
pub(super) fn put_header(event: &[AtomicU32], shape: EventShape, delta: u64) {
    let delta = low(delta) << TYPE_BITS;
    if let [head, length, .., last] = event {
        last.store_relaxed(0);
        let rest = event.len().wrapping_sub(1);
        if shape.header == 1 {
            // CAST: at most `MAX_SHORT_WORDS`.
            head.store_relaxed(delta | rest as u32);
        } else {
            head.store_relaxed(delta | TYPE_LONG);
            // The length counts itself and the payload.
            length.store_relaxed(bytes_of(rest));
        }
    }
}

/// Writes a time extend of `delta`, which is below [`EXTEND_LIMIT`].
pub(super) fn put_time_extend(event: &[AtomicU32], delta: u64) {
    put_time(event, TYPE_TIME_EXTEND, delta);
}

/// Writes a comm note, `delta` after the item before it; `delta` is not 0.
pub(super) fn put_note(event: &[AtomicU32], note: &Note, delta: u64) {
    if let [head, length, content @ ..] = event {
        head.store_relaxed((low(delta & MAX_DELTA) << TYPE_BITS) | TYPE_PADDING);
        length.store_relaxed(bytes_of(content.len()).wrapping_add(4));
        note.put(content);
    }
}

/// Links the comm note `event` to the one at `offset`, which was linked before it, or to
/// none if that is 0.
pub(super) fn put_note_link(event: &[AtomicU32], offset: usize) {
    note::put_link(event.get(NOTE_CONTENT..).unwrap_or_default(), offset);
}

/// Returns the comm note at `offset` of `page` and its link; `None` if there is none.
pub(super) fn note_at(page: &[AtomicU32], offset: usize) -> Option<(Note, usize)> {
    let content = page.get(offset.checked_add(NOTE_CONTENT)?..)?;
    Some((Note::read(content)?, note::link(content)?))
}

/// Returns the link of the comm note at `offset` of `page`, which may not be published yet.
pub(super) fn note_link(page: &[AtomicU32], offset: usize) -> Option<usize> {
    note::link(page.get(offset.checked_add(NOTE_CONTENT)?..)?)
}

/// Writes the absolute time `time`, of which readers see 59 bits.
pub(super) fn put_time_stamp(event: &[AtomicU32], time: u64) {
    put_time(event, TYPE_TIME_STAMP, time);
}

fn put_time(event: &[AtomicU32], kind: u32, time: u64) {
    if let [head, high, ..] = event {
        head.store_relaxed((low(time & MAX_DELTA) << TYPE_BITS) | kind);
        high.store_relaxed(low(time >> DELTA_BITS));
    }
}

/// Turns the data event that fills `event`, recorded at `time`, into one that readers skip.
///
/// Padding with a delta of zero means "nothing more on this sub-buffer", so padding needs a
/// delta of at least one, which shifts the time of all later events. In this case an
/// absolute timestamp restores the time.
pub(super) fn put_discarded(event: &[AtomicU32], time: u64) {
    let Some(head) = event.first() else { return };
    let delta = head.load_relaxed() >> TYPE_BITS;
    let (padding, stamp) = if delta == 0 {
        event.split_at(event.len().saturating_sub(TIME_WORDS))
    } else {
        event.split_at(event.len())
    };
    if let [head, rest @ ..] = padding {
        head.store_relaxed((delta.max(1) << TYPE_BITS) | TYPE_PADDING);
        if let [length, ..] = rest {
            length.store_relaxed(bytes_of(rest.len()));
        }
    }
    put_time_stamp(stamp, time);
}

/// What is at one offset of a sub-buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// An event: its time, and the offsets where its payload starts and ends.
    Data {
        /// Time of the event.
        ts: u64,
        /// First word of the payload.
        start: usize,
        /// First word after it.
        end: usize,
    },
    /// A comm note, the time after it and the offset after it.
    Note {
        /// The comm note.
        note: Note,
        /// Time from which the next delta counts.
        ts: u64,
        /// First word after it.
        end: usize,
    },
    /// Padding or time alone: the time after it and the offset after it.
    Skip {
        /// Time from which the next delta counts.
        ts: u64,
        /// First word after it.
        end: usize,
    },
}

/// Returns the delta and the words, header included, of a data event whose `head` has its
/// length; `None` for everything else.
#[inline(always)]
pub(super) fn short_data(head: u32) -> Option<(u64, usize)> {
    let words = head & TYPE_MASK;
    // CAST: u32 to usize widens, and the value has five bits.
    (TYPE_LONG < words && words < TYPE_PADDING).then_some((
        u64::from(head >> TYPE_BITS),
        (words as usize).wrapping_add(1),
    ))
}

/// Decodes the item at `at`, before `limit`, on a sub-buffer; `ts` is the time before it.
///
/// Returns `None` if there is nothing more, or nothing valid.
pub(super) fn decode(words: &[AtomicU32], at: usize, limit: usize, ts: u64) -> Option<Item> {
    let words = words.get(..limit)?;
    let head = words.get(at)?.load_relaxed();
    let delta = u64::from(head >> TYPE_BITS);
    let next = at.checked_add(1)?;
    let second = || words.get(next).map(AtomicU32::load_relaxed);
    let ending = |len: u32| {
        let end = next.checked_add(usize::try_from(len).ok()?.div_ceil(WORD))?;
        (end <= limit && end > next).then_some(end)
    };
    let item = match head & TYPE_MASK {
        TYPE_LONG => Item::Data {
            ts: ts.wrapping_add(delta),
            start: next.checked_add(1)?,
            end: ending(second()?)?,
        },
        TYPE_PADDING if delta == 0 => return None,
        TYPE_PADDING => {
            let ts = ts.wrapping_add(delta);
            let end = ending(second()?)?;
            let content = words.get(next.checked_add(1)?..end).unwrap_or_default();
            match Note::read(content) {
                Some(note) => Item::Note { note, ts, end },
                None => Item::Skip { ts, end },
            }
        }
        TYPE_TIME_EXTEND => Item::Skip {
            ts: ts
                .wrapping_add(delta)
                .wrapping_add(u64::from(second()?) << DELTA_BITS),
            end: next.checked_add(1)?,
        },
        TYPE_TIME_STAMP => {
            let stamp = delta | (u64::from(second()?) << DELTA_BITS);
            Item::Skip {
                ts: nearest(ts, stamp),
                end: next.checked_add(1)?,
            }
        }
        short => Item::Data {
            ts: ts.wrapping_add(delta),
            start: next,
            end: ending(short.wrapping_mul(4))?,
        },
    };
    Some(item)
}

/// Returns the time nearest to `ts` whose low 59 bits are `stamp`: an absolute timestamp
/// has only these.
///
/// The nearest time is needed, not the one with the high bits of `ts`: the stamp after a
/// discarded event goes back by one, possibly across a change of the high bits.
fn nearest(ts: u64, stamp: u64) -> u64 {
    let ahead = stamp.wrapping_sub(ts) & EXTEND_LIMIT.wrapping_sub(1);
    if ahead < EXTEND_LIMIT / 2 {
        ts.wrapping_add(ahead)
    } else {
        ts.wrapping_add(ahead).wrapping_sub(EXTEND_LIMIT)
    }
}

/// Stores the time from which the deltas of the sub-buffer count.
pub(super) fn set_time(page: &[AtomicU32], ts: u64) {
    if let [first, second, ..] = page {
        first.store_relaxed(low(ts));
        second.store_relaxed(low(ts >> 32));
    }
}

/// Stores the commit of the sub-buffer, which tells readers how much of it they may read.
pub(super) fn set_commit(page: &[AtomicU32], commit: u32) {
    if let [_, _, low, high, ..] = page {
        high.store_relaxed(0);
        // Pairs with a reader's acquire: a reader that sees the commit sees the data.
        low.store_release(commit);
    }
}

/// Completes a sub-buffer with data up to `end` for binary readers: its commit, and zeros
/// behind the data.
pub(super) fn complete(page: &[AtomicU32], end: usize) {
    for word in page.get(end..).unwrap_or_default() {
        word.store_relaxed(0);
    }
    set_commit(page, bytes_of(end.saturating_sub(HEADER_WORDS)));
}

/// Returns the time from which the deltas of the sub-buffer count.
pub(super) fn time(page: &[AtomicU32]) -> u64 {
    match page {
        [first, second, ..] => {
            u64::from(first.load_relaxed()) | (u64::from(second.load_relaxed()) << 32)
        }
        _ => 0,
    }
}
