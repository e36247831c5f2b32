// SPDX-License-Identifier: GPL-2.0

//! The event `print`: writes to `trace_marker`.

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

/// The event `print` of an instance, and its recorder. It exists as long as the instance, is not in
/// the set of events, and cannot be enabled: it only has triggers.
pub(crate) struct Marks {
    pub(crate) event: Arc<Event>,
    pub(crate) recorder: MarkRecorder,
}

impl Marks {
    /// Makes the event for the top directory, which records in `buffer`. For another instance call
    /// [`Marks::set_instance`] next.
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

    /// Moves the event from the top directory to `instance`, which is new.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn set_instance(&self, instance: InstanceId) -> Result {
        self.event.reserve_file(instance)?;
        let file = self.event.file(InstanceId::TOP);
        self.event.set_file(InstanceId::TOP, None);
        self.event.set_file(instance, file);
        Ok(())
    }
}
