// SPDX-License-Identifier: GPL-2.0

//! `trace_marker`: what is written goes to the buffer, as text.

use super::text;
use crate::{
    kapi::debugfs::{File, OpenFile},
    options::Flag,
    tracer::Tracer,
};
use core::pin::Pin;
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::UserSliceReader,
};

/// The file.
pub(crate) struct TraceMarker;

impl File for TraceMarker {
    type Data = Tracer;
    type Open = Arc<Tracer>;

    fn open(tracer: ArcBorrow<'_, Tracer>, _file: &OpenFile) -> Result<Pin<KBox<Arc<Tracer>>>> {
        Ok(KBox::pin(tracer.into(), GFP_KERNEL)?)
    }

    fn write(tracer: &Arc<Tracer>, _file: &OpenFile, from: UserSliceReader) -> Result {
        if !tracer.options.has(Flag::Markers) {
            return Err(EINVAL);
        }
        tracer.buffer.mark(&text::written(from)?)
    }
}
