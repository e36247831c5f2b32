// SPDX-License-Identifier: GPL-2.0

//! Snapshots that hits request. A worker takes them, as rings are replaced under a mutex and with
//! a grace period; or whoever reads the snapshot before the worker has come to it.

use crate::{
    buffer::Buffer,
    kapi::irq_deferred::{IrqDeferred, RunDeferred},
};
use kernel::{prelude::*, sync::Arc};

/// Takes the snapshots that hits request. The drop waits for the worker, which takes the
/// readers' lock of the buffer.
pub(crate) struct Snapshots(Arc<IrqDeferred<TakeSnapshot>>);

impl Snapshots {
    /// Makes the worker of `buffer`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(buffer: Arc<Buffer>) -> Result<Arc<Self>> {
        let worker = IrqDeferred::new(TakeSnapshot(buffer))?;
        Ok(Arc::new(Self(worker), GFP_KERNEL)?)
    }

    /// Requests a snapshot of `buffer`, which is the worker's. Returns false if one was
    /// requested before and is not taken yet.
    ///
    /// Context: any.
    pub(super) fn request(&self, buffer: &Buffer) -> bool {
        let is_new = buffer.request_snapshot();
        // Also if it is not: the CPU of that hit may have been going offline. If it was not, this
        // does nothing until the worker has begun.
        self.0.kick();
        is_new
    }
}

/// The work.
struct TakeSnapshot(Arc<Buffer>);

impl RunDeferred for TakeSnapshot {
    fn run(&self) {
        self.0.take_requested_snapshot();
    }
}
