// SPDX-License-Identifier: GPL-2.0

//! `buffer_size_kb`: the size of each CPU's buffer, in KiB; `X` if they differ.
//! `buffer_subbuf_size_kb`: that of the sub-buffers of all.

use super::{per_cpu::OneCpu, text};
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

/// Bytes of the smallest sub-buffer.
const PAGE: usize = 4096;

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
        let mut out = Appender(&mut text);
        match tracer.buffer.kilobytes() {
            Some(kilobytes) => writeln!(out, "{kilobytes}"),
            None => writeln!(out, "X"),
        }
        .map_err(|_| ENOMEM)?;
        text::copy(&text, to, offset)
    }

    fn write(tracer: &Arc<Tracer>, _file: &OpenFile, from: UserSliceReader) -> Result {
        let kilobytes = usize::try_from(text::number(from)?).map_err(|_| EINVAL)?;
        tracer.buffer.resize(kilobytes, None)
    }
}

/// `per_cpu/cpuN/buffer_size_kb`: the size of that CPU's buffer.
pub(super) struct CpuBufferSize;

impl File for CpuBufferSize {
    type Data = OneCpu;
    type Open = Arc<OneCpu>;

    fn open(one: ArcBorrow<'_, OneCpu>, _file: &OpenFile) -> Result<Pin<KBox<Arc<OneCpu>>>> {
        Ok(KBox::pin(one.into(), GFP_KERNEL)?)
    }

    fn read(
        one: &Arc<OneCpu>,
        _file: &OpenFile,
        to: &mut UserSliceWriter,
        offset: &mut i64,
    ) -> Result<usize> {
        let mut text = Vec::new();
        let kilobytes = one.tracer.buffer.kilobytes_of(one.cpu);
        writeln!(Appender(&mut text), "{kilobytes}").map_err(|_| ENOMEM)?;
        text::copy(&text, to, offset)
    }

    fn write(one: &Arc<OneCpu>, _file: &OpenFile, from: UserSliceReader) -> Result {
        let kilobytes = usize::try_from(text::number(from)?).map_err(|_| EINVAL)?;
        one.tracer.buffer.resize(kilobytes, Some(one.cpu))
    }
}

/// `buffer_subbuf_size_kb`: the size of the sub-buffers. One that is written is
/// rounded up to a power of two pages.
pub(crate) struct SubBufferSize;

impl File for SubBufferSize {
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
        let kilobytes = tracer.buffer.page_bytes() / 1024;
        writeln!(Appender(&mut text), "{kilobytes}").map_err(|_| ENOMEM)?;
        text::copy(&text, to, offset)
    }

    fn write(tracer: &Arc<Tracer>, _file: &OpenFile, from: UserSliceReader) -> Result {
        let kilobytes = usize::try_from(text::number(from)?).map_err(|_| EINVAL)?;
        if kilobytes == 0 {
            return Err(EINVAL);
        }
        let bytes = kilobytes.checked_mul(1024).ok_or(EINVAL)?.max(PAGE);
        let bytes = bytes.checked_next_power_of_two().ok_or(EINVAL)?;
        tracer.buffer.set_page_bytes(bytes)
    }
}
