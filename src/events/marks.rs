// SPDX-License-Identifier: GPL-2.0

//! The event `print`, whose hits are what users write to `trace_marker`.

use crate::{
    buffer::Buffer,
    engine::{marker, record::PRINT},
    events::{event::Event, format::Format},
    hit::{marks::MarkRecorder, plan::Plan},
};
use kernel::{prelude::*, sync::Arc};

/// The event and what records its hits. It exists as long as the tracer, is no element of the
/// set of events, and cannot be enabled: it has triggers only.
pub(crate) struct Marks {
    pub(crate) event: Arc<Event>,
    pub(crate) recorder: MarkRecorder,
}

impl Marks {
    /// Makes the event, whose hits are recorded in `buffer`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(buffer: &Arc<Buffer>) -> Result<Arc<Self>> {
        let (program, layout) = marker::fields()?;
        let format = Format::of_builtin(&PRINT, layout)?;
        let plan = Plan::recording(None)?;
        let recorder = MarkRecorder::new(&format, program, buffer.clone(), plan.clone())?;
        let event = Event::new(format, plan, None).map_err(|_| ENOMEM)?;
        Ok(Arc::new(Self { event, recorder }, GFP_KERNEL)?)
    }
}
