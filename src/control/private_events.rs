// SPDX-License-Identifier: GPL-2.0

//! `private_events`: definitions that belong to an open file, and are removed when it is closed,
//! however the program ends.

use super::text::{self, OpenText, TextOps};
use crate::{
    engine::definition::parse::Grammar,
    events::owner::Owner,
    kapi::tree::{File, OpenFile, ReadTo},
    tracer::Tracer,
};
use core::{fmt, pin::Pin, ptr};
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// The file.
pub(crate) struct PrivateEvents;

/// An open file, the owner of what is defined through it.
pub(crate) struct OpenPrivateEvents {
    text: Pin<KBox<OpenText<Tracer>>>,
    owner: Arc<Owner>,
}

impl Drop for OpenPrivateEvents {
    fn drop(&mut self) {
        self.text.of.remove_private(&self.owner);
    }
}

/// How the file is shown; writes go to an open file's owner.
const TEXT: TextOps<Tracer> = TextOps::shows(show);

/// Writes the definitions of all owners; a comment before them names the owner.
fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    let registry = tracer.registry.lock();
    let mut last: *const Owner = ptr::null();
    for probe in registry.definitions.probes() {
        let event = &probe.event;
        let Some(owner) = event.owner().filter(|_| !event.is_ready_made()) else {
            continue;
        };
        if !ptr::eq(last, &**owner) {
            writeln!(out, "# {}", **owner)?;
            last = &**owner;
        }
        probe.definition().write_line(out)?;
    }
    Ok(())
}

impl File for PrivateEvents {
    type Data = Arc<Tracer>;
    type Open = OpenPrivateEvents;

    fn open(tracer: &Arc<Tracer>, _file: &OpenFile) -> Result<Pin<KBox<OpenPrivateEvents>>> {
        let open = OpenPrivateEvents {
            text: OpenText::open(tracer.clone(), &TEXT)?,
            owner: Owner::new()?,
        };
        Ok(KBox::pin(open, GFP_KERNEL)?)
    }

    fn read(
        open: &OpenPrivateEvents,
        _file: &OpenFile,
        to: &mut ReadTo<'_>,
        offset: &mut i64,
    ) -> Result<usize> {
        open.text.read(to, offset)
    }

    fn write(open: &OpenPrivateEvents, file: &OpenFile, from: UserSliceReader) -> Result {
        let tracer = &open.text.of;
        text::take(tracer, file, from, |text| {
            Ok(tracer.define((text, Grammar::Letters), Some(&open.owner))?)
        })
    }
}
