// SPDX-License-Identifier: GPL-2.0

//! `kprobe_stats`: where each probe is, how its hits ended, and what it does.
//!
//! `kprobe_profile` keeps the kernel's columns; what they leave out is here.

use super::text::Show;
use crate::{engine::text::Plain, events::probe::State, tracer::Tracer};
use core::fmt;
use kernel::sync::Arc;

/// The file.
pub(crate) struct Stats;

impl Show for Stats {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str("# event place hits recorded filtered off lost too-large missed state\n")?;
        let registry = tracer.registry.lock();
        for probe in registry.probes() {
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
                    State::Waiting => "waiting",
                    State::Armed => "enabled",
                    State::Disarmed => "disabled",
                    State::Limited => "hit-limit",
                }
            )?;
        }
        Ok(())
    }
}
