// SPDX-License-Identifier: GPL-2.0

//! `syscall_user_buf_size`: bytes of user memory recorded per argument by the events of system
//! calls.

use super::{rejected::Rejected, text::TextOps};
use crate::{
    engine::{language::setting, program::syscall::MAX_COPIED},
    tracer::Tracer,
};
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<Tracer> = TextOps::writable(show, store);

fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    let limit = tracer.registry.lock().definitions.call_limit();
    writeln!(out, "{limit}")
}

/// Sets the size. A size beyond the limit is stored as the limit, like the kernel does.
fn store(tracer: &Arc<Tracer>, text: &[u8]) -> Result<(), Rejected> {
    const EXPECTS: &str = "bytes of an argument in user memory, such as 63";

    // CAST: A small constant.
    let largest = MAX_COPIED as u32;
    let limit = u32::try_from(setting::number(text, EXPECTS)?).unwrap_or(largest);
    tracer
        .registry
        .lock()
        .definitions
        .set_call_limit(limit.min(largest));
    Ok(())
}
