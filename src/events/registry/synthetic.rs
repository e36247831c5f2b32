// SPDX-License-Identifier: GPL-2.0

//! The synthetic events that actions of histograms emit.

use super::Registry;
use crate::{engine::hist::SynthField, hit::receiver::Receiver};
use kernel::sync::Arc;

impl Registry {
    /// Returns the fields of the synthetic event `name`, and what gets it.
    pub(super) fn synthetic(&self, name: &[u8]) -> Option<(&[SynthField], &Arc<Receiver>)> {
        let receiver = self.definitions.synthetic(name)?;
        Some((receiver.fields(), receiver))
    }
}
