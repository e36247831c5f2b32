// SPDX-License-Identifier: GPL-2.0

//! What the registry leaves to its definitions.

use super::{definitions::CallLosses, Registry};
use crate::{
    engine::{filter::Filter, record::Layout, refusal::error::Error as Refusal},
    events::probe::Probe,
    kapi::{module::ModuleMemory, tracepoint::Tracepoints},
    source::{functions, live::Live},
    sys::{AllocError, Vec},
};
use core::fmt;
use kernel::{prelude::*, sync::Arc};

impl Registry {
    /// Returns the probes of the system calls' events.
    pub(crate) fn call_probes(&self) -> impl Iterator<Item = &Arc<Probe>> {
        self.definitions.call_probes()
    }

    /// Returns the defined probes, in the order of their definition.
    pub(crate) fn probes(&self) -> impl Iterator<Item = &Arc<Probe>> {
        self.definitions.probes()
    }

    /// Returns the function at `address`; `None` if there is none that can be read.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn live(&mut self, address: u64) -> Result<Option<Live>, AllocError> {
        self.definitions.live(address)
    }

    /// Compiles the filter `text` for an event with `layout`.
    ///
    /// # Errors
    ///
    /// The refusal of the filter.
    ///
    /// Context: process, may sleep.
    pub(crate) fn compile_filter(
        &mut self,
        text: &[u8],
        layout: &Layout,
    ) -> Result<Filter, Refusal> {
        self.definitions.compile_filter(text, layout)
    }

    /// Adds similar names to the refusal of the function `name`, which does not exist.
    ///
    /// Context: process, may sleep.
    pub(crate) fn no_symbol(&mut self, refusal: Refusal, name: &[u8]) -> Refusal {
        self.definitions.no_symbol(refusal, name)
    }

    /// Writes the tracepoints with their arguments.
    ///
    /// # Errors
    ///
    /// The errors of `out`, also when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn write_tracepoints(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.definitions.write_tracepoints(out)
    }

    /// Returns the functions that `f` events can probe now.
    ///
    /// # Errors
    ///
    /// Why there are none.
    ///
    /// Context: process, may sleep.
    pub(crate) fn all_functions(&mut self) -> Result<Vec<functions::SiteGroup>, Refusal> {
        self.definitions.all_functions()
    }

    /// Returns the kernel's tracepoints.
    pub(crate) fn points(&self) -> &Arc<Tracepoints> {
        self.definitions.points()
    }

    /// Makes the events of all system calls, with their files. Returns false if this kernel
    /// does not describe its system calls.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of creating files; then there are none.
    ///
    /// Context: process, may sleep.
    pub(crate) fn add_system_calls(&mut self) -> Result<bool> {
        self.definitions.add_system_calls(&mut self.instances)
    }

    /// Returns the names of the system calls with their numbers, ascending.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn call_names(&mut self) -> Result<Vec<(u32, Vec<u8>)>> {
        self.definitions.call_names()
    }

    /// Returns the number of bytes of user memory that events of system calls record of an
    /// argument, or would, if there were such events.
    pub(crate) fn call_limit(&self) -> u32 {
        self.definitions.call_limit()
    }

    /// Sets that number, for system calls from now on.
    pub(crate) fn set_call_limit(&mut self, limit: u32) {
        self.definitions.set_call_limit(limit);
    }

    /// As [`Definitions::whole_call_limit`].
    pub(crate) fn whole_call_limit(&self) -> u32 {
        self.definitions.whole_call_limit()
    }

    /// As [`Definitions::set_whole_call_limit`].
    pub(crate) fn set_whole_call_limit(&mut self, limit: u32) -> Result {
        self.definitions.set_whole_call_limit(limit)
    }

    /// Returns what was not recorded of system calls.
    pub(crate) fn call_losses(&self) -> CallLosses {
        self.definitions.call_losses()
    }

    /// Registers the probes that wait for the module `name`, which is loaded now, and
    /// arms those of enabled events; and of those that instances await, which it enables.
    ///
    /// Context: process, may sleep.
    pub(crate) fn module_coming(&mut self, name: &[u8], memory: &ModuleMemory<'_>) {
        // Before anything is armed there.
        memory.each(false, &mut |range| self.instances.code_comes(range));
        self.definitions.module_coming(name, &self.arming);
        self.enable_awaited(name);
        self.watch();
    }

    /// Unregisters the probes in the init code of the module `name`. That code has run
    /// and is about to be freed; the probes wait until the module is loaded again.
    ///
    /// Context: process, may sleep.
    pub(crate) fn module_live(&mut self, name: &[u8], memory: &ModuleMemory<'_>) {
        let is_init = |address| memory.is_init(address);
        self.definitions.module_live(name, is_init, &self.arming);
        memory.each(true, &mut |range| self.instances.code_goes(range));
    }

    /// Unregisters the probes in the module `name`, which is about to be unloaded. They
    /// wait until it is loaded again.
    ///
    /// Context: process, may sleep.
    pub(crate) fn module_going(&mut self, name: &[u8], memory: &ModuleMemory<'_>) {
        self.definitions.module_going(name, &self.arming);
        memory.each(false, &mut |range| self.instances.code_goes(range));
    }
}
