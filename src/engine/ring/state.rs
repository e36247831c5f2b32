// SPDX-License-Identifier: GPL-2.0

//! The shared state of a ring: see [`super`] for who writes what.

use super::layout::{self, HEADER_WORDS, MAX_PAGE_BYTES, MIN_EVENT_WORDS, NOTE_WORDS, WORD};
use super::lost::Lost;
use super::note::Noted;
use super::position::{Geometry, Laps, Position, Seq, Slot};
use super::progress;
use super::tail::Tail;
use super::tally::Tally;
use crate::sys::{self, AllocError, AtomicU32, AtomicU64, LocalWord};

/// The memory in which a [`Ring`] keeps its sub-buffers.
///
/// # Safety
///
/// - [`Storage::page`] returns the same memory for the same `id` each time, for as long as
///   the value lives, even if it is moved.
/// - The memory of different ids does not overlap.
/// - Only the owner of the storage stores to it. Others may read it (a mapping to user
///   space).
/// - All pages have the same number of words.
pub unsafe trait Storage {
    /// Returns the words of page `id`, or `None` if there is no such page. Ids count from
    /// zero.
    fn page(&self, id: u32) -> Option<&[AtomicU32]>;
}

/// Why a ring cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingError {
    /// Out of memory.
    NoMemory,
    /// The sub-buffers are too few, too many, too small or too large.
    BadSize,
}

impl From<AllocError> for RingError {
    fn from(_: AllocError) -> Self {
        Self::NoMemory
    }
}

/// What writers record about a page, apart from its content.
///
/// It belongs to the page and not to the slot, so that it stays with the reader's page
/// while the slot is reused.
pub(super) struct Page {
    /// The last [`Position`] on it, stored when the writers moved to the next sub-buffer.
    pub(super) fill: AtomicU64,
    /// The comm notes and the discarded events on it.
    pub(super) tally: Tally,
    /// Events recorded before it, since the ring was created.
    pub(super) events_before: AtomicU64,
    /// Number of bytes of data before it, since the ring was created.
    pub(super) bytes_before: AtomicU64,
    /// Events that found no room before it, since the ring was created.
    pub(super) losses_before: AtomicU64,
}

impl Page {
    pub(super) fn new() -> Self {
        Self {
            fill: AtomicU64::new(Position::NOWHERE.0),
            tally: Tally::new(),
            events_before: AtomicU64::new(0),
            bytes_before: AtomicU64::new(0),
            losses_before: AtomicU64::new(0),
        }
    }

    /// Returns the number of events up to `end`, which is on this page, without the
    /// discarded ones.
    pub(super) fn kept(&self, end: Position) -> u64 {
        end.entries()
            .saturating_sub(self.tally.discarded(end.seq()))
    }

    /// Clears the fill and the tally: the events are gone, and the sequences may wrap before
    /// they are stored again.
    pub(super) fn forget(&self) {
        self.fill.store_relaxed(Position::NOWHERE.0);
        self.tally.forget();
    }
}

/// A cache line of its own, which avoids false sharing between CPUs.
#[repr(align(64))]
pub(super) struct CacheLine<T>(pub(super) T);

/// The words that every reservation touches, on one line that only the owning CPU writes.
pub(super) struct Hot {
    /// The position of the next event.
    pub(super) state: LocalWord,
    /// The time of the last event; with [`UNSURE`], a time not later than it.
    pub(super) last: AtomicU64,
    pub(super) nesting: AtomicU32,
    /// Number of words of a sub-buffer; 0 while recording is off, so that every reservation then
    /// takes the slow path, at no cost to the fast one.
    pub(super) limit: AtomicU32,
    /// The page of `state` while no writer is active.
    pub(super) tail: Tail,
    pub(super) noted: Noted,
    pub(super) geometry: Geometry,
}

/// Set in [`Hot::last`] if that may be earlier than the last event. The next event then
/// needs an absolute time instead of a delta.
pub(super) const UNSURE: u64 = 1 << 62;

/// Counters of lost events, written by writers only.
pub(super) struct Counters {
    pub(super) overrun: AtomicU64,
    pub(super) overrun_bytes: AtomicU64,
    pub(super) commit_overrun: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) too_large: AtomicU64,
}

