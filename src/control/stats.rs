// SPDX-License-Identifier: GPL-2.0

//! `kprobe_stats`: location, hits and state of each probe; `syscall_stats`: the same for system
//! calls.
//!
//! `kprobe_profile` keeps the kernel's columns; these files have the rest.

use super::text::TextOps;
use crate::{
    engine::util::text::Plain,
    events::probe::{Probe, ProbeState},
    tracer::Tracer,
};
use core::fmt;
use kernel::sync::Arc;

/// The file `kprobe_stats`.
pub(super) const KPROBE_STATS: TextOps<Tracer> = TextOps::shows(show_probes);

fn show_probes(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    out.write_str("# event place hits recorded filtered off lost too-large missed state\n")?;
    let registry = tracer.registry.lock();
    for probe in registry.definitions.probes() {
        // Only those ready-made events that were armed or hit.
        let is_used = || probe.is_armed() || probe.counts().hits.hits() > 0;
        if !probe.event.is_ready_made() || is_used() {
            row(probe, out)?;
        }
    }
    for event in registry.events() {
        let (group, name) = event.names();
        match event.exhausted() {
            0 => {}
            count => writeln!(
                out,
                "# {}/{}: {count} hits whose filters took too many steps",
                Plain(group),
                Plain(name)
            )?,
        }
    }
    Ok(())
}

/// The file `syscall_stats`, with the events that are enabled or were hit.
pub(super) const SYSCALL_STATS: TextOps<Tracer> = TextOps::shows(show_syscalls);

fn show_syscalls(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    out.write_str("# event call hits recorded filtered off lost too-large missed state\n")?;
    let registry = tracer.registry.lock();
    for probe in registry.definitions.syscall_probes() {
        if probe.is_armed() || probe.counts().hits.hits() > 0 {
            row(probe, out)?;
        }
    }
    let losses = registry.definitions.call_losses();
    writeln!(out, "# 32-bit calls, not traced: {}", losses.skipped)?;
    writeln!(
        out,
        "# records with memory that was not there: {}",
        losses.unread
    )?;
    writeln!(
        out,
        "# too many calls in progress, no duration: {}",
        losses.not_noted
    )?;
    writeln!(
        out,
        "# too many calls in progress, strings may be cut: {}",
        losses.cut
    )
}

/// Writes the row of `probe`.
fn row(probe: &Probe, out: &mut dyn fmt::Write) -> fmt::Result {
    let definition = probe.definition();
    let counts = probe.counts();
    let hits = counts.hits;
    writeln!(
        out,
        "{}/{} {} {} {} {} {} {} {} {} {}",
        Plain(&definition.group),
        Plain(&definition.event),
        definition.place,
        hits.hits(),
        hits.recorded,
        hits.filtered,
        hits.off,
        hits.lost_full,
        hits.lost_large,
        counts.missed,
        match probe.state() {
            ProbeState::Waiting => "waiting",
            ProbeState::Armed if probe.event.is_enabled() => "enabled",
            ProbeState::Armed => "armed",
            ProbeState::Disarmed => "disabled",
            ProbeState::Limited => "hit-limit",
        }
    )
}
