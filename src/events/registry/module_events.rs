// SPDX-License-Identifier: GPL-2.0

//! Events in modules that are loaded and unloaded, and events that wait to be enabled until their
//! module is loaded.

use super::Registry;
use crate::{
    engine::{
        definition::event_names::{AwaitedEvents, Decided, EventNames},
        util::sort::{sort, sort_by_key},
    },
    events::{event::Event, event_file::InstanceId, probe::Probe},
    kapi::module::ModuleMemory,
    sys::Vec,
};
use core::mem;
use kernel::{prelude::*, sync::Arc};

impl Registry {
    /// Handles loading of module `name`: registers the probes that wait for it, arms those of
    /// enabled events, and enables the events that instances await.
    ///
    /// Context: process, may sleep.
    pub(crate) fn module_coming(&mut self, name: &[u8], memory: &ModuleMemory<'_>) {
        // This must precede arming probes in the module.
        memory.each(false, &mut |range| self.instances.code_comes(range));
        self.definitions.module_coming(name, &self.arming);
        self.enable_awaited(name);
        self.watch();
    }

    /// Handles the end of module `name`'s init function: its code is about to be freed, so
    /// unregisters the probes in it. They wait until the module is loaded again.
    ///
    /// Context: process, may sleep.
    pub(crate) fn module_live(&mut self, name: &[u8], memory: &ModuleMemory<'_>) {
        let is_init = |address| memory.is_init(address);
        self.definitions.module_live(name, is_init, &self.arming);
        memory.each(true, &mut |range| self.instances.code_goes(range));
    }

    /// Handles unloading of module `name`: unregisters the probes in it. They wait until the module
    /// is loaded again.
    ///
    /// Context: process, may sleep.
    pub(crate) fn module_going(&mut self, name: &[u8], memory: &ModuleMemory<'_>) {
        self.definitions.module_going(name, &self.arming);
        memory.each(false, &mut |range| self.instances.code_goes(range));
    }

    /// Returns the events that match `names` and have a probe in its module, each once.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn in_module(&self, names: &EventNames<'_>) -> Result<Vec<Arc<Event>>> {
        let in_module = |probe: &Probe| {
            let module = names.module();
            module.is_some_and(|module| probe.has_part_in(module))
        };
        self.with_probes(
            &|event| names.are_named(event.names().0, event.names().1),
            &in_module,
        )
    }

    /// Returns the events that `which` selects and that have a probe which `has` selects, each
    /// once.
    fn with_probes(
        &self,
        which: &dyn Fn(&Event) -> bool,
        has: &dyn Fn(&Probe) -> bool,
    ) -> Result<Vec<Arc<Event>>> {
        let mut found: Vec<Arc<Event>> = Vec::new();
        for probe in self.definitions.probes() {
            if which(&probe.event) && has(probe) {
                found.push(probe.event.clone())?;
            }
        }
        sort_by_key(&mut found, |event| event.id());
        let mut events: Vec<Arc<Event>> = Vec::new();
        for event in &*found {
            if !events.last().is_some_and(|last| Arc::ptr_eq(last, event)) {
                events.push(event.clone())?;
            }
        }
        Ok(events)
    }

    /// Enables and disables events as decided, in `instance`, and replaces its awaited events by
    /// `awaited`, if given. If anything fails, nothing changes.
    ///
    /// # Errors
    ///
    /// As for [`Registry::set_enabled`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn decide(
        &mut self,
        instance: InstanceId,
        decided: &Decided<'_>,
        awaited: Option<AwaitedEvents>,
    ) -> Result {
        let is = |event: &Event, on: bool| decided.of(event.names().0, event.names().1) == Some(on);
        // To be undone if a later step fails.
        let mut enabled = Vec::new();
        self.instances.get(instance)?;
        if decided.any(true) {
            for event in self.events().filter(|event| is(event, true)) {
                if !event.in_instance(instance)?.is_enabled() {
                    enabled.push(event.id())?;
                }
            }
            sort(&mut enabled);
            self.set_enabled(instance, |event| is(event, true), true)?;
        }
        if decided.any(false) {
            if let Err(error) = self.set_enabled(instance, |event| is(event, false), false) {
                let is_enabled = |event: &Event| enabled.binary_search(&event.id()).is_ok();
                // Restore the former state, as far as possible.
                let _ = self.set_enabled(instance, is_enabled, false);
                return Err(error);
            }
        }
        if let Some(awaited) = awaited {
            self.instances.get_mut(instance)?.awaited = awaited;
        }
        Ok(())
    }

    /// Enables the events in module `name`, which has been loaded, that instances await. Logs
    /// failures, as there is no caller to report them to.
    ///
    /// Context: process, may sleep.
    pub(super) fn enable_awaited(&mut self, name: &[u8]) {
        let enabled = self.instances.ids().and_then(|ids| {
            let mut result = Ok(());
            for instance in ids {
                let each = self.enable_awaited_in(instance, name);
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

    fn enable_awaited_in(&mut self, instance: InstanceId, name: &[u8]) -> Result {
        // Taken out, because it is read while the events change.
        let mut awaited = mem::take(&mut self.instances.get_mut(instance)?.awaited);
        let result = self.enable_named(instance, &awaited, name);
        awaited.forget_module(name);
        self.instances.get_mut(instance)?.awaited = awaited;
        result
    }

    /// Enables the events in module `name` that match `awaited`: all at once or, if that fails,
    /// each that can be.
    fn enable_named(
        &mut self,
        instance: InstanceId,
        awaited: &AwaitedEvents,
        name: &[u8],
    ) -> Result {
        let words = awaited.of_module(name)?;
        if words.is_empty() {
            return Ok(());
        }
        let is_named = |event: &Event| {
            let (group, event) = event.names();
            words.iter().any(|word| word.are_named(group, event))
        };
        let has_part = |probe: &Probe| {
            words
                .first()
                .and_then(|word| word.module())
                .is_some_and(|module| probe.has_part_in(module))
        };
        let events = self.with_probes(&is_named, &has_part)?;
        let ids = |event: &Event| events.binary_search_by_key(&event.id(), |one| one.id());
        if self
            .set_enabled(instance, |event| ids(event).is_ok(), true)
            .is_ok()
        {
            return Ok(());
        }
        let mut result = Ok(());
        for one in &*events {
            let each = self.set_enabled(instance, |event| event.id() == one.id(), true);
            result = result.and(each);
        }
        result
    }
}
