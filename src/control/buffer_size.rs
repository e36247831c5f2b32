// SPDX-License-Identifier: GPL-2.0

//! `buffer_size_kb`: the size of each CPU's buffer, in KiB.

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
pub(crate) struct BufferSize;

impl File for BufferSize {
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
        writeln!(Appender(&mut text), "{}", tracer.buffer.kilobytes()).map_err(|_| ENOMEM)?;
        text::copy(&text, to, offset)
    }

    fn write(tracer: &Arc<Tracer>, _file: &OpenFile, from: UserSliceReader) -> Result {
        let kilobytes = usize::try_from(text::number(from)?).map_err(|_| EINVAL)?;
        tracer.buffer.resize(kilobytes)
    }
}
