// SPDX-License-Identifier: GPL-2.0

//! Entering and leaving as a writer, and publishing when the outermost one leaves.

use super::position::{Position, Seq};
use super::state::{Ring, Storage};
use crate::sys;

impl<S: Storage> Ring<S> {
    /// Counts this writer in, before it reads `state`. Returns whether it is the outermost.
    ///
    /// From here until [`Ring::leave`] no nested writer publishes, so `published` does not
    /// change for this writer, unless it is the outermost and publishes itself.
    #[inline(always)]
    pub(super) fn enter(&self) -> bool {
        let nesting = &self.hot.0.nesting;
        // Plain, not atomic: a nested writer restores the value it found.
        let depth = nesting.load_relaxed();
        nesting.store_relaxed(depth.wrapping_add(1));
        sys::barrier();
        depth == 0
    }

    /// Counts this writer out, and publishes if it is the outermost.
    #[inline(always)]
    pub(super) fn leave(&self) {
        let nesting = &self.hot.0.nesting;
        sys::barrier();
        let depth = nesting.load_relaxed();
        if depth != 1 {
            // The outermost writer publishes for this one: its store-release comes after
            // these stores in program order.
            nesting.store_relaxed(depth.wrapping_sub(1));
            return;
        }
        let state = Position(self.hot.0.state.load());
        if state.crossed(Position(self.published.0.load_relaxed())) {
            self.sum_up_pages(state.seq());
        }
        self.published.0.store_release(state.0);
        sys::barrier();
        nesting.store_relaxed(0);
        sys::barrier();
        // A nested writer that came after `state` was read and before `nesting` was 0 left
        // the publishing to this one. A nested writer that came later has published itself.
        if self.hot.0.state.load() != state.0 {
            self.publish_again();
        }
    }

    /// [`Ring::leave`] for an outermost writer whose own event ends at `after`, on the sub-buffer
    /// of `published`.
    ///
    /// Returns false if nested writers have recorded meanwhile: the caller must then call
    /// [`Ring::publish_again`].
    #[inline(always)]
    pub(super) fn leave_fast(&self, after: u64) -> bool {
        let hot = &self.hot.0;
        sys::barrier();
        self.published.0.store_release(after);
        sys::barrier();
        hot.nesting.store_relaxed(0);
        sys::barrier();
        hot.state.load() == after
    }

    /// Publishes events recorded while the outermost writer was publishing, or while it tried to
    /// reserve. Called by that writer, or later on its CPU.
    ///
    /// Each iteration but the last is caused by an interrupt that recorded an event.
    #[cold]
    #[inline(never)]
    pub(super) fn publish_again(&self) {
        let hot = &self.hot.0;
        loop {
            // From here on nested writers leave publishing to this one, so that no older
            // position is stored over a newer one.
            hot.nesting.store_relaxed(1);
            sys::barrier();
            let state = Position(hot.state.load());
            self.sum_up_pages(state.seq());
            self.published.0.store_release(state.0);
            sys::barrier();
            hot.nesting.store_relaxed(0);
            sys::barrier();
            if hot.state.load() == state.0 {
                return;
            }
        }
    }

    /// Stores, for each page from `published` to `to`, the sums over all pages before it.
    ///
    /// Called by the outermost writer, when all nested writers are done and fills and discarded
    /// counts before `to` are final. A nested writer cannot do this: the writer it interrupted may
    /// have moved `state` to the next sub-buffer without having stored the fill of the last one.
    #[cold]
    #[inline(never)]
    fn sum_up_pages(&self, to: Seq) {
        let losses = self.losses();
        let mut seq = Position(self.published.0.load_relaxed()).seq();
        while seq != to {
            let next = self.geometry().next(seq);
            let (Some(from), Some(into)) = (self.tail_page(seq), self.tail_page(next)) else {
                return;
            };
            let fill = Position(from.fill.load_relaxed());
            let events = from.events_before.load_relaxed();
            let bytes = from.bytes_before.load_relaxed();
            into.events_before
                .store_relaxed(events.wrapping_add(from.kept(fill)));
            into.bytes_before
                .store_relaxed(bytes.wrapping_add(fill.data_bytes()));
            into.losses_before.store_relaxed(losses);
            seq = next;
        }
        if let Some(tail) = self.tail(to) {
            self.hot.0.tail.follow(tail);
        }
    }
}
