// SPDX-License-Identifier: GPL-2.0

//! The stacks that are recorded behind the records of all events.

use super::{triggers::same_plan, Registry};
use crate::{events::event_file::InstanceId, hit::plan::Stacks, kapi, sys::Vec};
use kernel::prelude::*;

impl Registry {
    /// Sets whether `stack` is recorded behind each record in the instance `of`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_stack(&mut self, of: InstanceId, stack: Stacks, on: bool) -> Result {
        let before = self.instances.get(of)?.stacks;
        let stacks = before.with(stack, on);
        if stacks == before {
            return Ok(());
        }
        if stacks.has(Stacks::KERNEL) {
            kapi::stack::prepare();
        }
        let mut plans = Vec::new();
        for event in self.events() {
            let file = event.in_instance(of)?;
            plans.push((event.clone(), same_plan(&file, stacks)?))?;
        }
        self.instances.set_plans(of, plans, &self.definitions)?;
        self.instances.get_mut(of)?.stacks = stacks;
        Ok(())
    }
}
