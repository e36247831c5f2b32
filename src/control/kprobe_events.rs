// SPDX-License-Identifier: GPL-2.0

//! `kprobe_events` and `dynamic_events`: the definitions. The former does not show or clear events
//! that other events cause.
//!
//! Opening one for writing without appending, like the shell's `>`, removes all events, except
//! private ones.

use super::{rejected::Rejected, text::TextOps};
use crate::{
    engine::{
        definition::parse::Grammar,
        record::{Class, Head},
    },
    tracer::Tracer,
};
use core::fmt;
use kernel::sync::Arc;

pub(super) const KPROBE_EVENTS: TextOps<Tracer> = of_definitions::<false>();

/// The file `dynamic_events`.
pub(super) const DYNAMIC_EVENTS: TextOps<Tracer> = of_definitions::<true>();

const fn of_definitions<const ALL: bool>() -> TextOps<Tracer> {
    TextOps {
        store: Some(store),
        truncate: Some(truncate::<ALL>),
        // As in tracefs, a NUL is refused in any line.
        ends_at_nul: false,
        ..TextOps::shows(show::<ALL>)
    }
}

/// Returns whether other events cause the events of a class.
fn is_caused(class: &Class) -> bool {
    matches!(class.head, Head::Event | Head::Synthetic)
}

fn show<const ALL: bool>(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
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

fn store(tracer: &Arc<Tracer>, text: &[u8]) -> Result<(), Rejected> {
    Ok(tracer.define((text, Grammar::Letters), None)?)
}

fn truncate<const ALL: bool>(tracer: &Arc<Tracer>) -> Result<(), Rejected> {
    Ok(tracer.clear_definitions(&|event| ALL || !is_caused(event.format.layout.class))?)
}