/// The ring buffer of one CPU. See the head of this module.
///
/// # Invariants
///
/// - From `published` to `state` less than one lap of sequences is in use.
/// - `limit` is 0 or `page_words`.
/// - All of `tails` are pages of `storage`.
/// - The slot of `state` is below the number of slots, and each slot has an entry in
///   `tails`.
/// - For each slot that writers have entered, `tails` has a page that no slot of another
///   sequence holds and that the reader does not have as spare.
/// - A page of `spares` is in no slot, and is not the reader's.
/// - The words between a reservation's start and end belong to it until it is committed.
///   Words before `published` do not change until a writer claims their slot; words of the
///   reader's page do not change until the reader gives it back.
pub struct Ring<S> {
    pub(super) hot: CacheLine<Hot>,
    pub(super) published: CacheLine<AtomicU64>,
    pub(super) cpu: u32,
    pub(super) storage: S,
    pub(super) tails: sys::Vec<Tail>,
    pub(super) slots: sys::Vec<AtomicU64>,
    pub(super) pages: sys::Vec<Page>,
    /// Pages that are in no slot and not the reader's: free, or lent.
    pub(super) spares: sys::Vec<AtomicU32>,
    pub(super) page_words: usize,
    /// The sub-buffer in which the writers began.
    pub(super) first: Seq,
    pub(super) overwrite: AtomicU32,
    /// 1 once [`Ring::close`] was called.
    closed: AtomicU32,
    pub(super) counters: CacheLine<Counters>,
    pub(super) reader: CacheLine<progress::ReaderState>,
}

impl<S: Storage> Ring<S> {
    /// Creates the ring of `cpu` over the first `pages` pages of `storage`: one of them is
    /// the reader's, the others are the slots'. Pages of `storage` behind those are spares,
    /// see [`Reader::lend`](super::Reader::lend).
    ///
    /// `overwrite` chooses what a full ring does: overrun its oldest events, or drop the
    /// newest. All sub-buffers have one fixed size; another size or number needs another
    /// ring, which the caller swaps in while no writer runs.
    ///
    /// # Errors
    ///
    /// [`RingError::BadSize`] for fewer than three pages, for pages without room for an event
    /// or above [`MAX_PAGE_BYTES`], and for a storage with fewer pages;
    /// [`RingError::NoMemory`].
    pub fn new(cpu: u32, storage: S, pages: u32, overwrite: bool) -> Result<Self, RingError> {
        Self::with_laps(cpu, storage, pages, overwrite, Laps::ALL)
    }

