// SPDX-License-Identifier: GPL-2.0

//! `error_log`: why writes were refused; truncating it clears it.

use super::{rejected::Rejected, text::TextOps};
use crate::tracer::Tracer;
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<Tracer> = TextOps {
    store: Some(store),
    truncate: Some(truncate),
    ..TextOps::shows(show)
};

fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    tracer.errors.lock().show(out)
}

fn store(_tracer: &Arc<Tracer>, _text: &[u8]) -> Result<(), Rejected> {
    // Opening the file cleared the log.
    Ok(())
}

fn truncate(tracer: &Arc<Tracer>) -> Result<(), Rejected> {
    tracer.errors.lock().clear();
    Ok(())
}
