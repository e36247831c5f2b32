// SPDX-License-Identifier: GPL-2.0

//! `synthetic_events`: the synthetic events.
//!
//! Opening it for writing without appending removes them, and no others.

use super::{rejected::Rejected, text::TextOps};
use crate::{
    engine::{
        definition::{kind::ProbeKind, parse::Grammar},
        record::Head,
        util::text::Plain,
    },
    events::event::Event,
    tracer::Tracer,
};
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<Tracer> = TextOps {
    store: Some(store),
    truncate: Some(truncate),
    ..TextOps::shows(show)
};

fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    let registry = tracer.registry.lock();
    let common = registry
        .definitions
        .probes()
        .filter(|probe| probe.event.owner().is_none())
        .map(|probe| probe.definition());
    for definition in common.filter(|definition| definition.kind == ProbeKind::Synthetic) {
        write!(out, "{}\t", Plain(&definition.event))?;
        definition.write_fields(out)?;
    }
    Ok(())
}

fn store(tracer: &Arc<Tracer>, text: &[u8]) -> Result<(), Rejected> {
    Ok(tracer.define((text, Grammar::Synthetic), None)?)
}

fn truncate(tracer: &Arc<Tracer>) -> Result<(), Rejected> {
    let is_synthetic = |event: &Event| event.format.layout.class.head == Head::Synthetic;
    Ok(tracer.clear_definitions(&is_synthetic)?)
}
