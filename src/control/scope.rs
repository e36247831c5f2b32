// SPDX-License-Identifier: GPL-2.0

//! Whose events a file shows: those of all CPUs, or of one.

use crate::{buffer::Side, tracer::Tracer};
use kernel::{prelude::*, sync::Arc};

/// What a file of events shows.
pub(crate) struct Scope {
    /// Whose buffer it is.
    pub(crate) tracer: Arc<Tracer>,
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
    pub(crate) fn new(tracer: &Arc<Tracer>, side: Side, cpu: Option<u32>) -> Result<Arc<Self>> {
        let tracer = tracer.clone();
        Ok(Arc::new(Self { tracer, side, cpu }, GFP_KERNEL)?)
    }
}
