// SPDX-License-Identifier: GPL-2.0

//! The lock-free ring buffer of one CPU, in tracefs' binary page layout.
//!
//! One [`Ring`] per CPU. Its writers run on that CPU only and nest like a
//! stack, as interrupts do; one reader at a time runs on any CPU. Writers take
//! no lock, never wait, and write nothing that another CPU writes, except once
//! per sub-buffer.
//!
//! # Protocol
//!
//! The shared state, and who writes it:
//!
//! | state       | written by                | meaning                              |
//! |-------------|---------------------------|--------------------------------------|
//! | `state`     | writers, by local cmpxchg | position of the next event           |
//! | `last`      | writers, plain            | time of the last event               |
//! | `nesting`   | writers, plain            | reservations that are not committed   |
//! | `published` | outermost writer, release | everything before it may be read      |
//! | `slots[i]`  | both, fully ordered cmpxchg | the page in slot `i`, and of which sequence |
//! | `tails[i]`  | writers, plain            | the page that the writers use in slot `i` |
//! | `pages[p]`  | writers                   | final fill of page `p`, what was discarded, what came before |
//! | reader      | the reader                | its page, its place there, what it read |
//!
//! Reserving is one addition to `state`. The time is stored just before it: see
//! [`place`] for why that is right however writers nest. Committing is `nesting` minus one,
//! and for the outermost writer a store-release of `state`'s position to
//! `published`. When the outermost writer publishes, all that nested in it
//! have finished, so one store publishes them all, whatever number of pages
//! they crossed. The page header's commit field is filled in by the reader.
//!
//! A writer enters sub-buffer `s` by claiming its slot: the slot is empty, or
//! it holds the sub-buffer one lap older, whose events then are overrun. The
//! reader takes a sub-buffer by putting its spare page in the slot; whoever
//! wins the slot's cmpxchg owns the old page. The writer's own sub-buffer may
//! be taken too, because writers find it through `tails`, not through the slot.
//!
//! Writers never enter a sub-buffer one lap after `published`: so nothing that
//! an interrupted writer still uses is overrun (such events are lost, counted
//! as commit overrun), and `tails` and `pages` of everything from `published`
//! to `state` are stable for whoever publishes.
//!
//! `Documentation/ring-buffer.rst` has the reasoning at length.

use crate::sys::{self, AllocError, AtomicU32, AtomicU64, LocalWord};

mod binary;
mod carry;
mod handing;
mod layout;
mod merge;
mod note;
mod place;
mod position;
mod publish;
mod reader;
mod rings;
mod snapshot;
mod stats;
mod storage;
mod tail;
mod writer;

pub use binary::Copied;
pub use carry::Pieces;
pub use handing::Handed;
pub use layout::{
    Short, COMMIT_LENGTH, HEADER_BYTES, HEADER_WORDS, MAX_PAGE_BYTES, MISSED_EVENTS, MISSED_STORED,
    WORD,
};
pub use merge::{Merge, Source};
pub use note::{Note, Task};
pub use reader::{EventRef, Reader};
pub use rings::{Rings, Shared};
pub use snapshot::Snapshot;
pub use stats::Stats;
pub use writer::{Always, Clock, Lost, Quick, QuickClock, Reservation, Writer};

use layout::{MIN_EVENT_WORDS, NOTE_WORDS};
use note::Noted;
use position::{Geometry, Position, Seq, Slot};
use tail::Tail;

/// The memory in which a [`Ring`] keeps its sub-buffers.
///
/// # Safety
///
/// - [`Storage::page`] returns the same memory for the same `id` each time,
///   for as long as the value lives, even if it is moved.
/// - The memory of different ids does not overlap.
/// - Nobody else stores to it. Others may look (a mapping to user space).
/// - Every page has as many words as the first one.
pub unsafe trait Storage {
    /// The words of page `id`; `None` when there is no such page. Ids count
    /// from zero.
    fn page(&self, id: u32) -> Option<&[AtomicU32]>;
}

/// A ring cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is no memory.
    NoMemory,
    /// The pages are too few, too many, too small or too large.
    BadSize,
}

impl From<AllocError> for Error {
    fn from(_: AllocError) -> Self {
        Self::NoMemory
    }
}

/// What writers note about a page, apart from its content.
///
/// It belongs to the page and not to the slot, so that it stays with the
/// reader while the slot goes round.
struct Page {
    /// The last [`Position`] on it, stored when writers went to the next.
    fill: AtomicU64,
    /// `seq << 32 | count` of the events discarded on it.
    discarded: AtomicU64,
    /// Events recorded before it, since the ring was made.
    events_before: AtomicU64,
    /// Bytes of data before it, since the ring was made.
    bytes_before: AtomicU64,
    /// Events that found no room before it, since the ring was made.
    losses_before: AtomicU64,
}

