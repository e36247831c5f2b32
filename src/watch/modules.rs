// SPDX-License-Identifier: GPL-2.0

//! Notifies the registry of modules that are loaded and unloaded.
//!
//! The kernel calls the handler with its notifier chain locked; no holder of the registry
//! lock takes that lock.

use crate::{
    kapi::module::{self, ModuleMemory},
    tracer::Tracer,
};
use core::pin::Pin;
use kernel::{prelude::*, sync::Arc};

/// Notifies the registry of modules until it is dropped. Must not be dropped with the
/// registry lock held.
pub(crate) type Watch = Pin<KBox<module::ModuleNotifier<Watcher>>>;

/// The handler that the kernel calls.
pub(crate) struct Watcher(Arc<Tracer>);

/// Starts to notify the registry of modules.
///
/// # Errors
///
/// `ENOMEM`.
///
/// Context: process, may sleep.
pub(crate) fn watch(tracer: &Arc<Tracer>) -> Result<Watch> {
    module::ModuleNotifier::new(Watcher(tracer.clone()))
}

impl module::OnModules for Watcher {
    fn coming(&self, name: &CStr, memory: &ModuleMemory<'_>) {
        let mut registry = self.0.registry.lock();
        registry.module_coming(name.to_bytes(), memory);
    }

    fn live(&self, name: &CStr, memory: &ModuleMemory<'_>) {
        let mut registry = self.0.registry.lock();
        registry.module_live(name.to_bytes(), memory);
    }

    fn going(&self, name: &CStr, memory: &ModuleMemory<'_>) {
        let mut registry = self.0.registry.lock();
        registry.module_going(name.to_bytes(), memory);
    }
}
