// SPDX-License-Identifier: GPL-2.0

//! A fast writer's duty to publish events of interrupts.

use core::marker::PhantomData;

use super::state::{Ring, Storage};

/// Events that interrupts recorded during a reservation and left to the writer to publish.
///
/// A fast writer returns this to its caller instead of making a call itself. It refers to the ring
/// that was written to, which may no longer be in use.
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
    /// Publishes events that interrupts left to a writer, after that has ended.
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
