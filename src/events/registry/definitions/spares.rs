// SPDX-License-Identifier: GPL-2.0

//! Memory for the unloading of modules.

use crate::{
    engine::definition::kind::ProbeKind, events::probe::Probe, source::registered::Removal,
    sys::Vec,
};
use core::mem::MaybeUninit;
use kernel::{prelude::*, sync::UniqueArc};

/// Memory for the unloading of modules, which must not fail.
pub(super) struct Spares {
    /// Memory for waiting probes, one for each probe in a module.
    pub(super) probes: Vec<UniqueArc<MaybeUninit<Probe>>>,
    /// Has room for each probe in a module.
    pub(super) removal: Removal,
}

impl Spares {
    /// Makes spares for no probes.
    pub(super) const fn new() -> Self {
        Self {
            probes: Vec::new(),
            removal: Removal::new(),
        }
    }

    /// Allocates what probes of `kinds` need, and frees some of the excess.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then there is as much memory as before, or more.
    pub(super) fn keep(&mut self, kinds: impl Iterator<Item = ProbeKind> + Clone) -> Result {
        let count = kinds.clone().count();
        self.removal.expect_only(kinds)?;
        self.probes.truncate(count);
        while self.probes.len() < count {
            self.probes.push(UniqueArc::new_uninit(GFP_KERNEL)?)?;
        }
        Ok(())
    }

    /// Frees the memory for waiting probes.
    pub(super) fn clear(&mut self) {
        self.probes.clear();
    }
}