impl Page {
    fn new() -> Self {
        Self {
            fill: AtomicU64::new(Position::start(Seq(u32::MAX >> 1)).0),
            discarded: AtomicU64::new(0),
            events_before: AtomicU64::new(0),
            bytes_before: AtomicU64::new(0),
            losses_before: AtomicU64::new(0),
        }
    }

    /// Events up to `end`, which is on this page, without the discarded ones.
    fn kept(&self, end: Position) -> u64 {
        let discarded = self.discarded.load_relaxed();
        let discarded = if discarded >> 32 == u64::from(end.seq().0) {
            discarded & 0xffff_ffff
        } else {
            0
        };
        end.entries().saturating_sub(discarded)
    }
}

/// A line of the cache of its own: two CPUs' neighbours do not disturb it.
#[repr(align(64))]
struct Line<T>(T);

/// What every reservation touches, on one line that only the owner writes.
struct Hot {
    /// The position of the next event.
    state: LocalWord,
    /// The time of the last event, or with [`UNSURE`] a time that is not after it.
    last: AtomicU64,
    nesting: AtomicU32,
    /// Words of a page; 0 while recording is off, so that every reservation
    /// then takes the slow path, at no cost to the fast one.
    limit: AtomicU32,
    /// The page of `state` while no writer is at work.
    tail: Tail,
    noted: Noted,
    geometry: Geometry,
}

/// Set in [`Hot::last`] where that may be before the last event: then the next event
/// needs a time of its own, and no difference.
const UNSURE: u64 = 1 << 62;

/// The counters of what was lost, written by writers only.
struct Counters {
    overrun: AtomicU64,
    overrun_bytes: AtomicU64,
    commit_overrun: AtomicU64,
    dropped: AtomicU64,
    too_large: AtomicU64,
}

/// The ring buffer of one CPU: see the head of this module.
///
/// # Invariants
///
/// - From `published` to `state` less than one lap of sequences is in use.
/// - `limit` is 0 or `page_words`.
/// - All of `tails` are pages of `storage`.
/// - The slot of `state` is below the number of slots, of which each has an entry
///   in `tails`.
/// - For each of them that writers have entered `tails` has a page that no slot of
///   another sequence and not the reader has as spare.
/// - The words between a reservation's start and end belong to it until it is
///   committed; those before `published` do not change until a writer claims
///   their slot, and those of the reader's page not before it gives it back.
pub struct Ring<S> {
    hot: Line<Hot>,
    published: Line<AtomicU64>,
    cpu: u32,
    storage: S,
    tails: sys::Vec<Tail>,
    slots: sys::Vec<AtomicU64>,
    pages: sys::Vec<Page>,
    page_words: usize,
    overwrite: AtomicU32,
    counters: Line<Counters>,
    reader: Line<reader::State>,
}

impl<S: Storage> Ring<S> {
    /// The ring of `cpu` over the first `pages` pages of `storage`: one of them is the
    /// reader's, the others go round.
    ///
    /// `overwrite` chooses what a full ring does: overrun its oldest events,
    /// or drop the newest. All pages have one size, which is fixed; another
    /// size or number needs another ring, swapped in by the caller while no
    /// writer runs.
    ///
    /// # Errors
    ///
    /// [`Error::BadSize`] for fewer than three pages, for pages without room
    /// for an event or above [`MAX_PAGE_BYTES`], for a storage that has not
    /// that many pages; [`Error::NoMemory`].
    pub fn new(cpu: u32, storage: S, pages: u32, overwrite: bool) -> Result<Self, Error> {
        let slots = pages.checked_sub(1).ok_or(Error::BadSize)?;
        let geometry = Geometry::new(slots).ok_or(Error::BadSize)?;
        let page_words = storage.page(0).map_or(0, <[_]>::len);
        let least = HEADER_WORDS.saturating_add(NOTE_WORDS.saturating_add(MIN_EVENT_WORDS));
        if !(least..=MAX_PAGE_BYTES / WORD).contains(&page_words) {
            return Err(Error::BadSize);
        }
        let mut tails = sys::Vec::new();
        let mut slot_words = sys::Vec::new();
        let mut notes = sys::Vec::new();
        for id in 0..pages {
            if storage.page(id).map(<[_]>::len) != Some(page_words) {
                return Err(Error::BadSize);
            }
            notes.push(Page::new())?;
        }
        // The lap before is for what the ring takes over from another.
        let first = geometry.lap_after(Seq(0));
        for id in 0..slots {
            tails.push(Tail::new(id, storage.page(id).unwrap_or_default()))?;
            let slot = if id == 0 {
                Slot::holding(first, id)
            } else {
                Slot::empty(id)
            };
            slot_words.push(AtomicU64::new(slot.0))?;
        }
        let start = Position::start(first);
        if let Some(page) = storage.page(0) {
            layout::set_time(page, 0);
        }
        Ok(Self {
            hot: Line(Hot {
                state: LocalWord::new(start.0),
                last: AtomicU64::new(0),
                nesting: AtomicU32::new(0),
                limit: AtomicU32::new(limit_of(page_words)),
                tail: Tail::new(0, storage.page(0).unwrap_or_default()),
                noted: Noted::new(),
                geometry,
            }),
            published: Line(AtomicU64::new(start.0)),
            cpu,
            storage,
            tails,
            slots: slot_words,
            pages: notes,
            page_words,
            overwrite: AtomicU32::new(u32::from(overwrite)),
            counters: Line(Counters {
                overrun: AtomicU64::new(0),
                overrun_bytes: AtomicU64::new(0),
                commit_overrun: AtomicU64::new(0),
                dropped: AtomicU64::new(0),
                too_large: AtomicU64::new(0),
            }),
            reader: Line(reader::State::new(slots, first)),
        })
    }

