// SPDX-License-Identifier: GPL-2.0

//! Reports waiting probes in the kernel's log.

use super::set::Set;
use crate::engine::definition::kind::Mechanism;
use crate::engine::util::text::OneLine;
use kernel::prelude::*;

/// Warns in the kernel's log of those of `probes`, the new probes, that wait for a
/// module, as the kernel does for its own events: the name may be wrong.
pub(super) fn report_waiting(probes: &Set) {
    /// Most events that one call names.
    const NAMED: usize = 10;
    let waiting = || probes.iter().filter(|probe| probe.is_waiting());
    for probe in waiting().take(NAMED) {
        let definition = probe.definition();
        let (group, event) = (OneLine(&definition.group), OneLine(&definition.event));
        match definition.place.symbol() {
            Some((Some(module), _)) => pr_warn!(
                "event {} waits for the module {}, which is not loaded\n",
                format_args!("{group}/{event}"),
                format_args!("{}", OneLine(module))
            ),
            Some((None, point)) if definition.kind.mechanism == Mechanism::Tracepoint => pr_warn!(
                "event {} waits for a module with the tracepoint {}\n",
                format_args!("{group}/{event}"),
                format_args!("{}", OneLine(point))
            ),
            _ => {}
        }
    }
    let more = waiting().count().saturating_sub(NAMED);
    if more > 0 {
        pr_warn!("so do {more} other events: kprobe_stats names them\n");
    }
}
