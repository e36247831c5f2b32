// SPDX-License-Identifier: GPL-2.0

//! `tracing_on`: whether hits are recorded.

use super::{rejected::Rejected, switch::Switched};
use crate::instance::Instance;
use kernel::sync::Arc;

/// The recording of all events.
pub(crate) struct TracingOn;

impl Switched for TracingOn {
    type Data = Instance;

    const TAKES_ANY_NUMBER: bool = true;

    fn state(instance: &Arc<Instance>) -> u8 {
        if instance.buffer.is_on() {
            b'1'
        } else {
            b'0'
        }
    }

    fn set(instance: &Arc<Instance>, on: bool) -> Result<(), Rejected> {
        instance.buffer.set_on(on);
        Ok(())
    }
}
