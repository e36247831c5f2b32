// SPDX-License-Identifier: GPL-2.0

//! The ready-made events, for who uses or lists them.

use super::{files::Removed, Registry};
use crate::engine::ready::{ReadyGroup, ReadyRow, GROUPS};
use kernel::prelude::*;

impl Registry {
    /// Makes the ready-made events that `which` selects, disabled, but for those whose names are
    /// taken, and those that this kernel cannot have.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `ENOSPC`; `ENODEV` once the module is being unloaded. Then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn make_ready(
        &mut self,
        which: &dyn Fn(&ReadyGroup, &ReadyRow) -> bool,
        removed: &mut Removed,
    ) -> Result {
        let mut draft = self.definitions.begin_ready();
        let others = (&self.instances, &self.arming);
        let added = self.definitions.add_ready(&mut draft, which, others);
        added.map_err(|refusal| Error::from_errno(refusal.errno.0.wrapping_neg()))?;
        if draft.added().len() == 0 {
            return Ok(());
        }
        self.accept(&mut draft, removed)
    }

    /// Calls `each` with the ready-made events that nobody has used yet and whose names are free,
    /// until it returns false.
    ///
    /// Context: process, may sleep.
    pub(crate) fn each_unmade(&self, each: &mut dyn FnMut(&ReadyGroup, &ReadyRow) -> bool) {
        for group in GROUPS {
            for row in group.events() {
                let is_made = self.events().any(|event| {
                    *event.format.name.to_bytes() == *row.name.as_bytes()
                        && *event.format.group.to_bytes() == *group.name.as_bytes()
                });
                // Without memory, it is not listed.
                let has_point = || self.definitions.has_point(row).unwrap_or(false);
                if !is_made && has_point() && !each(group, row) {
                    return;
                }
            }
        }
    }
}
