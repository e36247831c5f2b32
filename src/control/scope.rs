// SPDX-License-Identifier: GPL-2.0

//! The events that a file shows: of all CPUs or one, in the buffer or the snapshot.

use crate::{buffer::Side, instance::Instance};
use kernel::{prelude::*, sync::Arc};

/// The events that a file shows.
pub(crate) struct Scope {
    /// Whose buffer it is.
    pub(crate) instance: Arc<Instance>,
    /// The buffer or the snapshot.
    pub(crate) side: Side,
    /// The CPU; `None` for all.
    pub(crate) cpu: Option<u32>,
}

impl Scope {
    /// Makes the scope of all CPUs, or of `cpu`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(instance: &Arc<Instance>, side: Side, cpu: Option<u32>) -> Result<Arc<Self>> {
        let instance = instance.clone();
        Ok(Arc::new(
            Self {
                instance,
                side,
                cpu,
            },
            GFP_KERNEL,
        )?)
    }
}

/// The CPU of a file.
pub(crate) struct OneCpu {
    /// The instance of the ring.
    pub(crate) instance: Arc<Instance>,
    /// Its number.
    pub(crate) cpu: u32,
}
