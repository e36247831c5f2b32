// SPDX-License-Identifier: GPL-2.0

//! Probes in modules that are loaded and unloaded.
//!
//! The kernel calls the handler with its notifier chain locked; no holder of the registry
//! lock takes that lock.

use crate::{kapi::module, tracer::Tracer};
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
    fn coming(&self, name: &CStr) {
        self.0.registry.lock().module_coming(name.to_bytes());
    }

    fn live(&self, name: &CStr, is_init: &dyn Fn(u64) -> bool) {
        self.0.registry.lock().module_live(name.to_bytes(), is_init);
    }

    fn going(&self, name: &CStr) {
        self.0.registry.lock().module_going(name.to_bytes());
    }
}
