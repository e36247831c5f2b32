// SPDX-License-Identifier: GPL-2.0

//! `buffer_percent`: how full a ring wakes the readers of its pages that wait.

use super::text::{self, Show, Store};
use crate::tracer::Tracer;
use core::fmt;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// The file.
pub(crate) struct BufferPercent;

impl Show for BufferPercent {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "{}", tracer.buffer.percent())
    }
}

impl Store for BufferPercent {
    fn store(tracer: &Arc<Tracer>, from: UserSliceReader) -> Result {
        let percent = u32::try_from(text::number(from)?).map_err(|_| EINVAL)?;
        tracer.buffer.set_percent(percent)
    }
}
