// SPDX-License-Identifier: GPL-2.0

//! Events that the module parameter `define` defines when the module is loaded.

use crate::{
    engine::{definition::parse::Grammar, record::Head, util::text::Appender},
    events::{event::Event, event_file::InstanceId, registry::Failure},
    kapi::parameters,
    source::machine::error_of,
    sys::Vec,
    tracer::Tracer,
};
use core::ptr;
use kernel::prelude::*;

/// Defines and enables the events of the parameter `define`: all of them or, if one is refused,
/// none, and the kernel's log says why.
///
/// # Errors
///
/// The errno of the refusal.
pub(crate) fn define(tracer: &Tracer) -> Result {
    let lines = lines()?;
    if lines.trim_ascii().is_empty() {
        return Ok(());
    }
    match tracer.define((&lines, Grammar::Letters), None) {
        Ok(()) => enable(tracer),
        Err(failure) => Err(report(failure)),
    }
}

/// Returns the parameter, split into lines.
#[inline(never)]
fn lines() -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    for byte in parameters::define() {
        lines.push(if byte == b';' { b'\n' } else { byte })?;
    }
    Ok(lines)
}

/// Enables the events that were defined.
#[inline(never)]
fn enable(tracer: &Tracer) -> Result {
    let mut registry = tracer.registry.lock();
    let mut defined = Vec::new();
    for probe in registry.definitions.probes() {
        // Ready-made events only exist because event probes are attached to them.
        if !matches!(probe.event.format.layout.class.head, Head::Ready(_)) {
            defined.push(probe.event.clone())?;
        }
    }
    let count = defined.len();
    let is_defined = |event: &Event| defined.iter().any(|one| ptr::eq(&**one, event));
    let enabled = registry.set_enabled(InstanceId::TOP, is_defined, true);
    drop(registry);
    match enabled {
        Ok(()) => pr_info!("define: probes that are defined and enabled: {count}\n"),
        Err(error) => pr_err!("define: the events cannot be enabled: {error:?}\n"),
    }
    enabled
}

/// Logs why nothing was defined. Returns the errno.
#[cold]
#[inline(never)]
fn report(failure: Failure) -> Error {
    let Failure::Refused { refusal, command } = failure else {
        return EINTR;
    };
    let mut entry = Vec::new();
    let written = refusal.write_entry(&mut Appender(&mut entry), 0, &command);
    pr_err!("define: a definition is refused, and the module is not loaded:\n");
    for line in entry.split(|&byte| byte == b'\n') {
        // The log adds the time itself.
        let text = match line.strip_prefix(b"[    0.000000] ") {
            Some(text) => text,
            None => line,
        };
        if let (Ok(text), false) = (core::str::from_utf8(text), text.is_empty()) {
            pr_err!("{text}\n");
        }
    }
    if written.is_err() {
        return ENOMEM;
    }
    error_of(&refusal)
}
