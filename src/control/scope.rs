// SPDX-License-Identifier: GPL-2.0

//! Whose events a file shows: those of all CPUs, or of one.

use crate::{buffer::Side, instance::Instance};
use kernel::{prelude::*, sync::Arc};

/// What a file of events shows.
pub(crate) struct Scope {
    /// Whose buffer it is.
    pub(crate) instance: Arc<Instance>,
    /// Of what is recorded, or of what was set aside.
    pub(crate) side: Side,
    /// The one CPU, if not all.
    pub(crate) cpu: Option<u32>,
}

impl Scope {
    /// The events of all CPUs, or of `cpu`, on that side.
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

/// A CPU, for its files.
pub(crate) struct OneCpu {
    /// Whose ring it is.
    pub(crate) instance: Arc<Instance>,
    /// Its number.
    pub(crate) cpu: u32,
}
