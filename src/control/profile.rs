// SPDX-License-Identifier: GPL-2.0

//! `kprobe_profile`: hits and misses of each probe.

use super::text::TextOps;
use crate::{engine::record::format, tracer::Tracer};
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<Tracer> = TextOps::shows(show);

fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    let registry = tracer.registry.lock();
    for probe in registry
        .definitions
        .probes()
        .filter(|probe| !probe.event.is_ready_made())
    {
        let counts = probe.counts();
        format::write_profile(
            out,
            probe.event.format.name(),
            counts.hits.hits(),
            counts.missed,
        )?;
    }
    Ok(())
}
