// SPDX-License-Identifier: GPL-2.0

//! Probes in modules that come and go.
//!
//! The kernel calls this with its list of notifiers locked; nothing that holds
//! the registry takes that lock.

use crate::{kapi::module, tracer::Tracer};
use core::pin::Pin;
use kernel::{prelude::*, sync::Arc};

/// Tells the registry of modules, until it is dropped. The registry must not
/// be held then.
pub(crate) type Watch = Pin<KBox<module::Registration<Watcher>>>;

/// What the kernel calls.
pub(crate) struct Watcher(Arc<Tracer>);

/// Begins to tell the registry of modules.
///
/// # Errors
///
/// `ENOMEM`.
///
/// Context: process, may sleep.
pub(crate) fn watch(tracer: &Arc<Tracer>) -> Result<Watch> {
    module::Registration::new(Watcher(tracer.clone()))
}

impl module::Handler for Watcher {
    fn coming(&self, name: &CStr) {
        self.0
            .registry
            .lock()
            .module_coming(&self.0, name.to_bytes());
    }

    fn going(&self, name: &CStr) {
        self.0.registry.lock().module_going(name.to_bytes());
    }
}
