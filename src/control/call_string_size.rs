// SPDX-License-Identifier: GPL-2.0

//! `call_string_size`: bytes of user memory recorded per argument by the events of whole system
//! calls.

use super::{rejected::Rejected, text::TextOps};
use crate::{
    engine::{language::setting, program::syscall::MAX_STRING},
    tracer::Tracer,
};
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<Tracer> = TextOps::writable(show, store);

fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    let limit = tracer.registry.lock().definitions.whole_call_limit();
    writeln!(out, "{limit}")
}

fn store(tracer: &Arc<Tracer>, text: &[u8]) -> Result<(), Rejected> {
    const EXPECTS: &str = "bytes of a string, 1 to 4096";
    const { assert!(MAX_STRING == 4096) };

    let size = u32::try_from(setting::number(text, EXPECTS)?);
    match size.ok().filter(|size| (1..=MAX_STRING).contains(size)) {
        Some(size) => Ok(tracer
            .registry
            .lock()
            .definitions
            .set_whole_call_limit(size)?),
        None => Err(setting::out_of_range(EXPECTS).into()),
    }
}
