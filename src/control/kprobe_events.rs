// SPDX-License-Identifier: GPL-2.0

//! `kprobe_events` and `dynamic_events`, two doors to the definitions.
//!
//! Opening one for writing without appending, as the shell's `>` does, removes
//! all events.

use super::text::{self, Show, Store};
use crate::tracer::Tracer;
use core::fmt;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// Either file.
pub(crate) struct KprobeEvents;

impl Show for KprobeEvents {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        let registry = tracer.registry.lock();
        for probe in registry.probes() {
            probe.definition().write_line(out)?;
        }
        Ok(())
    }
}

impl Store for KprobeEvents {
    fn store(tracer: &Arc<Tracer>, from: UserSliceReader) -> Result {
        tracer.define(&text::written(from)?)
    }

    fn truncate(tracer: &Arc<Tracer>) -> Result {
        tracer.clear_definitions()
    }
}
