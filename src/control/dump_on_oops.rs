// SPDX-License-Identifier: GPL-2.0

//! `dump_on_oops`: what is printed when the kernel oopses or panics.

use super::{rejected::Rejected, text::TextOps};
use crate::{engine::language::setting, options::DumpOnOops, tracer::Tracer};
use core::fmt;
use kernel::sync::Arc;

/// The file: the mode, as the kernel's `ftrace_dump_on_oops`, and the number of events.
pub(super) const FILE: TextOps<Tracer> = TextOps::writable(show, store);

fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    match tracer.dump_on_oops.get() {
        (0, _) => writeln!(out, "0"),
        (events, is_own) => writeln!(out, "{} {events}", if is_own { 2 } else { 1 }),
    }
}

fn store(tracer: &Arc<Tracer>, text: &[u8]) -> Result<(), Rejected> {
    const EXPECTS: &str =
        "1 for all CPUs, 2 for the one that oopses, or 0, and then a number of events, 1 to 1000";

    let mut words = text.split(u8::is_ascii_whitespace);
    let mut next = || words.find(|word| !word.is_empty());
    let mode = match next() {
        Some(b"orig_cpu") => 2,
        word => setting::number(word.unwrap_or_default(), EXPECTS)?,
    };
    let events = match next() {
        Some(word) => setting::number(word, EXPECTS)?,
        None => u64::from(DumpOnOops::DEFAULT),
    };
    let in_range = u32::try_from(events).ok();
    let in_range = in_range.filter(|events| (1..=DumpOnOops::MOST).contains(events));
    match (mode, in_range, next()) {
        (0, _, None) => tracer.dump_on_oops.set(0, false),
        (1 | 2, Some(events), None) => tracer.dump_on_oops.set(events, mode == 2),
        _ => return Err(setting::out_of_range(EXPECTS).into()),
    }
    Ok(())
}
