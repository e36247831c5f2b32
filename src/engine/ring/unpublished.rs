// SPDX-License-Identifier: GPL-2.0

//! What a fast writer leaves to be published.

use core::marker::PhantomData;

use super::state::{Ring, Storage};

/// Events that interrupts recorded in the middle of a writer and left to it to publish.
///
/// A fast writer returns this to its caller, so that it need not call anything itself. It
/// belongs to the ring that was written to, which may no longer be in use.
#[must_use = "it would not be published before the next event"]
pub struct Unpublished<'r, S: Storage> {
    ring: &'r Ring<S>,
    // Stays on the CPU of the writer.
    local: PhantomData<*const ()>,
}

impl<'r, S: Storage> Unpublished<'r, S> {
    #[inline(always)]
    pub(super) fn new(ring: &'r Ring<S>) -> Self {
        Self {
            ring,
            local: PhantomData,
        }
    }

    /// Publishes the events.
    ///
    /// Context: any.
    pub fn publish(self) {
        self.ring.publish_rest();
    }

    /// Returns the ring, whose [`publish_rest`](Ring::publish_rest) publishes the events.
    #[inline(always)]
    pub fn ring(self) -> &'r Ring<S> {
        self.ring
    }
}

impl<S: Storage> Ring<S> {
    /// Publishes what interrupts have left to a writer, which has ended.
    ///
    /// Context: any.
    #[cold]
    #[inline(never)]
    pub fn publish_rest(&self) {
        // If this is nested in another writer, that writer publishes.
        if self.hot.0.nesting.load_relaxed() == 0 {
            self.publish_again();
        }
    }
}
