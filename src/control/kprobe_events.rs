// SPDX-License-Identifier: GPL-2.0

//! `kprobe_events` and `dynamic_events`, two doors to the definitions. The former does not show or
//! clear the events that others cause.
//!
//! Opening one for writing without appending, as the shell's `>` does, removes
//! all events. Private events are not among them.

use super::{
    rejected::Rejected,
    text::{Show, TakesText},
};
use crate::{
    engine::{
        definition::parse::Grammar,
        record::{Class, Head},
    },
    tracer::Tracer,
};
use core::fmt;
use kernel::sync::Arc;

/// Either file: `ALL` is that with all definitions.
pub(crate) struct DefinedEvents<const ALL: bool>;

/// Returns whether others cause the events of a class.
fn is_caused(class: &Class) -> bool {
    matches!(class.head, Head::Event | Head::Synthetic)
}

impl<const ALL: bool> Show for DefinedEvents<ALL> {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        let registry = tracer.registry.lock();
        let common = registry
            .definitions
            .probes()
            .filter(|probe| probe.event.owner().is_none())
            .filter(|probe| ALL || !is_caused(probe.format().layout.class));
        for probe in common {
            probe.definition().write_line(out)?;
        }
        Ok(())
    }
}

impl<const ALL: bool> TakesText for DefinedEvents<ALL> {
    /// A NUL is refused in any line, as by tracefs.
    const ENDS_AT_NUL: bool = false;

    fn store(tracer: &Arc<Tracer>, text: &[u8]) -> Result<(), Rejected> {
        Ok(tracer.define((text, Grammar::Letters), None)?)
    }

    fn truncate(tracer: &Arc<Tracer>) -> Result<(), Rejected> {
        Ok(tracer.clear_definitions(&|event| ALL || !is_caused(event.format.layout.class))?)
    }
}
