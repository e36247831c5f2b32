// SPDX-License-Identifier: GPL-2.0

//! `available_filter_functions`: the functions that `f` events can probe now.

use super::{functions::FunctionName, text::TextOps};
use crate::{
    engine::{refusal::error::Kind, util::text::Plain},
    tracer::Tracer,
};
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<Tracer> = TextOps::shows(show);

fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    let found = tracer.registry.lock().definitions.all_functions();
    match found {
        Ok(groups) => {
            for site in groups.iter().flat_map(|group| group.sites.iter()) {
                writeln!(out, "{}", FunctionName(site.function))?;
            }
            Ok(())
        }
        // Running out of memory must not look like an empty list.
        Err(refusal) if refusal.kind == Kind::NoMemory || !refusal.has_detail() => Err(fmt::Error),
        Err(refusal) => writeln!(out, "# none: {}", Plain(refusal.detail())),
    }
}
