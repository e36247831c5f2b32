// SPDX-License-Identifier: GPL-2.0

//! `events/GROUP/EVENT/functions`: the functions of an `f` event, and how often each was hit.

use super::{member::EventMember, text::TextOps};
use crate::{
    engine::util::{sort::sort, text::Plain},
    kapi::symbol::Symbol,
    sys::Vec,
};
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<EventMember> = TextOps::shows(show);

fn show(member: &Arc<EventMember>, out: &mut dyn fmt::Write) -> fmt::Result {
    let registry = member.instance.tracer.registry.lock();
    let event = member.event().ok_or(fmt::Error)?;
    let mut functions = Vec::new();
    for probe in registry.definitions.probes() {
        if probe.event.id() != event.id() {
            continue;
        }
        let Some(all) = probe.functions() else {
            continue;
        };
        let counts = probe.counts();
        let total = counts.hits.hits().wrapping_add(counts.missed);
        let mut result = Ok(());
        all.each(&mut |address, hits| {
            if result.is_ok() {
                result = functions.push((address, hits.unwrap_or(total)));
            }
        });
        result.map_err(|_| fmt::Error)?;
    }
    // Finding tens of thousands of names takes a second; let others use the registry.
    drop(registry);
    sort(&mut functions);
    let mut all = functions.iter().peekable();
    while let Some((address, hits)) = all.next() {
        let mut hits = *hits;
        // Several probes of the event may include one function.
        while let Some((_, more)) = all.next_if(|(other, _)| other == address) {
            hits = hits.wrapping_add(*more);
        }
        writeln!(out, "{} {hits}", FunctionName(*address))?;
    }
    Ok(())
}

/// Displays the function at an address, and its module in brackets.
pub(super) struct FunctionName(pub(super) u64);

impl fmt::Display for FunctionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(symbol) = Symbol::at(self.0) else {
            return write!(f, "{:#x}", self.0);
        };
        write!(f, "{}", Plain(symbol.name()))?;
        match symbol.module() {
            Some(module) => write!(f, " [{}]", Plain(module)),
            None => Ok(()),
        }
    }
}
