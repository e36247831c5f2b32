// SPDX-License-Identifier: GPL-2.0

//! `kprobe_profile`: hits and misses of each probe; `uprobe_profile`: the hits of those of programs.

use super::text::TextOps;
use crate::{
    engine::{record::format, util::text::Plain},
    events::probe::Probe,
    tracer::Tracer,
};
use core::fmt;
use kernel::sync::Arc;

/// The file `kprobe_profile`.
pub(super) const KPROBES: TextOps<Tracer> = TextOps::shows(show_kprobes);

/// The file `uprobe_profile`.
pub(super) const UPROBES: TextOps<Tracer> = TextOps::shows(show_uprobes);

fn show_kprobes(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    each(tracer, false, |probe| {
        let (name, counts) = (probe.event.format.name(), probe.counts());
        format::write_profile(out, name, counts.hits.hits(), counts.missed)
    })
}

fn show_uprobes(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    each(tracer, true, |probe| {
        let (name, counts) = (probe.event.format.name(), probe.counts());
        let path = probe.definition().place.path().unwrap_or_default();
        writeln!(
            out,
            "  {} {name:<44} {:15}",
            Plain(path),
            counts.hits.hits()
        )
    })
}

/// Calls `write` with each probe that is not ready-made: of programs if `is_user`, or of the kernel.
fn each(
    tracer: &Tracer,
    is_user: bool,
    mut write: impl FnMut(&Probe) -> fmt::Result,
) -> fmt::Result {
    let registry = tracer.registry.lock();
    let shown = registry
        .definitions
        .probes()
        .filter(|probe| !probe.event.is_ready_made() && probe.definition().kind.is_user == is_user);
    for probe in shown {
        write(probe)?;
    }
    Ok(())
}
