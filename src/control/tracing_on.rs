// SPDX-License-Identifier: GPL-2.0

//! `tracing_on`: whether hits are recorded.

use super::switch::Switched;
use crate::tracer::Tracer;
use kernel::{prelude::*, sync::Arc};

/// The recording of all events.
pub(crate) struct TracingOn;

impl Switched for TracingOn {
    type Data = Tracer;

    fn state(tracer: &Arc<Tracer>) -> u8 {
        if tracer.buffer.is_on() {
            b'1'
        } else {
            b'0'
        }
    }

    fn set(tracer: &Arc<Tracer>, on: bool) -> Result {
        tracer.buffer.set_on(on);
        Ok(())
    }
}
