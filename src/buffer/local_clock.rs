// SPDX-License-Identifier: GPL-2.0

//! The clock `local` of all buffers, and the right to make rings with it.

use crate::{engine::util::clock::Judge, kapi::clock};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex, MutexGuard},
};

/// The clock `local` of all buffers.
#[pin_data]
pub(crate) struct LocalClock {
    /// Held from when rings are made until their buffer has them, and while all are aligned.
    #[pin]
    known: Mutex<Known>,
}

/// What is known about the processor's counter.
pub(super) struct Known {
    pub(super) judge: Judge,
    /// The number of sleeps of the machine when it was last checked.
    pub(super) sleeps: u64,
}

/// The right to make rings. Until it is dropped, which is when the buffer has the rings, the
/// clock `local` is not aligned.
pub(crate) struct Making<'a>(pub(super) MutexGuard<'a, Known>);

impl LocalClock {
    /// Makes the clock of all buffers. [`clock::calibrate`] was called before.
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
