// SPDX-License-Identifier: GPL-2.0

//! `kprobe_events` and `dynamic_events`, two doors to the definitions.
//!
//! Opening one for writing without appending, as the shell's `>` does, removes
//! all events. Private events are not among them.

use super::{
    rejected::Rejected,
    text::{Show, TakesText},
};
use crate::{engine::parse::Grammar, tracer::Tracer};
use core::fmt;
use kernel::sync::Arc;

/// Either file.
pub(crate) struct KprobeEvents;

impl Show for KprobeEvents {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        let registry = tracer.registry.lock();
        let common = registry
            .probes()
            .filter(|probe| probe.event.owner().is_none());
        for probe in common {
            probe.definition().write_line(out)?;
        }
        Ok(())
    }
}

impl TakesText for KprobeEvents {
    /// A NUL is refused in any line, as by tracefs.
    const ENDS_AT_NUL: bool = false;

    fn store(tracer: &Arc<Tracer>, text: &[u8]) -> Result<(), Rejected> {
        Ok(tracer.define((text, Grammar::Letters), None)?)
    }

    fn truncate(tracer: &Arc<Tracer>) -> Result<(), Rejected> {
        Ok(tracer.clear_definitions(&|_| true)?)
    }
}
