// SPDX-License-Identifier: GPL-2.0

//! The stacks that are recorded behind the records of all events.

use super::{triggers::same_plan, Registry};
use crate::{events::event::Event, hit::plan::Stacks, kapi, sys::Vec};
use kernel::prelude::*;

impl Registry {
    /// Sets whether `stack` is recorded behind each record.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_stack(&mut self, stack: Stacks, on: bool) -> Result {
        let stacks = self.stacks.with(stack, on);
        if stacks == self.stacks {
            return Ok(());
        }
        if stacks.has(Stacks::KERNEL) {
            kapi::stack::prepare();
        }
        let mut plans = Vec::new();
        for event in self.events() {
            plans.push((event.clone(), same_plan(event, stacks)?))?;
        }
        self.set_plans(plans)?;
        self.stacks = stacks;
        Ok(())
    }

    /// Makes the plan of `event`, which is new, one that records the stacks.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn add_stacks(&self, event: &Event) -> Result {
        if self.stacks.are_any() {
            event.file.set_plan(same_plan(event, self.stacks)?);
        }
        Ok(())
    }
}
