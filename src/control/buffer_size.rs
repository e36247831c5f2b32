// SPDX-License-Identifier: GPL-2.0

//! `buffer_size_kb`: the size of each CPU's buffer, in KiB; `X` if they differ.
//! `buffer_subbuf_size_kb`: the size of all sub-buffers.

use super::{
    rejected::{while_mapped, Rejected},
    scope::OneCpu,
    text::TextOps,
};
use crate::{
    buffer::MAX_SUB_BUFFER,
    engine::{
        language::setting,
        refusal::error::{Error as Refusal, Kind},
    },
    instance::Instance,
    kapi::percpu,
};
use core::fmt;
use kernel::{prelude::*, sync::Arc};

/// Number of bytes of the smallest sub-buffer.
const PAGE: usize = 4096;

/// The values that the size files accept.
const KILOBYTES: &str = "KiB of a CPU's ring, at least 1, such as 1408";

/// Returns the KiB that a user wrote, at least 1.
fn kilobytes(text: &[u8], expects: &str) -> Result<usize, Refusal> {
    let kilobytes = setting::kilobytes(text, expects)?;
    let kilobytes = usize::try_from(kilobytes).ok().filter(|&least| least > 0);
    kilobytes.ok_or_else(|| setting::out_of_range(expects))
}

/// `buffer_size_kb`.
pub(super) const BUFFER_SIZE: TextOps<Instance> = TextOps::writable(show, store);

fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    match instance.buffer.kilobytes() {
        Some(kilobytes) => writeln!(out, "{kilobytes}"),
        None => writeln!(out, "X"),
    }
}

fn store(instance: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
    let kilobytes = kilobytes(text, KILOBYTES)?;
    let result = instance.buffer.resize(kilobytes, None);
    result.map_err(|error| not_resized(error, kilobytes))
}

/// Returns the refusal of rings of `kilobytes` each, for `error`.
#[cold]
#[inline(never)]
fn not_resized(error: Error, kilobytes: usize) -> Rejected {
    if error != ENOMEM {
        return while_mapped(error);
    }
    let cpus = percpu::possible_cpus().count();
    let refusal = Refusal::new(Kind::FileNoMemory, 0);
    refusal
        .with_detail(format_args!(
            "{kilobytes} KiB for each of {cpus} CPUs: write a smaller number"
        ))
        .into()
}

/// `per_cpu/cpuN/buffer_size_kb`: the size of that CPU's buffer.
pub(super) const CPU_BUFFER_SIZE: TextOps<OneCpu> = TextOps::writable(show_of_cpu, store_of_cpu);

fn show_of_cpu(one: &Arc<OneCpu>, out: &mut dyn fmt::Write) -> fmt::Result {
    let kilobytes = one.instance.buffer.kilobytes_of(one.cpu);
    writeln!(out, "{kilobytes}")
}

fn store_of_cpu(one: &Arc<OneCpu>, text: &[u8]) -> Result<(), Rejected> {
    let kilobytes = kilobytes(text, KILOBYTES)?;
    let result = one.instance.buffer.resize(kilobytes, Some(one.cpu));
    result.map_err(|error| match error == ENOMEM {
        true => Refusal::new(Kind::FileNoMemory, 0).into(),
        false => while_mapped(error),
    })
}

/// `buffer_subbuf_size_kb`: the size of the sub-buffers. A written size is rounded up to a power of
/// two of pages.
pub(super) const SUB_BUFFER_SIZE: TextOps<Instance> =
    TextOps::writable(show_of_sub_buffer, store_of_sub_buffer);

fn show_of_sub_buffer(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    writeln!(out, "{}", instance.buffer.page_bytes() / 1024)
}

fn store_of_sub_buffer(instance: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
    const EXPECTS: &str = "KiB of a sub-buffer, 4 to 512";

    let kilobytes = kilobytes(text, EXPECTS)?;
    let bytes = kilobytes.saturating_mul(1024).max(PAGE);
    let bytes = bytes.checked_next_power_of_two();
    let bytes = bytes.filter(|&bytes| bytes <= MAX_SUB_BUFFER);
    let bytes = bytes.ok_or_else(|| setting::out_of_range(EXPECTS))?;
    let result = instance.buffer.set_page_bytes(bytes);
    result.map_err(while_mapped)
}
