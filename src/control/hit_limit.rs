// SPDX-License-Identifier: GPL-2.0

//! `hit_limit`: most hits of a probe per second and CPU.

use super::{rejected::Rejected, text::TextOps};
use crate::{engine::language::setting, tracer::Tracer};
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<Tracer> = TextOps::writable(show, store);

fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    writeln!(out, "{}", tracer.hit_limit.get())
}

fn store(tracer: &Arc<Tracer>, text: &[u8]) -> Result<(), Rejected> {
    const EXPECTS: &str = "hits of a probe in a second on a CPU, or 0 for no limit";

    tracer.hit_limit.set(setting::number(text, EXPECTS)?);
    tracer.registry.lock().watch();
    Ok(())
}
