// SPDX-License-Identifier: GPL-2.0

//! `kprobe_profile`: hits and misses of each event.

use super::text::Show;
use crate::{engine::format, tracer::Tracer};
use core::fmt;
use kernel::sync::Arc;

/// The file.
pub(crate) struct Profile;

impl Show for Profile {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        let registry = tracer.registry.lock();
        for event in registry.events() {
            let hits = event.recorder().totals().hits();
            format::write_profile(out, event.format.name(), hits, event.missed())?;
        }
        Ok(())
    }
}
