// SPDX-License-Identifier: GPL-2.0

//! The state of a ring's reader.

use super::position::{Position, Seq};
use crate::sys::{AtomicU32, AtomicU64};

/// The reader's state while there is no [`Reader`](super::Reader).
///
/// Only the holder of `busy` writes the fields; its cmpxchg and release order them. Others
/// may read them, for statistics.
pub(super) struct ReaderState {
    pub(super) busy: AtomicU32,
    /// The page that the reader owns.
    pub(super) page: AtomicU32,
    /// The [`Position`] of the next item: on that page, if it [is held](Position::is_held);
    /// otherwise on the sub-buffer to take next. One word, so that no other context sees
    /// half of a change.
    pub(super) place: AtomicU64,
    pub(super) ts: AtomicU64,
    pub(super) passed_events: AtomicU64,
    pub(super) passed_losses: AtomicU64,
    pub(super) pending_lost: AtomicU64,
    /// How many sub-buffers it has taken.
    pub(super) taken: AtomicU64,
    /// The spare to use next.
    pub(super) next_spare: AtomicU32,
    pub(super) read_events: AtomicU64,
    pub(super) read_bytes: AtomicU64,
    /// Migrated events and bytes.
    pub(super) carried_events: AtomicU64,
    pub(super) carried_bytes: AtomicU64,
    /// The counters when the ring was last reset.
    pub(super) base: Base,
}

impl ReaderState {
    /// Creates a reader with `spare` as its page, before the sub-buffer `first`.
    pub(super) fn new(spare: u32, first: Seq) -> Self {
        Self {
            busy: AtomicU32::new(0),
            page: AtomicU32::new(spare),
            place: AtomicU64::new(Position::start(first).0),
            ts: AtomicU64::new(0),
            passed_events: AtomicU64::new(0),
            passed_losses: AtomicU64::new(0),
            pending_lost: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            next_spare: AtomicU32::new(0),
            read_events: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            carried_events: AtomicU64::new(0),
            carried_bytes: AtomicU64::new(0),
            base: Base::new(),
        }
    }

    /// Returns the reader's current or last position.
    ///
    /// A later load of `published` returns a position at or after it.
    pub(super) fn place(&self) -> Position {
        Position(self.place.load_acquire())
    }
}

/// The counters at the last reset.
pub(super) struct Base {
    pub(super) overrun: AtomicU64,
    pub(super) commit_overrun: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) read: AtomicU64,
    pub(super) too_large: AtomicU64,
}

impl Base {
    pub(super) fn new() -> Self {
        Self {
            overrun: AtomicU64::new(0),
            commit_overrun: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            read: AtomicU64::new(0),
            too_large: AtomicU64::new(0),
        }
    }
}
