// SPDX-License-Identifier: GPL-2.0

//! `buffer_percent`: how full a ring wakes the readers of its pages that wait.

use super::text;
use crate::{
    engine::text::Appender,
    kapi::debugfs::{File, OpenFile},
    sys::Vec,
    tracer::Tracer,
};
use core::{fmt::Write, pin::Pin};
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// The file.
pub(crate) struct BufferPercent;

impl File for BufferPercent {
    type Data = Tracer;
    type Open = Arc<Tracer>;

    fn open(tracer: ArcBorrow<'_, Tracer>, _file: &OpenFile) -> Result<Pin<KBox<Arc<Tracer>>>> {
        Ok(KBox::pin(tracer.into(), GFP_KERNEL)?)
    }

    fn read(
        tracer: &Arc<Tracer>,
        _file: &OpenFile,
        to: &mut UserSliceWriter,
        offset: &mut i64,
    ) -> Result<usize> {
        let mut text = Vec::new();
        writeln!(Appender(&mut text), "{}", tracer.buffer.percent()).map_err(|_| ENOMEM)?;
        text::copy(&text, to, offset)
    }

    fn write(tracer: &Arc<Tracer>, _file: &OpenFile, from: UserSliceReader) -> Result {
        let percent = u32::try_from(text::number(from)?).map_err(|_| EINVAL)?;
        tracer.buffer.set_percent(percent)
    }
}
