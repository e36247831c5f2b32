// SPDX-License-Identifier: GPL-2.0

//! `kprobe_events`, `uprobe_events` and `dynamic_events`: the definitions. The first does not show
//! or clear events that other events cause, nor those of programs, which the second has alone.
//!
//! Opening one for writing without appending, like the shell's `>`, removes the events that it
//! shows, except private ones.

use super::{rejected::Rejected, text::TextOps};
use crate::{
    engine::{definition::parse::Grammar, record::Head},
    formats::Format,
    tracer::Tracer,
};
use core::fmt;
use kernel::sync::Arc;

/// The definitions of a file.
trait DefinitionsFile {
    /// What may be written.
    const GRAMMAR: Grammar;

    /// Returns whether the file shows events of a format.
    fn have(format: &Format) -> bool;
}

/// The definitions of `kprobe_events`.
enum OfKernel {}

impl DefinitionsFile for OfKernel {
    const GRAMMAR: Grammar = Grammar::OfKernel;

    fn have(format: &Format) -> bool {
        let is_caused = matches!(format.layout.class.head, Head::Event | Head::Synthetic);
        !format.is_user && !is_caused
    }
}

/// The definitions of `uprobe_events`.
enum OfPrograms {}

impl DefinitionsFile for OfPrograms {
    const GRAMMAR: Grammar = Grammar::OfPrograms;

    fn have(format: &Format) -> bool {
        format.is_user
    }
}

/// The definitions of `dynamic_events`.
enum All {}

impl DefinitionsFile for All {
    const GRAMMAR: Grammar = Grammar::Letters;

    fn have(_: &Format) -> bool {
        true
    }
}

pub(super) const KPROBE_EVENTS: TextOps<Tracer> = file::<OfKernel>();

/// The file `uprobe_events`.
pub(super) const UPROBE_EVENTS: TextOps<Tracer> = file::<OfPrograms>();

/// The file `dynamic_events`.
pub(super) const DYNAMIC_EVENTS: TextOps<Tracer> = file::<All>();

const fn file<D: DefinitionsFile>() -> TextOps<Tracer> {
    TextOps {
        store: Some(store::<D>),
        truncate: Some(truncate::<D>),
        // As in tracefs, a NUL is refused in any line.
        ends_at_nul: false,
        ..TextOps::shows(show::<D>)
    }
}

fn show<D: DefinitionsFile>(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    let registry = tracer.registry.lock();
    let common = registry
        .definitions
        .probes()
        .filter(|probe| probe.event.owner().is_none() && D::have(probe.format()));
    for probe in common {
        probe.definition().write_line(out)?;
    }
    Ok(())
}

fn store<D: DefinitionsFile>(tracer: &Arc<Tracer>, text: &[u8]) -> Result<(), Rejected> {
    Ok(tracer.define((text, D::GRAMMAR), None)?)
}

fn truncate<D: DefinitionsFile>(tracer: &Arc<Tracer>) -> Result<(), Rejected> {
    Ok(tracer.clear_definitions(&|event| D::have(&event.format))?)
}
