// SPDX-License-Identifier: GPL-2.0

//! Removes all probes, and waits for the probes of system calls.
//!
//! Another tracer may sleep in the page fault of a system call, as the kernel's own does, and a
//! user may delay that fault without a limit. The notifier of modules takes the registry lock,
//! so no wait for these probes holds it without a limit.

use super::{arming::Watch, definitions::SystemCalls, Registry};
use crate::source::registered::Removal;
use kernel::prelude::*;

/// What is left of a registry that was shut down. Its drop waits for the probes of system calls, and
/// for the watch: the caller must have released the registry lock.
pub(crate) struct Remains {
    _watch: Option<KBox<dyn Watch>>,
    _calls: SystemCalls,
    _removal: Removal,
}

impl Registry {
    /// Removes all events, enabled or not. No event can be defined afterwards. The caller drops
    /// what it returns after it has released the registry lock, and then what
    /// [`Registry::take_files`] returns.
    pub(crate) fn shut_down(&mut self) -> Remains {
        // What no hit records any more is disarmed sooner.
        for event in self.events() {
            for (of, _) in self.instances.iter() {
                if let Ok(file) = event.in_instance(of) {
                    file.switch().set(false);
                }
            }
        }
        self.arming.disarm_all(&self.definitions);
        let (calls, removal) = self.definitions.shut_down();
        for instance in self.instances.iter_mut() {
            instance.files.shut_down();
        }
        Remains {
            _watch: self.arming.set_watch(None),
            _calls: calls,
            _removal: removal,
        }
    }
}
