// SPDX-License-Identifier: GPL-2.0

//! `available_tracepoints`: the tracepoints that a definition can name.

use super::text::Show;
use crate::tracer::Tracer;
use core::fmt;
use kernel::sync::Arc;

/// The file.
pub(crate) struct AvailableTracepoints;

impl Show for AvailableTracepoints {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        tracer.registry.lock().definitions.write_tracepoints(out)
    }
}
