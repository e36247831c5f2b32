// SPDX-License-Identifier: GPL-2.0

//! The clock `local` of all buffers, and the permission to make rings with it.

use crate::{engine::util::clock::Judge, kapi::clock};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex, MutexGuard},
};

#[pin_data]
pub(crate) struct LocalClock {
    /// Held from the making of rings until their buffer has them, and while all rings are aligned.
    #[pin]
    known: Mutex<Known>,
}

/// What is known about the processor's counter.
pub(super) struct Known {
    pub(super) judge: Judge,
    /// The machine's number of sleeps at the last check.
    pub(super) sleeps: u64,
}

/// The permission to make rings. The clock `local` is not aligned until it is dropped, when the
/// buffer has the rings.
pub(crate) struct Making<'a>(pub(super) MutexGuard<'a, Known>);

impl LocalClock {
    /// Makes the clock of all buffers, after [`clock::calibrate`].
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let hertz = match clock::uses_counter() {
            true => clock::counter_hertz(),
            false => 0,
        };
        let known = Known {
            judge: Judge::new(hertz),
            sleeps: clock::sleeps(),
        };
        Arc::pin_init(pin_init!(Self { known <- new_mutex!(known) }), GFP_KERNEL)
    }

    /// Waits until no ring is being aligned. The lock precedes the readers' locks.
    ///
    /// Context: process, may sleep.
    pub(crate) fn making(&self) -> Making<'_> {
        Making(self.known.lock())
    }
}