    /// The CPU that writes.
    pub fn cpu(&self) -> u32 {
        self.cpu
    }

    /// The memory of the sub-buffers.
    pub fn storage(&self) -> &S {
        &self.storage
    }

    /// Bytes of a sub-buffer, its header included.
    pub fn page_bytes(&self) -> usize {
        self.page_words.saturating_mul(WORD)
    }

    /// Sub-buffers that hold events: all but the reader's.
    pub fn capacity(&self) -> u32 {
        self.hot.0.geometry.slots()
    }

    /// Bytes of the largest payload that fits a sub-buffer. Runs in any context.
    #[inline]
    pub fn max_payload(&self) -> usize {
        // An explicit length needs two words of header.
        let words = self.page_words.saturating_sub(HEADER_WORDS);
        words
            .saturating_sub(NOTE_WORDS.saturating_add(2))
            .saturating_mul(WORD)
    }

    /// Lets writers record, or makes every later reservation fail with
    /// [`Lost::Disabled`]. One that is under way is still committed. Callable
    /// in any context.
    pub fn set_enabled(&self, enabled: bool) {
        let limit = if enabled {
            limit_of(self.page_words)
        } else {
            0
        };
        self.hot.0.limit.store_relaxed(limit);
    }

    /// Whether writers record.
    pub fn enabled(&self) -> bool {
        self.hot.0.limit.load_relaxed() != 0
    }

    /// Chooses what a full ring does: overrun its oldest events, or drop the
    /// newest. Callable in any context, at any time.
    pub fn set_overwrite(&self, overwrite: bool) {
        self.overwrite.store_relaxed(u32::from(overwrite));
    }

    /// Whether a full ring overruns its oldest events.
    pub fn overwrite(&self) -> bool {
        self.overwrite.load_relaxed() != 0
    }

    /// Whether there is something that the reader has not taken.
    ///
    /// For a reader that waits: cheap, needs no lock, and may say yes once too
    /// often but not once too seldom.
    pub fn readable(&self) -> bool {
        self.reader.0.unread(self.published())
    }

    /// Whether the sub-buffers that the reader has not taken are at least
    /// `percent` of the ring. The one on which the writers are counts, and does
    /// not make a ring full alone: as in the kernel.
    ///
    /// For a reader that waits, as [`Ring::readable`].
    pub fn is_filled(&self, percent: u32) -> bool {
        let place = self.reader.0.place();
        let left = self
            .geometry()
            .distance(place.seq(), self.published().seq());
        let slots = i64::from(self.capacity());
        let used = left.saturating_add(1).saturating_mul(100);
        left > 0 && used >= slots.saturating_mul(i64::from(percent))
    }

    /// The same as [`Ring::readable`] of a sub-buffer that the writers have left.
    pub fn whole_readable(&self) -> bool {
        self.reader.0.whole_unread(self.published())
    }

    fn geometry(&self) -> Geometry {
        self.hot.0.geometry
    }

    /// Everything before this position is committed and visible.
    fn published(&self) -> Position {
        Position(self.published.0.load_acquire())
    }

    fn slot(&self, seq: Seq) -> Option<&AtomicU64> {
        self.slots.get(self.geometry().slot(seq))
    }

    /// The page on which the writers have or had `seq`.
    #[inline(always)]
    fn tail(&self, seq: Seq) -> Option<&Tail> {
        self.tails.get(self.geometry().slot(seq))
    }

    fn page(&self, id: u32) -> Option<&Page> {
        self.pages.get(usize::try_from(id).ok()?)
    }
}

/// A page's words as the limit of reservations.
fn limit_of(page_words: usize) -> u32 {
    // A page has at most 2^17 words.
    u32::try_from(page_words).unwrap_or(0)
}
