// SPDX-License-Identifier: GPL-2.0

//! Counts how often the files below a directory are open.

use core::sync::atomic::{AtomicU32, Ordering};
use kernel::{prelude::*, sync::Arc};

/// Counts the openings of the files below a directory; see
/// [`Dir::counted`](super::Dir::counted).
pub struct Openings(AtomicU32);

/// Set once no file can be opened any more.
const CLOSED: u32 = 1 << 31;

impl Openings {
    /// Counts from 0.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new() -> Result<Arc<Self>> {
        Ok(Arc::new(Self(AtomicU32::new(0)), GFP_KERNEL)?)
    }

    /// Lets no file be opened any more.
    ///
    /// # Errors
    ///
    /// `EBUSY` if one is open, or is being opened; then they can still be opened.
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

/// An opening that is counted.
pub(super) struct Opening(Arc<Openings>);

impl Opening {
    /// Counts one more.
    ///
    /// # Errors
    ///
    /// `ENODEV` if no file can be opened any more.
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
