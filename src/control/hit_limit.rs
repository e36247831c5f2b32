// SPDX-License-Identifier: GPL-2.0

//! `hit_limit`: how often a probe may be hit, a second and CPU.

use super::text::{self, Show, Store};
use crate::tracer::Tracer;
use core::fmt;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// The file.
pub(crate) struct HitLimitFile;

impl Show for HitLimitFile {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "{}", tracer.hit_limit.get())
    }
}

impl Store for HitLimitFile {
    fn store(tracer: &Arc<Tracer>, from: UserSliceReader) -> Result {
        tracer.hit_limit.set(text::number(from)?);
        tracer.registry.lock().watch();
        Ok(())
    }
}
