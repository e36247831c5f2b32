// SPDX-License-Identifier: GPL-2.0

//! `trace_marker`: what is written goes to the buffer, as text.

use super::text;
use crate::{
    instance::Instance,
    kapi::debugfs::{File, OpenFile},
    options::Flag,
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
    type Data = Instance;
    type Open = Arc<Instance>;

    fn open(
        instance: ArcBorrow<'_, Instance>,
        _file: &OpenFile,
    ) -> Result<Pin<KBox<Arc<Instance>>>> {
        Ok(KBox::pin(instance.into(), GFP_KERNEL)?)
    }

    fn write(instance: &Arc<Instance>, _file: &OpenFile, from: UserSliceReader) -> Result {
        if !instance.options.has(Flag::Markers) {
            return Err(EINVAL);
        }
        instance.buffer.mark(&text::written(from)?)
    }
}
