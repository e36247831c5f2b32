// SPDX-License-Identifier: GPL-2.0

//! `kprobe_events` and `dynamic_events`, two doors to the definitions.
//!
//! Opening one for writing without appending, as the shell's `>` does, removes
//! all events.

use super::text::{self, Show, Text};
use crate::{
    kapi::debugfs::{File, OpenFile},
    registry,
    tracer::Tracer,
};
use core::{fmt, pin::Pin};
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// Either file.
pub(crate) struct KprobeEvents;

impl Show for KprobeEvents {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        let registry = tracer.registry.lock();
        for probe in registry.probes() {
            probe.definition().write_line(out)?;
        }
        Ok(())
    }
}

impl File for KprobeEvents {
    type Data = Tracer;
    type Open = Text<Self>;

    fn open(tracer: ArcBorrow<'_, Tracer>, file: &OpenFile) -> Result<Pin<KBox<Text<Self>>>> {
        let tracer: Arc<Tracer> = tracer.into();
        // What can fail comes first.
        let open = Text::open(tracer.clone())?;
        if file.truncates() {
            tracer.registry.lock().clear(&tracer)?;
        }
        Ok(open)
    }

    fn read(
        open: &Text<Self>,
        _file: &OpenFile,
        to: &mut UserSliceWriter,
        offset: &mut i64,
    ) -> Result<usize> {
        open.read(to, offset)
    }

    fn write(open: &Text<Self>, _file: &OpenFile, from: UserSliceReader) -> Result {
        registry::write(&open.data, &text::written(from)?)
    }
}
