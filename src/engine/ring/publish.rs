// SPDX-License-Identifier: GPL-2.0

//! Writers that come and go, and what becomes readable when the outermost goes.

use super::place::data_bytes;
use super::position::{Position, Seq};
use super::{Ring, Storage};
use crate::sys;

impl<S: Storage> Ring<S> {
    /// Counts this writer in, before it looks at `state`; says whether it is
    /// the outermost.
    ///
    /// From here until [`Ring::leave`] no nested writer publishes, so
    /// `published` stands still for this writer, unless it is the outermost
    /// and publishes itself.
    #[inline(always)]
    pub(super) fn enter(&self) -> bool {
        let nesting = &self.hot.0.nesting;
        // Plain, not atomic: a nested writer restores what it found.
        let depth = nesting.load_relaxed();
        nesting.store_relaxed(depth.wrapping_add(1));
        sys::barrier();
        depth == 0
    }

    /// Counts this writer out, and publishes when it is the outermost.
    #[inline(always)]
    pub(super) fn leave(&self) {
        let nesting = &self.hot.0.nesting;
        sys::barrier();
        let depth = nesting.load_relaxed();
        if depth != 1 {
            // The outermost publishes for us: its store-release comes after
            // our stores in the order of this CPU's program.
            nesting.store_relaxed(depth.wrapping_sub(1));
            return;
        }
        let state = Position(self.hot.0.state.load());
        if state.crossed(Position(self.published.0.load_relaxed())) {
            self.settle_pages(state.seq());
        }
        self.published.0.store_release(state.0);
        sys::barrier();
        nesting.store_relaxed(0);
        sys::barrier();
        // A nested writer that came after `state` was read and before
        // `nesting` was 0 left the publishing to us. One that came later has
        // published by itself.
        if self.hot.0.state.load() != state.0 {
            self.publish_again();
        }
    }

    /// [`Ring::leave`] of an outermost writer whose own event ends at `after`, on
    /// the sub-buffer on which `published` is.
    ///
    /// What nested writers did meanwhile is left to [`Ring::publish_again`]: false
    /// where that must be called.
    #[inline(always)]
    pub(super) fn leave_quickly(&self, after: u64) -> bool {
        let hot = &self.hot.0;
        sys::barrier();
        self.published.0.store_release(after);
        sys::barrier();
        hot.nesting.store_relaxed(0);
        sys::barrier();
        hot.state.load() == after
    }

    /// Publishes what came while the outermost writer was publishing, as that or
    /// later.
    ///
    /// Ends when no event came meanwhile: every round but the last was caused
    /// by an interrupt that recorded one.
    #[cold]
    #[inline(never)]
    pub(super) fn publish_again(&self) {
        let hot = &self.hot.0;
        loop {
            // From here on nested writers leave it to us, so that no older
            // position is stored over a newer one.
            hot.nesting.store_relaxed(1);
            sys::barrier();
            let state = Position(hot.state.load());
            self.settle_pages(state.seq());
            self.published.0.store_release(state.0);
            sys::barrier();
            hot.nesting.store_relaxed(0);
            sys::barrier();
            if hot.state.load() == state.0 {
                return;
            }
        }
    }

    /// Sums up what came before each page from `published` to `to`.
    ///
    /// Only the outermost writer does this, when everything nested in it is
    /// done: fills and discards of all pages before `to` are final. (A nested
    /// writer cannot do it: the one it interrupted may have moved `state` to
    /// the next page and not yet noted how full it left the last.)
    #[cold]
    #[inline(never)]
    fn settle_pages(&self, to: Seq) {
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
                .store_relaxed(bytes.wrapping_add(data_bytes(fill)));
            into.losses_before.store_relaxed(losses);
            seq = next;
        }
        if let Some(tail) = self.tail(to) {
            self.hot.0.tail.follow(tail);
        }
    }
}
