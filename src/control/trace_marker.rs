// SPDX-License-Identifier: GPL-2.0

//! `trace_marker` and `trace_marker_raw`: writes are recorded in the buffer, as text or as bytes.

use super::{rejected::Rejected, text};
use crate::{
    engine::refusal::error::{Error as Refusal, Kind},
    instance::Instance,
    kapi::tree::{File, OpenFile},
    options::Flag,
};
use core::pin::Pin;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// The file for text, or for bytes if `RAW`.
pub(crate) struct TraceMarker<const RAW: bool>;

impl<const RAW: bool> File for TraceMarker<RAW> {
    type Data = Arc<Instance>;
    type Open = Arc<Instance>;

    const SEEKABLE: bool = false;
    const STREAM: bool = true;

    fn open(instance: &Arc<Instance>, _file: &OpenFile) -> Result<Pin<KBox<Arc<Instance>>>> {
        Ok(KBox::pin(instance.clone(), GFP_KERNEL)?)
    }

    fn write(instance: &Arc<Instance>, file: &OpenFile, from: UserSliceReader) -> Result {
        text::take(&instance.tracer, file, from, |text| {
            mark::<RAW>(instance, text)
        })
    }
}

/// Records `text`, or the bytes if `RAW`.
fn mark<const RAW: bool>(instance: &Instance, text: &[u8]) -> Result<(), Rejected> {
    if !instance.options.has(Flag::Markers) {
        return Err(Refusal::new(Kind::FileMarkersOff, 0).into());
    }
    let result = if RAW {
        instance.buffer.mark_raw(text)
    } else {
        instance.marks.recorder.record(text)
    };
    result.map_err(|error| match error {
        error if error == EINVAL => Refusal::new(Kind::FileBadLength, 0).into(),
        error if error == EBADF => Refusal::new(Kind::FileNotRecording, 0).into(),
        error => error.into(),
    })
}
