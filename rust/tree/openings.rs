// SPDX-License-Identifier: GPL-2.0

//! Counts the open files below a directory.

use core::sync::atomic::{AtomicU32, Ordering};
use kernel::{prelude::*, sync::Arc};

/// The number of open files below a directory; see [`Dir::counted`](super::Dir::counted).
pub struct Openings(AtomicU32);

/// Bit: no file can be opened any more.
const CLOSED: u32 = 1 << 31;

impl Openings {
    /// Makes a count of 0.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new() -> Result<Arc<Self>> {
        Ok(Arc::new(Self(AtomicU32::new(0)), GFP_KERNEL)?)
    }

    /// Prevents files from being opened.
    ///
    /// # Errors
    ///
    /// `EBUSY` if one is open or being opened; then nothing has changed.
    pub fn close(&self) -> Result {
        let closed = self
            .0
            .compare_exchange(0, CLOSED, Ordering::AcqRel, Ordering::Relaxed);
        closed.map(drop).map_err(|_| EBUSY)
    }

    /// Undoes [`Openings::close`].
    pub fn open_again(&self) {
        self.0.store(0, Ordering::Release);
    }
}

/// A counted open file.
pub(super) struct Opening(Arc<Openings>);

impl Opening {
    /// Counts one more open file.
    ///
    /// # Errors
    ///
    /// `ENODEV` if files can no longer be opened.
    pub(super) fn begin(openings: &Arc<Openings>) -> Result<Self> {
        let more = |count: u32| (count & CLOSED == 0).then(|| count.wrapping_add(1));
        let counted = openings
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, more);
        counted.map_err(|_| ENODEV)?;
        Ok(Self(openings.clone()))
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.0 .0.fetch_sub(1, Ordering::AcqRel);
    }
}