    /// As [`Ring::new`], with other sequences, so that a test reaches the end of their
    /// range without writing that many sub-buffers.
    ///
    /// # Errors
    ///
    /// As for [`Ring::new`].
    pub fn with_laps(
        cpu: u32,
        storage: S,
        pages: u32,
        overwrite: bool,
        laps: Laps,
    ) -> Result<Self, RingError> {
        let slots = pages.checked_sub(1).ok_or(RingError::BadSize)?;
        let geometry = Geometry::new(slots, laps).ok_or(RingError::BadSize)?;
        let page_words = storage.page(0).map_or(0, <[_]>::len);
        let least = HEADER_WORDS.saturating_add(NOTE_WORDS.saturating_add(MIN_EVENT_WORDS));
        if !(least..=MAX_PAGE_BYTES / WORD).contains(&page_words) {
            return Err(RingError::BadSize);
        }
        let mut tails = sys::Vec::new();
        let mut slot_words = sys::Vec::new();
        let mut notes = sys::Vec::new();
        for id in 0..pages {
            if storage.page(id).map(<[_]>::len) != Some(page_words) {
                return Err(RingError::BadSize);
            }
            notes.push(Page::new())?;
        }
        let mut spares = sys::Vec::new();
        for (id, page) in (pages..).map_while(|id| Some((id, storage.page(id)?))) {
            if page.len() != page_words {
                return Err(RingError::BadSize);
            }
            notes.push(Page::new())?;
            spares.push(AtomicU32::new(id))?;
        }
        let first = geometry.start_of(laps.first);
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
            hot: CacheLine(Hot {
                state: LocalWord::new(start.0),
                last: AtomicU64::new(0),
                nesting: AtomicU32::new(0),
                limit: AtomicU32::new(limit_of(page_words)),
                tail: Tail::new(0, storage.page(0).unwrap_or_default()),
                noted: Noted::new(),
                geometry,
            }),
            published: CacheLine(AtomicU64::new(start.0)),
            cpu,
            storage,
            tails,
            slots: slot_words,
            pages: notes,
            spares,
            page_words,
            first,
            overwrite: AtomicU32::new(u32::from(overwrite)),
            closed: AtomicU32::new(0),
            counters: CacheLine(Counters {
                overrun: AtomicU64::new(0),
                overrun_bytes: AtomicU64::new(0),
                commit_overrun: AtomicU64::new(0),
                dropped: AtomicU64::new(0),
                too_large: AtomicU64::new(0),
            }),
            reader: CacheLine(progress::ReaderState::new(slots, first)),
        })
    }

    /// Returns the CPU that writes.
    pub fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Returns the size of a sub-buffer in bytes, its header included.
    pub fn page_bytes(&self) -> usize {
        self.page_words.saturating_mul(WORD)
    }

    /// Returns the number of sub-buffers that hold events: all but the reader's.
    pub fn capacity(&self) -> u32 {
        self.hot.0.geometry.slots()
    }

    /// Returns the size in bytes of the largest payload that fits a sub-buffer.
    ///
    /// Context: any.
    #[inline]
    pub fn max_payload(&self) -> usize {
        // An explicit length needs two words of header.
        let words = self.page_words.saturating_sub(HEADER_WORDS);
        words
            .saturating_sub(NOTE_WORDS.saturating_add(2))
            .saturating_mul(WORD)
    }

    /// Lets writers record, unless the ring is closed, or makes every later reservation fail
    /// with [`Lost::Disabled`]. A reservation that is under way is still committed.
    ///
    /// Context: any.
    pub fn set_enabled(&self, enabled: bool) {
        let limit = &self.hot.0.limit;
        limit.store_relaxed(if enabled {
            limit_of(self.page_words)
        } else {
            0
        });
        // Pairs with `close`: one of the two sees the other's store, and stores 0 last.
        sys::fence_full();
        if self.closed.load_relaxed() != 0 {
            limit.store_relaxed(0);
        }
    }

    /// Makes every reservation that reads the clock from now on fail with
    /// [`Lost::Closed`], for good. For a ring whose events another ring takes over while
    /// writers switch to that one: a writer may have found this ring before the switch and be
    /// interrupted by one that records in the other ring. If it then recorded here, its event
    /// would be before the other one, with a later time.
    ///
    /// Context: any.
    pub fn close(&self) {
        self.closed.store_relaxed(1);
        sys::fence_full();
        self.hot.0.limit.store_relaxed(0);
    }

    /// Returns why a reservation found `limit` to be 0.
    pub(super) fn why_off(&self) -> Lost {
        // Pairs with `close`: who sees its 0 sees that the ring is closed.
        sys::fence_full();
        match self.closed.load_relaxed() {
            0 => Lost::Disabled,
            _ => Lost::Closed,
        }
    }

    /// Returns whether writers record.
    pub fn enabled(&self) -> bool {
        self.hot.0.limit.load_relaxed() != 0
    }

    /// Chooses what a full ring does: overrun its oldest events, or drop the newest.
    ///
    /// Context: any.
    pub fn set_overwrite(&self, overwrite: bool) {
        self.overwrite.store_relaxed(u32::from(overwrite));
    }

    /// Returns whether a full ring overruns its oldest events.
    pub fn overwrite(&self) -> bool {
        self.overwrite.load_relaxed() != 0
    }

    pub(super) fn geometry(&self) -> Geometry {
        self.hot.0.geometry
    }

    /// Returns the position before which everything is committed and visible.
    pub(super) fn published(&self) -> Position {
        Position(self.published.0.load_acquire())
    }

    pub(super) fn slot(&self, seq: Seq) -> Option<&AtomicU64> {
        self.slots.get(self.geometry().slot(seq))
    }

    /// Returns the page that the writers use or used for `seq`.
    #[inline(always)]
    pub(super) fn tail(&self, seq: Seq) -> Option<&Tail> {
        self.tails.get(self.geometry().slot(seq))
    }

    pub(super) fn page(&self, id: u32) -> Option<&Page> {
        self.pages.get(usize::try_from(id).ok()?)
    }
}

/// Returns a sub-buffer's words as the limit of reservations.
pub(super) fn limit_of(page_words: usize) -> u32 {
    // A sub-buffer has at most 2^17 words.
    u32::try_from(page_words).unwrap_or(0)
}
