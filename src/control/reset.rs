// SPDX-License-Identifier: GPL-2.0

//! `reset`: 1 takes back all that was set in the directory; then the file shows what that was.
//!
//! The records stay, and so do the size and the clock of the buffer, and what all instances share.

use super::{rejected::Rejected, text::TextOps};
use crate::{
    engine::{
        language::setting,
        refusal::error::{Error as Refusal, Kind},
        util::text::{Appender, Plain},
    },
    followed::List,
    instance::Instance,
    kapi::percpu,
    options::Flag,
    sys::Vec,
};
use core::fmt;
use kernel::{prelude::*, sync::Arc};

pub(super) const FILE: TextOps<Instance> = TextOps::writable(show, store);

fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    match &**instance.last_reset.lock() {
        b"" => out.write_str("# 1 removes all events, filters and triggers, and resets options\n"),
        text => write!(out, "{}", Plain(text)),
    }
}

/// An empty line counts as 1.
fn store(instance: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
    if !matches!(text.trim_ascii(), b"" | b"1") {
        let refusal = Refusal::new(Kind::FileBadNumber, 0);
        return Err(setting::expected(
            refusal,
            "1, which removes all events, filters and triggers of this directory",
        )
        .into());
    }
    let mut told = Vec::new();
    instance
        .tracer
        .reset(instance.id, &mut Appender(&mut told))?;
    settings(instance, &mut Appender(&mut told)).map_err(|error| {
        Rejected::Refused(Refusal::new(Kind::FileFailed, 0).with_detail(format_args!(
            "errno {}: events, filters and triggers are removed, and some options are left",
            error.to_errno()
        )))
    })?;
    if told.is_empty() {
        told.extend_from_slice(b"# nothing was set\n")?;
    }
    *instance.last_reset.lock() = told;
    Ok(())
}

/// Sets the settings of `instance` as after loading; writes to `out` which were changed.
fn settings(instance: &Instance, out: &mut dyn fmt::Write) -> Result {
    let mut tell = |text: fmt::Arguments<'_>| out.write_fmt(text).map_err(|_| ENOMEM);
    let registry = &instance.tracer.registry;
    for (list, name) in [
        (List::Only, "set_event_pid"),
        (List::Without, "set_event_notrace_pid"),
    ] {
        if instance.followed.show(list, |pids| pids.is_some()) {
            tell(format_args!("{name}\n"))?;
            instance.followed.clear(registry, list)?;
        }
    }
    for flag in Flag::ALL.into_iter().filter(|flag| !flag.is_fixed()) {
        if instance.options.has(flag) != flag.default() {
            let name = flag.name().to_str().unwrap_or("?");
            tell(format_args!("option {name}\n"))?;
            instance.set_option(flag, flag.default())?;
        }
    }
    let buffer = &instance.buffer;
    if (0..percpu::cpu_limit()).any(|cpu| !buffer.records_on(cpu)) {
        tell(format_args!("tracing_cpumask\n"))?;
        buffer.set_mask(|_| true);
    }
    if !buffer.is_on() {
        tell(format_args!("tracing_on\n"))?;
        buffer.set_on(true);
    }
    Ok(())
}
