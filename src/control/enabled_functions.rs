// SPDX-License-Identifier: GPL-2.0

//! `enabled_functions`: the functions of the enabled `f` events.

use super::{functions::FunctionName, text::TextOps};
use crate::{
    engine::{definition::kind::Location, util::sort::sort},
    sys::Vec,
    tracer::Tracer,
};
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<Tracer> = TextOps::shows(show);

fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    let registry = tracer.registry.lock();
    let mut functions = Vec::new();
    for probe in registry.definitions.probes() {
        if probe.definition().kind.location != Some(Location::Function) || !probe.is_armed() {
            continue;
        }
        let mut result = Ok(());
        let mut add = |address| {
            if result.is_ok() {
                result = functions.push(address).map_err(|_| fmt::Error);
            }
        };
        match probe.functions() {
            Some(all) => all.each(&mut |address, _| add(address)),
            None => probe.address().into_iter().for_each(add),
        }
        result?;
    }
    // Looking the names up takes long; let others use the registry.
    drop(registry);
    sort(&mut functions);
    let mut rest = functions.iter().peekable();
    while let Some(address) = rest.next() {
        let mut events = 1u64;
        while rest.next_if(|other| *other == address).is_some() {
            events = events.saturating_add(1);
        }
        writeln!(out, "{} ({events})", FunctionName(*address))?;
    }
    Ok(())
}
