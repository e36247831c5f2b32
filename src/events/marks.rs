// SPDX-License-Identifier: GPL-2.0

//! The event `print`, whose hits are what users write to `trace_marker`.

use crate::{
    buffer::Buffer,
    engine::{program::marker, record::PRINT},
    events::{
        event::Event,
        event_file::{EventFile, InstanceId},
    },
    formats::Format,
    hit::{marks::MarkRecorder, plan::Plan},
    sys::{Box, Vec},
};
use kernel::{prelude::*, sync::Arc};

/// The event of an instance, and what records its hits. It exists as long as the instance, is
/// no element of the set of events, and cannot be enabled: it has triggers only.
pub(crate) struct Marks {
    pub(crate) event: Arc<Event>,
    pub(crate) recorder: MarkRecorder,
}

impl Marks {
    /// Makes the event, whose hits are recorded in `buffer`, for the instance of the top
    /// directory; see [`Marks::put_in`].
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(buffer: &Arc<Buffer>) -> Result<Arc<Self>> {
        let (program, layout) = marker::fields()?;
        let format = Format::of_builtin(&PRINT, layout)?;
        let plan = Plan::recording(None)?;
        let program = Box::new(program)?;
        let recorder = MarkRecorder::new(&format, program, buffer.clone(), plan.clone())?;
        let mut files = Vec::new();
        files.push(Some(EventFile::new(plan)?))?;
        let event = Event::new(format, (files, buffer.clone()), None).map_err(|_| ENOMEM)?;
        Arc::init(init!(Self { event, recorder <- recorder }), GFP_KERNEL)
    }

    /// Makes it that of `instance`, which is new, instead of that of the top directory.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn put_in(&self, instance: InstanceId) -> Result {
        self.event.reserve_file(instance)?;
        let file = self.event.file(InstanceId::TOP);
        self.event.set_file(InstanceId::TOP, None);
        self.event.set_file(instance, file);
        Ok(())
    }
}
