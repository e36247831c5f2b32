// SPDX-License-Identifier: GPL-2.0

//! `enabled_functions`: the functions of the enabled `f` events.

use super::text::Show;
use crate::{engine::text::Plain, sys::Vec, tracer::Tracer};
use core::fmt;
use kernel::sync::Arc;

/// The file.
pub(crate) struct EnabledFunctions;

impl Show for EnabledFunctions {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        let registry = tracer.registry.lock();
        let mut functions = Vec::new();
        for probe in registry.probes() {
            if probe.definition().kind.is_function() && probe.is_armed() {
                let function = (probe.address(), probe);
                functions.push(function).map_err(|_| fmt::Error)?;
            }
        }
        functions.sort_unstable_by_key(|(address, _)| *address);
        let mut rest = functions.iter().peekable();
        while let Some((address, probe)) = rest.next() {
            let mut events = 1u64;
            while rest.next_if(|(other, _)| other == address).is_some() {
                events = events.saturating_add(1);
            }
            if let Some((_, name)) = probe.definition().place.symbol() {
                writeln!(out, "{} ({events})", Plain(name))?;
            }
        }
        Ok(())
    }
}
