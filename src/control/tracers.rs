// SPDX-License-Identifier: GPL-2.0

//! `current_tracer` and `available_tracers`: the only tracer is `nop`, which records events.

use super::{rejected::Rejected, text::TextOps};
use crate::{
    engine::refusal::error::{Error as Refusal, Kind},
    instance::Instance,
};
use core::fmt;
use kernel::sync::Arc;

pub(super) const CURRENT_TRACER: TextOps<Instance> = TextOps {
    store: Some(store),
    ..AVAILABLE_TRACERS
};

pub(super) const AVAILABLE_TRACERS: TextOps<Instance> = TextOps::shows(show);

fn show(_instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    out.write_str("nop\n")
}

fn store(_instance: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
    if text.trim_ascii() == b"nop" {
        return Ok(());
    }
    let refusal = Refusal::new(Kind::FileNoTracer, 0);
    let refusal = refusal.with_detail(format_args!(
        "there is nop; for functions define f:EVENT PATTERN in kprobe_events"
    ));
    Err(refusal.into())
}
