// SPDX-License-Identifier: GPL-2.0

//! `buffer_size_kb`: the size of each CPU's buffer, in KiB; `X` if they differ.
//! `buffer_subbuf_size_kb`: that of the sub-buffers of all.

use super::{
    scope::OneCpu,
    text::{self, Show, Store},
};
use crate::instance::Instance;
use core::fmt;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// Bytes of the smallest sub-buffer.
const PAGE: usize = 4096;

/// The KiB that a user wrote.
fn kilobytes(from: UserSliceReader) -> Result<usize> {
    usize::try_from(text::number(from)?).map_err(|_| EINVAL)
}

/// The file.
pub(crate) struct BufferSize;

impl Show for BufferSize {
    type Data = Instance;

    fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
        match instance.buffer.kilobytes() {
            Some(kilobytes) => writeln!(out, "{kilobytes}"),
            None => writeln!(out, "X"),
        }
    }
}

impl Store for BufferSize {
    fn store(instance: &Arc<Instance>, from: UserSliceReader) -> Result {
        instance.buffer.resize(kilobytes(from)?, None)
    }
}

/// `per_cpu/cpuN/buffer_size_kb`: the size of that CPU's buffer.
pub(super) struct CpuBufferSize;

impl Show for CpuBufferSize {
    type Data = OneCpu;

    fn show(one: &Arc<OneCpu>, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "{}", one.instance.buffer.kilobytes_of(one.cpu))
    }
}

impl Store for CpuBufferSize {
    fn store(one: &Arc<OneCpu>, from: UserSliceReader) -> Result {
        one.instance.buffer.resize(kilobytes(from)?, Some(one.cpu))
    }
}

/// `buffer_subbuf_size_kb`: the size of the sub-buffers. One that is written is
/// rounded up to a power of two pages.
pub(crate) struct SubBufferSize;

impl Show for SubBufferSize {
    type Data = Instance;

    fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "{}", instance.buffer.page_bytes() / 1024)
    }
}

impl Store for SubBufferSize {
    fn store(instance: &Arc<Instance>, from: UserSliceReader) -> Result {
        let kilobytes = kilobytes(from)?;
        if kilobytes == 0 {
            return Err(EINVAL);
        }
        let bytes = kilobytes.checked_mul(1024).ok_or(EINVAL)?.max(PAGE);
        let bytes = bytes.checked_next_power_of_two().ok_or(EINVAL)?;
        instance.buffer.set_page_bytes(bytes)
    }
}
