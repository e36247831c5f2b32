// SPDX-License-Identifier: GPL-2.0

//! Which events have the watchpoints of the processor.

use crate::{
    engine::{
        definition::kind::ProbeKind,
        refusal::error::{Error as Refusal, Kind},
        util::text::Plain,
    },
    events::probe::Probe,
};
use core::fmt;
use kernel::sync::Arc;

/// Returns `refusal`; if it says that all watchpoints are taken, with those of `probes` that have
/// one.
#[cold]
#[inline(never)]
pub(super) fn with_holders<'a>(
    refusal: Refusal,
    probes: impl Iterator<Item = &'a Arc<Probe>> + Clone,
) -> Refusal {
    if refusal.kind != Kind::NoWatchpoint {
        return refusal;
    }
    let holders = Holders(probes);
    refusal.with_detail(format_args!(
        "delete one of those that take them: {holders}debuggers and perf may have others"
    ))
}

/// Displays the names of the events of `probes` that have a watchpoint, each with a comma behind it.
struct Holders<I>(I);

impl<'a, I: Iterator<Item = &'a Arc<Probe>> + Clone> fmt::Display for Holders<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for probe in self.0.clone() {
            let definition = probe.definition();
            if definition.kind == ProbeKind::Watchpoint && !probe.is_waiting() {
                let format = &probe.event.format;
                write!(f, "{}/{}, ", Plain(format.group.to_bytes()), format.name())?;
            }
        }
        Ok(())
    }
}
