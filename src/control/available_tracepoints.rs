// SPDX-License-Identifier: GPL-2.0

//! `available_tracepoints`: the tracepoints that a definition can name.

use super::text::TextOps;
use crate::tracer::Tracer;
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<Tracer> = TextOps::shows(show);

fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    tracer.registry.lock().definitions.write_tracepoints(out)
}
