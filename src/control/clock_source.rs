// SPDX-License-Identifier: GPL-2.0

//! `clock_source`: the source of the clock `local`.

use super::text::TextOps;
use crate::{kapi::clock, tracer::Tracer};
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<Tracer> = TextOps::shows(show);

fn show(_tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    let source = if clock::uses_counter() {
        "counter"
    } else {
        "kernel"
    };
    writeln!(out, "{source}")
}
