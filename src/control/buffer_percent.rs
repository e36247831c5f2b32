// SPDX-License-Identifier: GPL-2.0

//! `buffer_percent`: how full a ring must be to wake waiting readers of its pages.

use super::{rejected::Rejected, text::TextOps};
use crate::{engine::language::setting, instance::Instance};
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<Instance> = TextOps::writable(show, store);

fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    writeln!(out, "{}", instance.buffer.percent())
}

fn store(instance: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
    const EXPECTS: &str = "a percentage of a ring, 0 to 100";

    let percent = setting::number(text, EXPECTS)?;
    let percent = u32::try_from(percent).unwrap_or(u32::MAX);
    let result = instance.buffer.set_percent(percent);
    result.map_err(|_| setting::out_of_range(EXPECTS).into())
}
