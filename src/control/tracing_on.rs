// SPDX-License-Identifier: GPL-2.0

//! `tracing_on`: whether hits are recorded.

use super::{rejected::Rejected, text::TextOps};
use crate::{engine::language::setting, instance::Instance};
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<Instance> = TextOps::writable(show, store);

fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    writeln!(out, "{}", u8::from(instance.buffer.is_on()))
}

/// Any number except 0 switches recording on.
fn store(instance: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
    instance.buffer.set_on(setting::is_not_zero(text)?);
    Ok(())
}
