// SPDX-License-Identifier: GPL-2.0

//! Events that are enabled by the module they are in, now or once it is loaded.

use super::Registry;
use crate::{
    engine::event_names::EventNames,
    events::{event::Event, event_file::InstanceId},
    sys::Vec,
};
use core::{fmt, mem, ptr};
use kernel::{prelude::*, sync::Arc};

impl Registry {
    /// Enables or disables, in the instance `of`, the events that `names` means and that have a
    /// probe in its module, which is loaded: all of them or, if one fails, none. Returns whether
    /// there are any.
    ///
    /// # Errors
    ///
    /// As for [`Registry::set_enabled`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_enabled_in_module(
        &mut self,
        of: InstanceId,
        names: &EventNames<'_>,
        enabled: bool,
    ) -> Result<bool> {
        let events = self.in_module(names)?;
        if events.is_empty() {
            return Ok(false);
        }
        let is_one = |event: &Event| events.iter().any(|one| ptr::eq(&**one, event));
        self.set_enabled(of, is_one, enabled)?;
        Ok(true)
    }

    /// Returns the events that `names` means and that have a probe in its module.
    fn in_module(&self, names: &EventNames<'_>) -> Result<Vec<Arc<Event>>> {
        let mut events: Vec<Arc<Event>> = Vec::new();
        for probe in self.definitions.probes() {
            let event = &probe.event;
            let (group, name) = (&event.format.group, &event.format.name);
            if !names.are_named(group.to_bytes(), name.to_bytes())
                || !names
                    .module()
                    .is_some_and(|module| probe.has_part_in(module))
                || events.iter().any(|known| Arc::ptr_eq(known, event))
            {
                continue;
            }
            events.push(event.clone())?;
        }
        Ok(events)
    }

    /// Lets the events that `names` means be enabled in the instance `of` once its module, which
    /// is not loaded, is.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    pub(crate) fn await_events(&mut self, of: InstanceId, names: &EventNames<'_>) -> Result {
        Ok(self.instances.get_mut(of)?.awaited.add(names)?)
    }

    /// Ends what [`Registry::await_events`] began for the events that `names` means. Returns
    /// whether there was anything.
    ///
    /// # Errors
    ///
    /// `ENODEV` if there is no such instance.
    pub(crate) fn forget_awaited(
        &mut self,
        of: InstanceId,
        names: &EventNames<'_>,
    ) -> Result<bool> {
        Ok(self.instances.get_mut(of)?.awaited.remove(names))
    }

    /// As [`Registry::forget_awaited`], for all events.
    ///
    /// # Errors
    ///
    /// As there.
    pub(crate) fn clear_awaited(&mut self, of: InstanceId) -> Result {
        self.instances.get_mut(of)?.awaited.clear();
        Ok(())
    }

    /// Writes what the instance `of` awaits, a word of `set_event` in each line.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub(crate) fn write_awaited(&self, of: InstanceId, out: &mut dyn fmt::Write) -> fmt::Result {
        match self.instances.get(of) {
            Ok(instance) => instance.awaited.write(out),
            Err(_) => Ok(()),
        }
    }

    /// Enables the events in the module `name`, which is loaded now, that instances await. As
    /// nobody waits for the result, the log has what fails.
    ///
    /// Context: process, may sleep.
    pub(super) fn enable_awaited(&mut self, name: &[u8]) {
        let enabled = self.instances.ids().and_then(|ids| {
            let mut result = Ok(());
            for of in ids {
                let each = self.enable_awaited_in(of, name);
                result = result.and(each);
            }
            result
        });
        if let Err(error) = enabled {
            pr_warn!(
                "not all events of module {} that set_event has are enabled: errno {}\n",
                core::str::from_utf8(name).unwrap_or("?"),
                error.to_errno()
            );
        }
    }

    fn enable_awaited_in(&mut self, of: InstanceId, name: &[u8]) -> Result {
        // The words are read while the events change.
        let mut awaited = mem::take(&mut self.instances.get_mut(of)?.awaited);
        let mut result = Ok(());
        for names in awaited.of_module(name) {
            let each = self.set_enabled_in_module(of, &names, true);
            result = result.and(each.map(drop));
        }
        awaited.forget_module(name);
        self.instances.get_mut(of)?.awaited = awaited;
        result
    }
}
