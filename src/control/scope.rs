// SPDX-License-Identifier: GPL-2.0

//! Whose events a file shows: those of all CPUs, or of one.

use crate::tracer::Tracer;
use kernel::{prelude::*, sync::Arc};

/// What a file of events shows.
pub(crate) struct Scope {
    /// Whose buffer it is.
    pub(crate) tracer: Arc<Tracer>,
    /// The one CPU, if not all.
    pub(crate) cpu: Option<u32>,
}

impl Scope {
    /// The events of all CPUs, or of `cpu`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(tracer: &Arc<Tracer>, cpu: Option<u32>) -> Result<Arc<Self>> {
        let tracer = tracer.clone();
        Ok(Arc::new(Self { tracer, cpu }, GFP_KERNEL)?)
    }
}
